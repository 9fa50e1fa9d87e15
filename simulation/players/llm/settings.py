"""How a model plays a firm, and what a run may spend on models: validated data, frozen with the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from marketplace.economy.rules import Rules
from simulation.players.briefing import Objective

Reasoning = Literal["off", "minimal", "low", "medium", "high"]
# How many tokens a model may think before it answers: what litellm tells a provider that wants a number.
THINKING_TOKENS: Final[Mapping[Reasoning, int]] = {"off": 0, "minimal": 1024, "low": 1024, "medium": 2048, "high": 4096}
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Money = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
Seconds = Annotated[float, Field(gt=0, le=604_800, allow_inf_nan=False)]


def name_of_a_variable(name: str) -> str:
    """A key itself, put here by mistake, would be kept with the run: only a variable's name may pass."""
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,59}", name):
        raise ValueError("must be the name of an environment variable, in capitals, as OPENAI_API_KEY")
    return name


def http_address(address: str) -> str:
    """Where a provider answers; a login in it would be kept with the run."""
    if not re.fullmatch(r"https?://[^\s/@?#]+(/[^\s@?#]*)?", address):
        raise ValueError("must be an address like http://127.0.0.1:8000/v1, without login, query or spaces")
    return address


class Prices(Rules):
    """USD per million tokens; cached input costs as input where no price of its own is given."""

    input: Money
    output: Money
    cached_input: Money | None = None
    cache_write: Money | None = None

    @property
    def costs_something(self) -> bool:
        """Whether a call can cost anything at all."""
        return bool(self.input or self.output or self.cached_input or self.cache_write)


class Context(Rules):
    """What a model is sent of a long conversation.

    `summarise`: above `limit_tokens` of input the middle is summarised by the model itself, the opening steps and the
    last ones stay. `last_tokens`: only the newest `keep_tokens` are sent. `none`: all of it, always.
    """

    strategy: Literal["summarise", "last_tokens", "none"] = "summarise"
    limit_tokens: Tokens = 160_000
    keep_tokens: Tokens = 30_000
    opening_steps: Annotated[int, Field(ge=0, le=1000)] = 3
    last_steps: Annotated[int, Field(ge=1, le=1000)] = 20


class ModelSettings(Rules):
    """One model at one seat. `model` is a name of litellm's, as `openai/gpt-5.5`.

    `max_output_tokens` bound the answer; what the model may think before it comes on top.
    """

    model: Annotated[str, Field(min_length=1, max_length=120, pattern=r"^[A-Za-z0-9][A-Za-z0-9@._:/+?&=-]*$")]
    objective: Objective = Objective()
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16, le=16_000)] = 4096
    reasoning: Reasoning = "off"
    base_url: Annotated[str, AfterValidator(http_address)] | None = None
    key_variable: Annotated[str, AfterValidator(name_of_a_variable)] | None = None
    context: Context = Context()
    memory_tools: bool = False
    prompt_caching: bool = True
    prices: Prices | None = None
    deadline_seconds: Annotated[float, Field(gt=0, le=1500)] = 300
    budget_usd: Money | None = None

    @property
    def output_limit_tokens(self) -> int:
        """The most a call can bring. Providers count thoughts as output; some refuse a limit that they alone fill."""
        return self.max_output_tokens + THINKING_TOKENS[self.reasoning]


class Limits(Rules):
    """What a run may spend on models in all and in one simulated day, and how long it waits for a provider."""

    budget_usd: Money | None = None
    day_budget_usd: Money | None = None
    retry_seconds: Seconds = 1800
    resume_seconds: Seconds = 900

    @model_validator(mode="after")
    def _day_within_run(self) -> Self:
        if self.budget_usd is not None and self.day_budget_usd is not None and self.day_budget_usd > self.budget_usd:
            raise ValueError(f"day_budget_usd {self.day_budget_usd} exceeds budget_usd {self.budget_usd}")
        return self
