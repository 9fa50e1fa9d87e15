"""How seats stand, as their researcher sees them: whose turn it is and for how long, who is there, what was done last.

However many seats are read, it takes a handful of queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum
from functools import reduce
from operator import or_
from typing import Final, NamedTuple

from django.db.models import OuterRef, Q, QuerySet, Subquery

from dashboards.colours import FirmStyle, style_of
from dashboards.words import moment_text
from marketplace.rows import key_of
from simulation.models import Ask, Run, Seat, Turn
from simulation.players.registry import REMOTE
from simulation.seats import absence, clocks, links, pausing
from simulation.studies import links as study_links
from simulation.studies.models import Participant

RUNS_AT_ONCE: Final = 100
STANDS_STILL_AFTER: Final = timedelta(minutes=2)
RESTING: Final = {
    Run.Status.DRAFT: "the run has not started",
    Run.Status.PAUSED: "the run is paused",
    Run.Status.FINISHED: "the run is finished",
    Run.Status.STOPPED: "the run was stopped",
    Run.Status.FAILED: "the run has failed",
}


class Rank(IntEnum):
    """How much somebody needs the researcher, the most first."""

    TROUBLE = 0
    AWAY = 1
    IDLE = 2
    LOST = 3
    PLAYS = 4
    WAITS = 5
    READS = 6
    INVITED = 7
    OVER = 8

    @property
    def needs_help(self) -> bool:
        """Whether the researcher should look."""
        return self <= Rank.LOST


class Action(NamedTuple):
    """The last decision of a seat's firm; `accepted` is None while it has not been carried out."""

    tool: str
    accepted: bool | None
    decided_by: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Seen:
    """A seat as it stands at a moment."""

    seat: Seat
    now: datetime
    turn: Ask | None
    waits_for: list[str]
    last: Action | None

    @property
    def run(self) -> Run:
        """The seat's run."""
        return self.seat.run

    @property
    def firm(self) -> str:
        """The name of the seat's firm."""
        return self.seat.firm.name

    @property
    def style(self) -> FirmStyle:
        """The firm's colour and line."""
        return style_of(self.firm)

    @property
    def is_remote(self) -> bool:
        """Whether it is meant for a program."""
        return bool(self.run.players.get(self.firm) == REMOTE)

    @property
    def participant(self) -> Participant | None:
        """Whoever of a study has the seat, in the game or the practice."""
        return participant_of(self.seat)

    @property
    def path(self) -> str:
        """Where the seat opens: a participant's link leads through their study."""
        if self.participant:
            return study_links.path_of(self.participant)
        return links.path_of(self.seat)

    @property
    def token(self) -> str:
        """The key of the seat, for a program."""
        return links.token_of(self.seat)

    @property
    def is_void(self) -> bool:
        """Whether the link opens nothing any more."""
        return self.seat.is_revoked or bool(self.participant and self.participant.is_revoked)

    @property
    def is_present(self) -> bool:
        """Whether its page has lately given a sign of life."""
        return clocks.is_present(self.seat, self.now)

    @property
    def is_moving(self) -> bool:
        """Whether the run goes on when its turns are answered."""
        return self.run.is_moving

    @property
    def has_turn(self) -> bool:
        """Whether everybody waits for whoever holds the link."""
        return self.turn is not None and self.is_moving and self.seat.driver == Seat.Driver.OWNER

    @property
    def doing(self) -> str:
        """What the seat is at, in words."""
        if not self.is_moving:
            return self._resting()
        if self.seat.firm.bankrupt_day is not None:
            return f"bankrupt since day {self.seat.firm.bankrupt_day}"
        if self.turn is None:
            return f"waits for {', '.join(self.waits_for)}" if self.waits_for else "waits for the run to move"
        return "has the turn" if self.has_turn else f"the {self.seat.driver} decides"

    def _resting(self) -> str:
        if pausing.is_paused(self.seat):
            return "has paused their game"
        if self.run.status == Run.Status.PAUSED and self.turn:
            return "the run is paused in their turn"
        return RESTING[Run.Status(self.run.status)]

    @property
    def since(self) -> datetime:
        """Since when it is at that."""
        if not self.is_moving:
            return self.run.status_since
        if self.turn:
            return self.turn.created_at
        return (self.last and self.last.at) or self.run.status_since

    @property
    def moment(self) -> str:
        """The simulated time of its turn, or else of the run."""
        return moment_text(self.turn.minute if self.turn else self.run.minute)

    @property
    def idle_since(self) -> datetime | None:
        """Since when whoever holds the link has let an open turn lie, if for longer than a minute."""
        if not self.has_turn:
            return None
        signs = [moment for moment in (self.since, self.seat.last_active_at) if moment]
        return max(signs) if self.now - max(signs) > clocks.IDLE_AFTER else None

    @property
    def rank(self) -> Rank:
        """How much it needs the researcher."""
        if self._run_trouble:
            return Rank.TROUBLE
        if self.run.is_over or self.seat.firm.bankrupt_day is not None:
            return Rank.OVER
        if self.has_turn and not self.is_present:
            return Rank.AWAY
        if self.idle_since:
            return Rank.IDLE
        return Rank.PLAYS if self.has_turn else Rank.WAITS

    @property
    def _run_trouble(self) -> str:
        """What is wrong with the run, so that nobody at its table can go on."""
        if self.run.status == Run.Status.FAILED:
            return "run failed"
        if self.run.is_held_up:
            return f"paused by its {self.run.paused_by}"
        is_due = self.run.not_before is None or self.run.not_before < self.now
        nobody = self.is_moving and self.turn is None and not self.waits_for
        return "stands still" if nobody and is_due and self.now - self.since > STANDS_STILL_AFTER else ""

    @property
    def trouble(self) -> str:
        """What is wrong, in a word or two; empty if nothing is."""
        if self.rank == Rank.AWAY:
            return "not taken" if self.seat.taken_at is None else "away"
        return "idle" if self.rank == Rank.IDLE else self._run_trouble

    @property
    def rule_at(self) -> datetime | None:
        """When the rule for absence strikes if there is no sign of life before; None where it does not."""
        if self.turn is None or not self.has_turn or self.seat.absence == Seat.Absence.WAIT:
            return None
        due = absence.silent_since(self.seat, self.turn) + timedelta(minutes=self.seat.absence_minutes)
        return max(due, self.seat.extended_until or due)

    @property
    def can_model(self) -> bool:
        """Whether a language model is named that could stand in."""
        return self.firm in self.run.model_settings

    def spent(self) -> list[Spent]:
        """Where its wall time went, state by state."""
        seconds = clocks.seconds_by_state(self.seat, self.now)
        total = sum(seconds.values())
        parts: list[Spent] = []
        for state in clocks.State if total else ():
            before = parts[-1].from_percent + parts[-1].percent if parts else 0.0
            parts.append(Spent(state, seconds[state], before, 100 * seconds[state] / total))
        return parts


