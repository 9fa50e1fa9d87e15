"""The drawer of runs, whose pages add up the books of all their firms."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column, Table
from marketplace.admin.drawer import Drawer, Fact, RunRowDrawer, drawers_of_runs
from marketplace.admin.filters import ChoiceFilter, Scope
from marketplace.admin.finding import LARGEST_RUN, read_run
from marketplace.admin.firm_books import Identity, books_together, trial_lines
from marketplace.admin.firms import state_of
from marketplace.admin.question import Found
from marketplace.books import Books, balances_in, books_of_firms
from marketplace.models import Firm, Transfer
from marketplace.rows import in_run, number_of
from simulation.models import Run


class Holding(NamedTuple):
    """What a drawer holds of a run."""

    title: str
    rows: str
    url: str


def progress(run: Run) -> str:
    """How far a run has come."""
    return f"day {run.day} of {run.days}"


def players_of(run: Run) -> str:
    """Who plays, each kind of player once, with the number of firms it plays."""
    players = list(run.player_labels().values()) if isinstance(run.players, dict) else []
    counted = dict.fromkeys(map(str, players))
    return showing.short_words(", ".join(f"{name} × {players.count(name)}" for name in counted))


@admin.register(Run)
class RunDrawer(Drawer):
    """Every run. Its name may be changed, nothing else."""

    list_display = (
        Column("run", lambda run: showing.link(showing.row_url(Run, run.pk), f"run {run.pk}"), "label"),
        columns.written("name"),
        columns.text("status"),
        Column("progress", progress),
        columns.number("seed"),
        columns.text("evaluated"),
        Column("players", players_of, "words"),
        columns.number("turns"),
        columns.number("events"),
        Column("created", lambda run: showing.wall_time(run.created_at), "moment"),
    )
    list_display_links = None
    search_fields = ("name",)
    search_help_text = "7, run 7, or words of a name"
    filters = (ChoiceFilter("status"),)
    fields = ("name",)
    change_form_template = "admin/books/run.html"
    facts = (
        columns.text("status"),
        columns.text("paused_by", "paused by"),
        Column("tries again", lambda run: showing.wall_time(run.resume_at)),
        Column("waiting for", lambda run: showing.short_json(run.waiting_for) if run.waiting_for else showing.NOTHING),
        Column("progress", progress),
        Column("simulated time", lambda run: showing.moment(run.minute)),
        columns.number("step", "steps saved"),
        columns.number("seed"),
        columns.text("evaluated", "evaluated firm"),
        columns.text("information", "what persons are shown"),
        Column("counts", lambda run: "no, a practice" if run.is_practice else "yes"),
        Column("pace, s a day", lambda run: str(run.pace_seconds or "full speed")),
        columns.text("rules_version", "rules version"),
        Column("created", lambda run: showing.wall_time(run.created_at)),
        Column("started", lambda run: showing.wall_time(run.started_at)),
        Column("ended", lambda run: showing.wall_time(run.ended_at)),
        Column("players", players_of),
        columns.written_whole("status_reason", "why it stands so"),
        Column("limits of its models", lambda run: showing.pretty_json(run.limits), "wide"),
        Column("how its models play", lambda run: showing.pretty_json(run.model_settings), "wide"),
        Column("scenario", lambda run: showing.pretty_json(run.scenario), "wide"),
    )

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Its name, by those whom Django's permissions allow it."""
        return admin.ModelAdmin.has_change_permission(self, request, obj)

    def save_model(self, request: HttpRequest, obj: Run, form: Any, change: bool) -> None:
        """The name alone: the runner may have moved the run on since it was read here."""
        obj.save(update_fields=["name"])

    def find(self, typed: str, scope: Scope) -> Found:
        """A run by its id, or by words of its name."""
        run_id = read_run(typed) or read_run(f"run {typed}")
        named = Q(name__icontains=typed)
        return Found(Q(pk=run_id) | named) if run_id and run_id <= LARGEST_RUN else Found(named)

    def render_change_form(
        self,
        request: HttpRequest,
        context: dict[str, Any],
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        """Adds the run's books and the way to all its rows."""
        context |= {"title": f"Run {obj.pk}: {obj.name}", "subtitle": None, **self.page_context(obj)}
        return super().render_change_form(request, context, add, change, form_url, obj)

    def page_context(self, run: Run) -> dict[str, Any]:
        """Its facts, its drawers, its firms, and their books added up."""
        firms = list(Firm.objects.filter(**in_run(run.pk)).order_by("pk"))
        books = books_of_firms(Transfer.objects.filter(**in_run(run.pk)))
        together, identity = books_together(list(books.values()))
        return {
            "facts": [Fact(column.title, column(run), column.kind) for column in self.facts],
            "holdings": [holding_of(drawer, run) for drawer in drawers_of_runs(self.admin_site)],
            "firms": Table(firm_columns(books), firms, "Firms", empty="No firms yet. The run's start seats them."),
            "trial_balance": trial_lines(together, run=run.pk),
            "identity": identity,
        }


def firm_columns(books: dict[int, Books]) -> tuple[Column, ...]:
    """The columns of a run's firms: what the engine kept, and what the ledger says of it."""

    def identity(firm: Firm) -> Identity:
        return Identity(balances_in(books.get(firm.pk, {})))

    return (
        columns.own_label("firm"),
        columns.text("role"),
        columns.written("player"),
        Column("state", state_of, "label"),
        columns.usd("net_income_micros", "score"),
        Column("ledger's net income, USD", lambda firm: showing.amount(identity(firm).net_income_micros), "number"),
        Column("ledger's equity, USD", lambda firm: showing.amount(identity(firm).equity_micros), "number"),
        Column("identity", lambda firm: identity(firm).verdict, "label"),
        columns.usd("cash_micros", "cash"),
        columns.usd("revenue_micros", "revenue"),
    )


def holding_of(drawer: Drawer, run: Run) -> Holding:
    """A drawer and the number of the run's rows in it: that of the last, for they are numbered from 1 without gaps.

    Where there are gaps it says only whether there are any, and nothing of rows that the engine does not number: to
    count them would read them all.
    """
    model: Any = drawer.model
    if not isinstance(drawer, RunRowDrawer):
        return Holding(str(model._meta.verbose_name_plural), "", showing.list_url(model, run=run.pk))
    last = model.objects.filter(**in_run(run.pk)).order_by("-pk").values_list("pk", flat=True).first()
    rows = showing.whole(number_of(last) if last else 0)
    if drawer.has_gaps:
        rows = "some" if last else "none"
    return Holding(str(model._meta.verbose_name_plural), rows, showing.list_url(model, run=run.pk))
