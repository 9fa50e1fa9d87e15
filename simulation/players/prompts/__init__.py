"""The words that players are given, as text files, and the little it takes to fill them in.

In a file `$name` stands for a value, and a line that begins with `[if name] ` is kept only where that value is true.
Values are put in last and once, so that nothing inside them, a person's objective for one, is ever read as a mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from string import Template

_condition = re.compile(r"\[if (\w+)\] ")


@cache
def text_of(name: str) -> str:
    """The text file of that name as it stands, without the line end at its close."""
    return Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").removesuffix("\n")


def filled(name: str, values: Mapping[str, object]) -> str:
    """The text of a file for these values. A name the file uses and `values` lacks is a KeyError: a bug of ours."""
    return "\n".join(filled_lines(name, values))


def filled_lines(name: str, values: Mapping[str, object]) -> list[str]:
    """The same, line by line as they stand in the file."""
    return [Template(line).substitute(values) for line in _lines_kept(name, values)]


def _lines_kept(name: str, values: Mapping[str, object]) -> Iterator[str]:
    for line in text_of(name).splitlines():
        condition = _condition.match(line)
        if condition is None:
            yield line
        elif values[condition[1]]:
            yield line[condition.end() :]
