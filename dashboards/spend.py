"""What a run's models cost: on a page of its own, and call by call as a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboards.access import staff_only
from dashboards.colours import FirmStyle, style_of
from dashboards.sheets import csv_response
from dashboards.snapshot import firms_of
from dashboards.spend_form import BudgetsForm
from dashboards.spend_words import percent_of_budget, range_text, reasons_of, spent_text, uncertainty_of, warning_of
from dashboards.words import number_text
from marketplace.economy.money import usd
from marketplace.models import Firm
from marketplace.rows import number_of
from simulation.budgets import change_budgets
from simulation.control import NotPossible
from simulation.models import Call, Run
from simulation.spend import DaySpend, Spend, forecast_of, spend_by_day, spend_by_firm, total_of, under_way_micros


class SpendLine(NamedTuple):
    """A line of the tables: a firm or a day, and what its calls came to."""

    spend: Spend
    share_percent: float
    firm: Firm | None = None
    style: FirmStyle | None = None
    model: str = ""
    budget_usd: float | None = None
    day: int = 0

    @property
    def seconds_a_call(self) -> str:
        """How long a call took, on average."""
        return number_text(self.spend.latency_ms / 1000 / self.spend.calls, 1) if self.spend.calls else "–"

    @property
    def cached_percent(self) -> str:
        """How much of what was sent the provider had in its cache."""
        return number_text(100 * self.spend.cached_tokens / self.spend.input_tokens) if self.spend.input_tokens else "–"


@require_safe
@staff_only
def spend_page(request: HttpRequest, run_id: int) -> HttpResponse:
    """What a run's models cost: by firm, by day, and in all."""
    run = get_object_or_404(Run, pk=run_id)
    return render_spend(request, run, BudgetsForm(run))


@require_POST
@staff_only
def budgets(request: HttpRequest, run_id: int) -> HttpResponse:
    """Changes a run's budgets; a form that is refused is shown again with what is wrong."""
    run = get_object_or_404(Run, pk=run_id)
    form = BudgetsForm(run, request.POST)
    if not form.is_valid() or not changed_budgets(run, form):
        return render_spend(request, run, form, status=422)
    is_stopped = run.status == Run.Status.PAUSED and run.paused_by == Run.PausedBy.BUDGET
    then = " The run still rests: resume it on its own page." if is_stopped else ""
    messages.success(request, f"The budgets are set.{then}")
    return redirect("dashboards:spend", run.pk)


def changed_budgets(run: Run, form: BudgetsForm) -> bool:
    """Whether a valid form's budgets could be set; if not, the form says why."""
    try:
        change_budgets(run.pk, run_budgets=form.run_budgets(), firm_budgets=form.firm_budgets())
    except NotPossible as refusal:
        form.add_error(None, str(refusal))
        return False
    return True


def render_spend(request: HttpRequest, run: Run, form: BudgetsForm, status: int = 200) -> HttpResponse:
    """The page, with its form as it is. Four queries."""
    days, firms = spend_by_day(run), spend_by_firm(run)
    total, forecast = total_of(firms.values()), forecast_of(run, days)
    context = {
        "run": run,
        "form": form,
        "total": total,
        "budget_usd": run.limits.get("budget_usd"),
        "day_budget_usd": run.limits.get("day_budget_usd"),
        "spent": spent_text(run, total),
        "percent": percent_of_budget(run, total),
        "note": uncertainty_of(total),
        "under_way_micros": under_way_micros(run),
        "forecast": forecast,
        "range": range_text(forecast.cost) if forecast and forecast.cost else "",
        "reasons": reasons_of(run, forecast) if forecast else [],
        "warning": warning_of(run, forecast),
        "firm_lines": firm_lines(run, firms),
        "day_lines": day_lines(days),
    }
    return render(request, "dashboards/spend.html", context, status=status)


def firm_lines(run: Run, spends: Mapping[int, Spend]) -> list[SpendLine]:
    """A line for each firm that a model plays. One query."""
    most = max((spend.counted_micros for spend in spends.values()), default=0)
    played = [firm for firm in firms_of(run) if firm.name in run.model_settings]
    return [firm_line(run, firm, spends.get(firm.pk, Spend()), most) for firm in played]


def firm_line(run: Run, firm: Firm, spend: Spend, most_micros: int) -> SpendLine:
    """One firm's line."""
    settings = run.model_settings[firm.name]
    return SpendLine(
        spend=spend,
        share_percent=share(spend, most_micros),
        firm=firm,
        style=style_of(firm.name),
        model=str(settings.get("model", "")),
        budget_usd=settings.get("budget_usd"),
    )


def day_lines(days: Mapping[int, DaySpend]) -> list[SpendLine]:
    """A line for each day with a call, newest first."""
    most = max((day.spend.counted_micros for day in days.values()), default=0)
    return [SpendLine(each.spend, share(each.spend, most), day=day) for day, each in sorted(days.items(), reverse=True)]


def share(spend: Spend, most_micros: int) -> float:
    """How long a line's bar is, in percent of the longest."""
    return round(100 * spend.counted_micros / most_micros, 1) if most_micros else 0.0


COLUMNS: Final = (
    "pk",
    "day",
    "ask_id",
    "firm__name",
    "purpose",
    "outcome",
    "attempt",
    "created_at",
    "latency_ms",
    "model_asked",
    "model_answered",
    "input_tokens",
    "cached_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cost_micros",
    "most_micros",
    "finish_reason",
    "error",
)
HEADINGS: Final = (
    *("call", "day", "turn", "firm", "purpose", "outcome", "attempt", "ended_at", "latency_ms"),
    *("model_asked", "model_answered", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens"),
    *("cost_usd", "cost_at_most_usd", "finish_reason", "error"),
)


@require_safe
@staff_only
def calls_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """Every call of a run with what it cost, for a spreadsheet. An empty cost is one that is not known."""
    run = get_object_or_404(Run, pk=run_id)
    return csv_response([HEADINGS, *call_rows(run)], f"coffeebench-run-{run.pk}-calls.csv")


def call_rows(run: Run) -> Iterator[list[Any]]:
    """A row for each call, in the order in which they ended. One query."""
    for row in Call.objects.filter(run=run).order_by("pk").values_list(*COLUMNS):
        cells = dict(zip(COLUMNS, row, strict=True))
        cells["ask_id"] = number_of(cells["ask_id"])
        cells["created_at"] = cells["created_at"].isoformat(timespec="milliseconds")
        for column in ("cost_micros", "most_micros"):
            cells[column] = None if cells[column] is None else usd(cells[column])
        yield list(cells.values())
