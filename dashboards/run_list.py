"""The list of runs: where each stands, who plays, and how the evaluated firm does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboards.access import staff_only
from dashboards.colours import FirmStyle, style_of
from dashboards.figures import Spark, spark_of
from dashboards.state import state_of
from dashboards.words import micros_text, sign_of
from marketplace.economy.money import usd
from marketplace.models import Firm
from simulation.models import DayEnd, Run
from simulation.players.registry import kinds_for

RUNS_PER_PAGE: Final = 25
SPARK_POINTS: Final = 60


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run as the list shows it."""

    run: Run
    state: dict[str, Any]
    style: FirmStyle
    players: str
    net_income: str
    sign: str
    spark: Spark | None


@require_safe
@staff_only
def run_list(request: HttpRequest) -> HttpResponse:
    """The page of the list; asked by htmx, its rows alone."""
    page = Paginator(Run.objects.all(), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    template = "dashboards/_run_rows.html" if request.headers.get("HX-Request") else "dashboards/run_list.html"
    return render(request, template, {"page": page, "lines": lines_of_page(page)})


def lines_of_page(page: Page[Run]) -> list[RunLine]:
    """The lines of a page of runs. Two queries, however many runs."""
    runs = list(page.object_list)
    firms = {firm.run_id: firm for firm in evaluated_firms(runs)}
    sparks = sparks_of(firms.values())
    return [line_of(run, firms.get(run.pk), sparks) for run in runs]


def evaluated_firms(runs: Iterable[Run]) -> Iterable[Firm]:
    """The evaluated firm of each run. One query."""
    return Firm.objects.filter(run__in=list(runs), name=F("run__evaluated"))


def sparks_of(firms: Iterable[Firm]) -> dict[int, Spark | None]:
    """A small line of each firm's net income, by its key. One query."""
    by_firm: dict[int, list[float]] = {firm.pk: [] for firm in firms}
    rows = DayEnd.objects.filter(firm_id__in=list(by_firm)).order_by("pk")
    for firm_id, amount_micros in rows.values_list("firm_id", "net_income_micros"):
        by_firm[firm_id].append(usd(amount_micros))
    return {firm_id: spark_of(thinned(amounts)) for firm_id, amounts in by_firm.items()}


def thinned(amounts: list[float]) -> list[float]:
    """At most about 60 of some amounts, evenly, the last one among them."""
    stride = -(-len(amounts) // SPARK_POINTS) or 1
    return amounts[::-1][::stride][::-1]


def line_of(run: Run, firm: Firm | None, sparks: Mapping[int, Spark | None]) -> RunLine:
    """One run's line. A recording may evaluate no firm."""
    return RunLine(
        run=run,
        state=state_of(run),
        style=style_of(run.evaluated),
        players=players_text(run),
        net_income=micros_text(firm.net_income_micros) if firm else "–",
        sign=sign_of(firm.net_income_micros) if firm else "even",
        spark=sparks.get(firm.pk) if firm else None,
    )


def players_text(run: Run) -> str:
    """Who plays, in a few words: what stands out is named by firm, the rest by kind."""
    labels = run.player_labels()
    usual = {name for name, kind in run.players.items() if kind == usual_kind(name)}
    if usual and len(usual) == len(labels):
        return "all scripts"
    if len(set(labels.values())) == 1:
        return f"all {next(iter(labels.values()))}"
    named = [f"{name}: {label}" for name, label in labels.items() if name not in usual]
    shown = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
    return f"{shown}; the others scripts" if usual else shown


def usual_kind(firm: str) -> str:
    """The kind that plays a firm unless somebody chose another; empty for a role nobody knows any more."""
    try:
        return kinds_for(firm.rpartition("_")[0])[0]
    except LookupError:
        return ""
