"""From a typed function to a tool: its JSON schema, its argument check, and the list of tools each role has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.rules import ROLES, EconomyRules
from simulation.engine.decision import UNREADABLE, printable, shown

Result = dict[str, Any]
ToolFunction = Callable[..., Result]


class Tool(NamedTuple):
    """A tool as the engine calls it. `arguments` checks and completes what a player sent."""

    name: str
    roles: tuple[str, ...]
    function: ToolFunction
    arguments: type[BaseModel]

    @property
    def description(self) -> str:
        """What a model or a person reads: the docstring."""
        return inspect.getdoc(self.function) or ""


_tools: dict[str, Tool] = {}


def tool(*roles: str) -> Callable[[ToolFunction], ToolFunction]:
    """Makes a function a tool of some roles, or of all. Its first two parameters are the economy and the firm."""

    def register(function: ToolFunction) -> ToolFunction:
        hints = get_type_hints(function, include_extras=True)
        parameters = list(inspect.signature(function).parameters.values())[2:]
        fields: dict[str, Any] = {
            parameter.name: (hints[parameter.name], ... if parameter.default is parameter.empty else parameter.default)
            for parameter in parameters
        }
        arguments = create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        _tools[function.__name__] = Tool(function.__name__, roles or ROLES, function, arguments)
        return function

    return register


@cache
def tools_of(role: str) -> dict[str, Tool]:
    """The tools of a role by name, in the order in which they are listed to players."""
    return {name: one for name, one in _tools.items() if role in one.roles}


def call(economy: Economy, firm: Firm, tool_name: str, arguments: dict[str, Any]) -> Result:
    """Runs a player's tool call; a refusal comes back as a value, `{"ok": False, "error": …}`, and changes nothing."""
    try:
        one = tools_of(firm.role).get(tool_name)
        if one is None:
            raise Refused(f"{firm.name} has no tool {shown(tool_name)}; its tools are {', '.join(tools_of(firm.role))}")
        if UNREADABLE in arguments:
            raise Refused(printable(arguments[UNREADABLE])[:100])
        checked = one.arguments.__pydantic_validator__.validate_python(arguments)
        return {"ok": True, **one.function(economy, firm, **checked.__dict__)}
    except Refused as refusal:
        return {"ok": False, "error": str(refusal)}
    except ValidationError as error:
        return {"ok": False, "error": "; ".join(map(_sentence, error.errors(include_url=False)))}


def _sentence(detail: Any) -> str:
    """One thing wrong with one argument, in words."""
    name = ".".join(shown(part).strip("'") for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{name} is missing"
    if detail["type"] == "extra_forbidden":
        return f"unknown argument {name}"
    message = detail["msg"].removeprefix("Value error, ").removeprefix("Input ").removeprefix("String ")
    return f"{name} {message[0].lower()}{message[1:]}, not {shown(detail['input'])}"


def schema_of(one: Tool, rules: EconomyRules, firm_name: str, firm_names: list[str]) -> dict[str, Any]:
    """The JSON schema of a tool's arguments for one firm, with the items and firms of its run as choices."""
    schema = one.arguments.model_json_schema()
    choices = {
        "items": list(rules.items),
        "greens": [item.roasting.green_item for item in rules.items.values() if item.roasting],
        "produced": [name for name, item in rules.items.items() if item.production],
        "consumed": [name for name, item in rules.items.items() if item.consumers],
        "others": [name for name in firm_names if name != firm_name],
    }
    properties = {name: _plain(field, choices) for name, field in schema.get("properties", {}).items()}
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _plain(field: dict[str, Any], choices: dict[str, list[str]]) -> dict[str, Any]:
    """One property, flat enough for every provider: no titles, no unions with null, choices in place of `values`."""
    field = {key: value for key, value in field.items() if key != "title"}
    for option in field.pop("anyOf", []):
        if option.get("type") != "null":
            field = {**option, **field}
    if "values" in field:
        field["enum"] = choices[field.pop("values")]
        field.pop("maxLength", None)
    if "default" in field and field["default"] is None:
        del field["default"]
    return field


def schemas_for(firm_name: str, role: str, rules: EconomyRules, firm_names: list[str]) -> list[dict[str, Any]]:
    """Name, description and JSON schema of each tool of a firm, in the form tool-calling models are given."""
    return [
        {
            "name": one.name,
            "description": one.description,
            "parameters": schema_of(one, rules, firm_name, firm_names),
        }
        for one in tools_of(role).values()
    ]
