"""What stays as it is during a run, made once for each seat and kept: briefing, forms, the numbers of recipes."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from dashboards.seat.forms import Group, ToolForm, forms_of, groups_of
from dashboards.seat.known import LISTS
from simulation.models import Seat
from simulation.seats import door


class Block(NamedTuple):
    """A heading, a list or a paragraph of the briefing, word for word."""

    kind: str
    text: str
    lines: tuple[str, ...]


class SeatRules(NamedTuple):
    """What a seat's page is built with."""

    briefing: tuple[Block, ...]
    how_you_play: tuple[Block, ...]
    forms: dict[str, ToolForm]
    groups: list[Group]
    for_script: dict[str, Any]


def rules_of(seat: Seat) -> SeatRules:
    """The seat's rules; read afresh for another run, or when reasons begin to be asked for."""
    return _rules(_Kept((seat.pk, seat.run.created_at, seat.wants_rationale), seat))


@dataclass(frozen=True)
class _Kept:
    """A seat as the key of what is kept: the same seat of the same run under the same wishes."""

    key: tuple[Any, ...]
    seat: Seat = field(compare=False)


@lru_cache(maxsize=256)
def _rules(kept: _Kept) -> SeatRules:
    seat = kept.seat
    rules = door.rules(seat)
    forms = forms_of(rules["tools"])
    return SeatRules(
        briefing=blocks_of(rules["briefing"]),
        how_you_play=blocks_of(rules["how_you_play"]),
        forms=forms,
        groups=groups_of(forms, seat.firm.role),
        for_script={"tools": _tools(forms), "recipes": rules["recipes"], "firm": seat.firm.name},
    )


def _tools(forms: dict[str, ToolForm]) -> dict[str, Any]:
    """What the page's script must know of each tool."""
    return {
        name: {
            "group": form.way.group,
            "key": form.way.key,
            "title": form.way.title,
            "deed": form.way.deed,
            "fields": {
                one.name: {"default": one.default, "list": LISTS.get((name, one.name), "")} for one in form.fields
            },
        }
        for name, form in forms.items()
    }


def blocks_of(text: str) -> tuple[Block, ...]:
    """The briefing cut where its lines say: `## ` is a heading, `- ` an entry of a list, an empty line an end."""
    blocks: list[Block] = []
    entries: list[str] = []

    def close_list() -> None:
        if entries:
            blocks.append(Block("list", "", tuple(entries)))
            entries.clear()

    for line in text.splitlines():
        if line.startswith("- "):
            entries.append(line[2:])
            continue
        close_list()
        if line.startswith("## "):
            blocks.append(Block("heading", line[3:], ()))
        elif line.strip():
            blocks.append(Block("paragraph", line, ()))
    close_list()
    return tuple(blocks)
