"""The text of an experiment: its values, and on which line each key stands, which Python's reader does not tell.

Faults are collected, so that whoever wrote the text is told all of them at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cached_property
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from marketplace.economy.rules import Rules

Keys = tuple[str, ...]

# A hundred times the longest published one. Without a bound a few lines could keep the reader busy for hours.
MOST_CHARACTERS = 20_000
MOST_LINES = 500
LONGEST_LINE = 12_000  # an objective of 10,000 characters may stand on one
DEEPEST_KEY = 10
LONGEST_KEY_SHOWN = 60
NO_NAMES: Mapping[str, str] = MappingProxyType({})


class ExperimentError(ValueError):
    """An experiment that cannot be: `problems` names each fault with its line and says what is allowed."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Document:
    """A TOML text. Raises ExperimentError if it is none; what is wrong with what it says is collected by `complain`."""

    def __init__(self, text: str) -> None:
        self.text = text.removeprefix("\ufeff").replace("\r\n", "\n")
        self._problems: dict[str, int] = {}
        self.values = values_of(self.text)

    @cached_property
    def _lines(self) -> dict[Keys, int]:
        return key_lines(self.text)

    def line_of(self, keys: Keys) -> int | None:
        """The line on which a key is first said, else the table it would be in, else None."""
        while keys and keys not in self._lines:
            keys = keys[:-1]
        return self._lines.get(keys)

    def says(self, *keys: str) -> bool:
        """Whether the text says anything at that place."""
        return keys in self._lines

    def complain(self, keys: Keys, words: str) -> None:
        """Notes a fault of the value at some place."""
        line = self.line_of(keys)
        where = ".".join(map(_plain, keys))
        self._problems.setdefault(f"{f'line {line}: ' if line else ''}{where}: {words}", line or 0)

    def unknown(self, keys: Keys, what: str, allowed: Iterable[str], said: str = "") -> None:
        """Notes a name that means nothing: the key, or the value that is `said` there.

        Tells which may have been meant and which are allowed.
        """
        names = list(allowed)
        close = get_close_matches(said or keys[-1], names, n=1)
        meant = f", perhaps {close[0]} is meant" if close else ""
        self.complain(keys, f"unknown {what}{meant}; allowed: {', '.join(names) or 'none'}")

    def section(self, name: str, allowed: Iterable[str] | None = None) -> dict[str, Any]:
        """A table of the text, empty if there is none, without the keys that are not allowed in it."""
        table = self.values.get(name, {})
        if not isinstance(table, dict):
            self.complain((name,), f"must be a table: [{name}]")
            return {}
        if allowed is None:
            return table
        allowed = list(allowed)
        for key in table:
            if key not in allowed:
                self.unknown((name, key), "key", allowed)
        return {key: value for key, value in table.items() if key in allowed}

    def fits(
        self, keys: Keys, kind: type[Rules], values: Mapping[str, Any], names: Mapping[str, str] = NO_NAMES
    ) -> bool:
        """Whether values can be made into settings of a kind; notes each one that cannot.

        What a value is stays unsaid: somebody may have put a secret where its name belongs. `names` maps a field to
        what the text calls it, where that differs.
        """
        try:
            kind.model_validate(values)
        except ValidationError as error:
            for detail in error.errors(include_url=False, include_input=False):
                inside = (*keys, *(names.get(str(part), str(part)) for part in detail["loc"]))
                if detail["type"] == "extra_forbidden":
                    self.complain(inside, "unknown key")
                else:
                    self.complain(inside, words_of(detail["msg"]))
            return False
        return True

    def check(self) -> None:
        """Raises ExperimentError with all that was complained of, in the order of the lines."""
        if self._problems:
            raise ExperimentError(sorted(self._problems, key=lambda problem: self._problems[problem]))


def _plain(key: str) -> str:
    """A key as it can stand in a sentence, whatever was put between its quotes."""
    return key if key.isprintable() and len(key) <= LONGEST_KEY_SHOWN else f"{ascii(key)[:LONGEST_KEY_SHOWN]}…"


def words_of(message: str) -> str:
    """A message of pydantic's as the second half of a sentence."""
    message = message.removeprefix("Value error, ")
    return message[:1].lower() + message[1:]


def values_of(text: str) -> dict[str, Any]:
    """What a TOML text says. Raises ExperimentError with the line where it stops being one."""
    lines = text.split("\n")
    if len(text) > MOST_CHARACTERS or len(lines) > MOST_LINES:
        raise ExperimentError([f"an experiment has at most {MOST_CHARACTERS:,} characters and {MOST_LINES} lines"])
    if too_long := [number for number, line in enumerate(lines, 1) if len(line) > LONGEST_LINE]:
        raise ExperimentError([f"line {too_long[0]}: a line has at most {LONGEST_LINE:,} characters"])
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ExperimentError([_fault_of_syntax(error, len(lines))]) from None


def _fault_of_syntax(error: Exception, lines: int) -> str:
    if isinstance(error, RecursionError):
        return "this is not TOML: it is nested too deeply"
    said = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", str(error), re.DOTALL)
    if said is None:
        return f"this is not TOML: {words_of(str(error))}"
    where = f"line {said[2]}, column {said[3]}" if said[2] else f"line {lines}, its end"
    return f"{where}: this is not TOML: {words_of(said[1])}"


def key_lines(text: str) -> dict[Keys, int]:
    """Where each key of a TOML text is first said, by its path. The text must be one that Python reads."""
    lines: dict[Keys, int] = {}
    table: Keys = ()
    for number, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            table = paths[-1]
        else:
            paths = [table + path for path in paths]
        for path in paths:
            lines.setdefault(path, number)
    return lines


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each statement with its first line's number. One goes on until Python can read it by itself.

    So strings, comments and lists over several lines are whatever they are to the reader of values, and cannot be
    mistaken for keys. Only a line with a closing mark can be the last of several.
    """
    first, pending = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            first, pending = number, line
        else:
            pending = f"{pending}\n{line}"
            if not re.search(r"[]}\"']", line):
                continue
        if _is_whole(pending):
            yield first, pending
            pending = ""


def _is_whole(statement: str) -> bool:
    try:
        tomllib.loads(statement)
    except ValueError:
        return False
    return True


def _paths(values: Mapping[str, Any]) -> Iterator[Keys]:
    """The paths of all keys of nested tables, outer ones first, down to a depth where nothing is meant any more."""
    waiting: list[tuple[Keys, Any]] = [((), values)]
    while waiting:
        path, value = waiting.pop()
        if path:
            yield path
        if isinstance(value, Mapping) and len(path) < DEEPEST_KEY:
            waiting += [((*path, key), inner) for key, inner in reversed(list(value.items()))]