class Spent(NamedTuple):
    """Wall time in one state, and its stretch of a bar of all states."""

    state: str
    seconds: float
    from_percent: float
    percent: float


def participant_of(seat: Seat) -> Participant | None:
    """Whoever of a study has a seat, in the game or the practice."""
    for name in ("participant", "practice_participant"):
        found: Participant | None = getattr(seat, name, None)
        if found:
            return found
    return None


def seats_with_last_turn() -> QuerySet[Seat]:
    """Seats with all that belongs to them, and the key of their firm's last turn as `last_turn`."""
    turns = Turn.objects.filter(firm_id=OuterRef("firm_id")).order_by("-day", "-pk")
    seats = Seat.objects.select_related("run", "firm", "participant", "practice_participant")
    return seats.annotate(last_turn=Subquery(turns.values("pk")[:1]))


def seen_of(seats: Iterable[Seat], now: datetime) -> list[Seen]:
    """How these seats stand. They come from `seats_with_last_turn`."""
    seats = list(seats)
    asks = asks_under_way({seat.run_id: seat.run for seat in seats if not seat.run.is_over}.values())
    open_asks = {ask.firm_id: ask for ask in asks if ask.answered_at is None}
    last = last_actions(seats, asks)
    waits: dict[int, list[str]] = {}
    for ask in open_asks.values():
        waits.setdefault(ask.run_id, []).append(ask.firm.name)
    return [
        Seen(seat, now, open_asks.get(seat.firm_id), waits.get(seat.run_id, []), last.get(seat.firm_id))
        for seat in seats
    ]


def asks_under_way(runs: Iterable[Run]) -> list[Ask]:
    """The turns of these runs that are put to somebody and not carried out yet, by number."""
    found: list[Ask] = []
    ranges = [Q(pk__gt=key_of(run.pk, run.turns), pk__lt=key_of(run.pk + 1, 0)) for run in runs]
    for first in range(0, len(ranges), RUNS_AT_ONCE):
        asks = Ask.objects.filter(reduce(or_, ranges[first : first + RUNS_AT_ONCE])).order_by("pk")
        found += asks.select_related("firm").defer("given", "arguments", "rationale")
    return found


def last_actions(seats: list[Seat], under_way: list[Ask]) -> dict[int, Action]:
    """Firm's key → its last decision: one that is stored and not carried out yet, or else its last turn."""
    keys = [key for seat in seats if (key := getattr(seat, "last_turn", None))]
    answered = dict(Ask.objects.filter(pk__in=keys).values_list("pk", "answered_at"))
    turns = Turn.objects.filter(pk__in=keys).values_list("pk", "firm_id", "tool", "accepted", "decided_by")
    last = {firm: Action(tool, accepted, by, answered.get(pk)) for pk, firm, tool, accepted, by in turns}
    stored = [ask for ask in under_way if ask.answered_at and ask.pk not in answered]
    return last | {ask.firm_id: Action(ask.tool, None, ask.decided_by, ask.answered_at) for ask in stored}
