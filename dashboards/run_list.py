"""The list of runs: where each stands, who plays, what it spent, and how the evaluated firm does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django import forms
from django.core.paginator import Page, Paginator
from django.db.models import F, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast
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
from simulation.models import Call, DayEnd, Run
from simulation.players.registry import KINDS, kinds_for

RUNS_PER_PAGE: Final = 25
SPARK_POINTS: Final = 60


class RunFilter(forms.Form):
    """Which runs a reader wants; what makes no sense is no wish."""

    q = forms.CharField(
        required=False,
        max_length=80,
        label="Name or number",
        widget=forms.TextInput(
            attrs={"type": "search", "autocomplete": "off", "placeholder": "Name, experiment, number"}
        ),
    )
    status = forms.ChoiceField(required=False, choices=[("", "Any status"), *Run.Status.choices], label="Status")
    player = forms.CharField(
        required=False,
        max_length=80,
        label="Player or model",
        widget=forms.TextInput(
            attrs={"type": "search", "autocomplete": "off", "list": "players-known", "placeholder": "Player or model"}
        ),
    )

    def apply(self, runs: QuerySet[Run]) -> QuerySet[Run]:
        """Only the runs that match."""
        self.is_valid()
        wanted = self.cleaned_data
        if wanted.get("q"):
            runs = runs.filter(named(wanted["q"]))
        if wanted.get("status"):
            runs = standing(runs, wanted["status"])
        return played_by(runs, wanted["player"]) if wanted.get("player") else runs

    def is_asking(self) -> bool:
        """Whether any wish was uttered."""
        return any(self.cleaned_data.values())

    def kinds(self) -> list[str]:
        """What may be typed as a player, beside the names of models."""
        return list(KINDS)


def standing(runs: QuerySet[Run], status: str) -> QuerySet[Run]:
    """Runs of a status; one that waits for a player goes on running as far as its row can tell."""
    if status == Run.Status.WAITING:
        return runs.filter(status__in=(Run.Status.RUNNING, status)).exclude(waiting_for=[])
    return runs.filter(status=status)


def named(text: str) -> Q:
    """Runs of a name or why they stand where they stand, or the one of a number."""
    match = Q(name__icontains=text) | Q(status_reason__icontains=text)
    is_number = text.isascii() and text.isdecimal() and len(text) <= 9
    return match | Q(pk=int(text)) if is_number else match


def played_by(runs: QuerySet[Run], text: str) -> QuerySet[Run]:
    """Runs in which a kind of player, or a model, of such a name plays; looked for in the texts of their settings."""
    texts = {"players_text": Cast("players", TextField()), "models_text": Cast("model_settings", TextField())}
    return runs.annotate(**texts).filter(Q(players_text__icontains=text) | Q(models_text__icontains=text))


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
    spend: str


@require_safe
@staff_only
def run_list(request: HttpRequest) -> HttpResponse:
    """The page of the list; asked by htmx, its rows alone."""
    only = RunFilter(request.GET)
    page = Paginator(only.apply(Run.objects.all()), RUNS_PER_PAGE).get_page(request.GET.get("page"))
    template = "dashboards/_run_rows.html" if request.headers.get("HX-Request") else "dashboards/run_list.html"
    context = {"page": page, "lines": lines_of_page(page), "only": only, "wishes": wishes_of(request)}
    return render(request, template, context)


def wishes_of(request: HttpRequest) -> str:
    """The filters of an address, without the page."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()


def lines_of_page(page: Page[Run]) -> list[RunLine]:
    """The lines of a page of runs. Two queries, however many runs; a third where models play."""
    runs = list(page.object_list)
    firms = {firm.run_id: firm for firm in evaluated_firms(runs)}
    sparks, spends = sparks_of(firms.values(), {run.pk: run.day for run in runs}), spends_of(runs)
    return [line_of(run, firms.get(run.pk), sparks, spends) for run in runs]


def evaluated_firms(runs: Iterable[Run]) -> Iterable[Firm]:
    """The evaluated firm of each run. One query."""
    return Firm.objects.filter(run__in=list(runs), name=F("run__evaluated"))


def spends_of(runs: Iterable[Run]) -> dict[int, int]:
    """What each run's models have cost as budgets count it, in micro-dollars. One query, or none without models."""
    with_models = [run.pk for run in runs if run.model_settings]
    if not with_models:
        return {}
    parts = {"known": Sum("cost_micros"), "unsure": Sum("most_micros", filter=Q(cost_micros=None))}
    sums = Call.objects.filter(run__in=with_models).order_by().values_list("run").annotate(**parts)
    return dict.fromkeys(with_models, 0) | {run_id: (known or 0) + (unsure or 0) for run_id, known, unsure in sums}


def sparks_of(firms: Iterable[Firm], today: Mapping[int, int]) -> dict[int, Spark | None]:
    """A small line of each firm's net income, by its key: its evenings before `today`, by run, and where it stands now.

    A bankrupt firm's stays at its score. One query.
    """
    by_key = {firm.pk: firm for firm in firms}
    amounts: dict[int, list[float]] = {key: [] for key in by_key}
    rows = DayEnd.objects.filter(firm_id__in=list(by_key)).order_by("pk")
    for firm_id, day, amount_micros in rows.values_list("firm_id", "day", "net_income_micros"):
        firm = by_key[firm_id]
        is_frozen = firm.bankrupt_day is not None and day >= firm.bankrupt_day
        if day < today[firm.run_id]:
            amounts[firm_id].append(usd(firm.net_income_micros if is_frozen else amount_micros))
    lines = {key: [*line, usd(by_key[key].net_income_micros)] for key, line in amounts.items()}
    return {key: spark_of(thinned(line)) for key, line in lines.items()}


def thinned(amounts: list[float]) -> list[float]:
    """At most about 60 of some amounts, evenly, the last one among them."""
    stride = -(-len(amounts) // SPARK_POINTS) or 1
    return amounts[::-1][::stride][::-1]


def line_of(
    run: Run, firm: Firm | None, sparks: Mapping[int, Spark | None], spends: Mapping[int, int] | None = None
) -> RunLine:
    """One run's line. A recording may evaluate no firm."""
    return RunLine(
        run=run,
        state=state_of(run),
        style=style_of(run.evaluated),
        players=players_text(run),
        net_income=micros_text(firm.net_income_micros) if firm else "–",
        sign=sign_of(firm.net_income_micros) if firm else "even",
        spark=sparks.get(firm.pk) if firm else None,
        spend=micros_text(spends[run.pk]) if spends and run.pk in spends else "–",
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
