"""The charts of the tab Overview: the books of each firm over the days, and what its net income is held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dashboards.books import Evening
from dashboards.figures import MEASURES, Figure, firms_over_days, label
from dashboards.passive import Passive, passive_of
from dashboards.state import frame_of
from marketplace.economy.money import usd
from marketplace.models import Firm
from simulation.engine.scenario import Scenario
from simulation.models import Run

HEADROOM_USD: Final = 23_800
"""What each of two equal roasters can make at most in the paper's 90 days, about (RULES.md section 13)."""


def figures_of(run: Run, firms: Sequence[Firm], evenings: Iterable[Evening]) -> dict[str, Figure]:
    """The chart of each measure."""
    evenings = list(evenings)
    frame = frame_of(run, [firm.name for firm in firms])
    figures = {name: firms_over_days(evenings, frame, measure) for name, measure in MEASURES.items()}
    if run.evaluated in frame.firms:
        figures["net_income"]["data"] = [*references(run), *figures["net_income"]["data"]]
    return figures


def references(run: Run) -> list[dict[str, Any]]:
    """The lines that the evaluated firm's net income is held against."""
    lines = []
    passive = passive_of(run)
    if passive.days:
        lines.append(passive_line(run.evaluated, passive))
    if has_headroom(run):
        lines.append(headroom_line(run.days))
    return lines


def passive_line(firm: str, passive: Passive) -> dict[str, Any]:
    """What the firm would have if nobody did anything."""
    amounts = [usd(amount) for amount in passive.net_income_micros]
    line = reference("passive", f"passive {firm}", list(passive.days), amounts)
    line["meta"]["label"] = "passive"
    return line


def has_headroom(run: Run) -> bool:
    """Whether the paper's headroom is this run's: a roaster is evaluated, under the paper's rules, for its 90 days."""
    return run.evaluated.startswith("roaster_") and run.scenario == Scenario().model_dump(mode="json")


def headroom_line(days: int) -> dict[str, Any]:
    """The paper's headroom; far from all lines it is only named at the top, so that it does not crush them."""
    line = reference("headroom", "headroom", [0, days - 1], [HEADROOM_USD, HEADROOM_USD])
    line["meta"] |= {"offScale": True, "whole": True}
    return line


def reference(key: str, name: str, days: list[int], amounts: list[float]) -> dict[str, Any]:
    """A thin grey line with its name at its end, as far as the days that are shown: the page cuts it as any other."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(name),
        "x": days,
        "y": amounts,
        "line": {"width": 1, "color": "#888888"},
        "hovertemplate": "%{y:,.2f} USD",
        "meta": {"key": key, "days": "x", "firm": "", "evaluated": False, "reference": True},
    }
