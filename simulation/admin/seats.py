"""The drawers of seats and of what the time at them went into. The key that opens a seat is in no table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest, HttpResponse

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column, Table
from marketplace.admin.drawer import ROWS_ON_A_PAGE, Drawer
from marketplace.admin.filters import ChoiceFilter, DayFilter, FirmFilter, Scope, YesNoFilter
from marketplace.admin.finding import DIGITS, LARGEST_KEY
from marketplace.admin.question import Found, Question
from simulation.admin.talk import TalkDrawer, number_link, run_link, wall_time
from simulation.models import Seat, Spell


def yes_or_no(field: str, title: str) -> Column:
    """Whether something holds."""
    return Column(title, lambda row: "yes" if getattr(row, field) else "no")


@admin.register(Seat)
class SeatDrawer(TalkDrawer):
    """Every seat of a person or a program."""

    list_display = (
        number_link("seat"),
        columns.firm(),
        columns.text("firm.player", "player"),
        columns.written("label"),
        columns.text("driver", "played by"),
        columns.text("absence", "when away"),
        wall_time("taken_at", "taken"),
        wall_time("last_seen_at", "last seen"),
        wall_time("last_active_at", "last active"),
        yes_or_no("is_revoked", "link revoked"),
    )
    filters = (FirmFilter("firm"), ChoiceFilter("driver"), ChoiceFilter("absence"), YesNoFilter("is_revoked"))
    facts = (
        *list_display[1:],
        columns.number("link_number", "links issued"),
        wall_time("driver_since", "played so since"),
        columns.number("absence_minutes", "minutes it may be away"),
        wall_time("extended_until", "may be away until"),
        yes_or_no("wants_rationale", "every action needs a reason"),
        columns.written("nudge", "last nudge"),
        wall_time("nudged_at", "nudged"),
        columns.written("queue_stopped", "why its queue waits"),
        Column("queue", lambda seat: showing.pretty_json(seat.queue), "wide"),
        columns.written_whole("notes"),
    )

    def rows_of_run(self, run_id: int) -> dict[str, Any]:
        """The table has an index of runs."""
        return {"run": run_id}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of a seat, with its first spells."""
        more = {"tables": list(self._spells(object_id))}
        return super().change_view(request, object_id, form_url, {**more, **(extra_context or {})})

    def _spells(self, object_id: str) -> Iterable[Table]:
        if not DIGITS.fullmatch(object_id) or int(object_id) > LARGEST_KEY:
            return
        spells = Spell.objects.filter(seat=int(object_id)).select_related("seat__firm").order_by("pk")
        rows = list(spells[: ROWS_ON_A_PAGE + 1])
        more_url = ""
        if len(rows) > ROWS_ON_A_PAGE:
            more_url = showing.list_url(Spell, run=rows[0].seat.run_id, firm=rows[0].seat.firm.name)
        yield Table(SpellDrawer.list_display, rows[:ROWS_ON_A_PAGE], "Spells", more_url=more_url)


@admin.register(Spell)
class SpellDrawer(Drawer):
    """Every stretch of wall time at a seat."""

    holds_run_rows = True
    list_display = (
        Column("spell", lambda spell: showing.whole(spell.pk), "number"),
        columns.firm("seat.firm"),
        Column("state", lambda spell: spell.get_state_display()),
        columns.number("day"),
        wall_time("began_at", "began"),
        wall_time("ended_at", "ended"),
        Column("seconds", lambda spell: seconds_of(spell), "number"),
    )
    list_display_links = None
    list_select_related = ("seat__firm", "seat__run")
    search_help_text = "a firm"
    filters = (FirmFilter("firm", ("seat__firm",)), DayFilter("day"), ChoiceFilter("state"))

    def rows_of_run(self, run_id: int) -> dict[str, Any]:
        """Their seats are those of the run."""
        return {"seat__run": run_id}

    def columns(self, question: Question) -> tuple[Any, ...]:
        """The run has a column where rows of several may come."""
        first, *others = self.list_display
        run = Column("run", lambda spell: run_link(spell.seat), "label")
        return (first, *others) if question.scope.run_id else (first, run, *others)

    def find(self, typed: str, scope: Scope) -> Found:
        """The spells of a firm, once a run is chosen."""
        if typed in scope.firms:
            return Found(Q(seat__firm=scope.firms[typed]))
        advice = "" if scope.run else " Firms are found by their names once a run is chosen."
        return Found(Q(pk__in=()), f"Nothing is named “{typed}”. Try {self.search_help_text}.{advice}", by_key=True)


def seconds_of(spell: Spell) -> str:
    """How long a spell that is over took."""
    return f"{(spell.ended_at - spell.began_at).total_seconds():,.1f}" if spell.ended_at else showing.NOTHING
