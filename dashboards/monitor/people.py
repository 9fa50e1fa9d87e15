"""How the participants of a study stand, those who need the researcher first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from dashboards.monitor.seen import Rank, Seen, seats_with_last_turn, seen_of
from dashboards.study.room import is_here
from simulation.studies.models import Participant, Study

Stage = Participant.Stage

PLAYED_FROM_A_SEAT: Final = (Stage.GAME, Stage.PRACTICE)
OVER: Final = (Stage.DONE, Stage.DECLINED)
MISSED_AFTER: Final = timedelta(minutes=5)
"""How long a page of text or questions may be closed, or give no sign of life, before its reader is missed."""


@dataclass(frozen=True, slots=True)
class Person:
    """A participant at a moment; `seen` is the seat at which they play or practise."""

    participant: Participant
    seen: Seen | None
    now: datetime

    @property
    def is_here(self) -> bool:
        """Whether a page of theirs has lately given a sign of life, in the game or outside."""
        return bool(self.seen and self.seen.is_present) or is_here(self.participant)

    @property
    def last_seen_at(self) -> datetime | None:
        """The last sign of life, wherever it came from."""
        signs = [self.participant.last_seen_at, self.seen.seat.last_seen_at if self.seen else None]
        return max((sign for sign in signs if sign), default=None)

    @property
    def is_gone(self) -> bool:
        """Whether nothing more is to come: done, declined or deleted."""
        return self.participant.stage in OVER or self.participant.deleted_at is not None

    @property
    def rank(self) -> Rank:
        """How much they need the researcher."""
        if self.is_gone:
            return Rank.OVER
        if self.seen and self.seen.rank != Rank.OVER:
            return self.seen.rank
        if self.participant.consented_at is None:
            return Rank.INVITED
        if self.participant.stage == Stage.WAITING:
            return Rank.WAITS if self.is_here else Rank.LOST
        return Rank.READS if self.now - self._last_step_at <= MISSED_AFTER else Rank.LOST

    @property
    def _last_step_at(self) -> datetime:
        """When they were last known to be about it: their page was open, or they went on to another."""
        signs = (self.participant.consented_at, self.last_seen_at, self.since)
        return max(sign for sign in signs if sign)

    @property
    def trouble(self) -> str:
        """What is wrong, in a word or two; empty if nothing is."""
        if self.rank == Rank.LOST:
            return "not seen for long" if self.participant.stage != Stage.WAITING else "not here"
        return self.seen.trouble if self.seen else ""

    @property
    def since(self) -> datetime | None:
        """Since when they are where they are: at this turn, or at this stage."""
        return self.seen.since if self.seen else self.participant.stage_since

    @property
    def doing(self) -> str:
        """What they are at."""
        return self.seen.doing if self.seen else ""


def people_of(study: Study, now: datetime) -> list[Person]:
    """All participants of a study. Six queries, however many they are."""
    participants = list(study.participants.select_related("table").order_by("pk"))
    wanted = {one.pk: seat_id for one in participants if (seat_id := seat_id_of(one))}
    seats = {seen.seat.pk: seen for seen in seen_of(seats_with_last_turn().filter(pk__in=wanted.values()), now)}
    return [Person(one, seats.get(wanted.get(one.pk, 0)), now) for one in participants]


def seat_id_of(participant: Participant) -> int | None:
    """The seat at which a participant plays or practises now."""
    if participant.stage not in PLAYED_FROM_A_SEAT or participant.deleted_at:
        return None
    return participant.seat_id if participant.stage == Stage.GAME else participant.practice_seat_id


def stuck_first(person: Person) -> tuple[Any, ...]:
    """Those who need the researcher most, of these those for whom it has lasted longest."""
    since = person.since or person.participant.created_at
    return (person.rank, since, person.participant.pk)


def by_label(person: Person) -> tuple[Any, ...]:
    """By label, P2 before P10."""
    label = person.participant.label
    digits = "".join(one for one in label if one in "0123456789")[:15]
    return (label.rstrip("0123456789"), int(digits or 0), label)


def by_table(person: Person) -> tuple[Any, ...]:
    """By table and firm; those without one last."""
    table = person.participant.table
    return (table is None, table.number if table else 0, person.participant.firm, person.participant.pk)


SORTS: Final[dict[str, tuple[str, Callable[[Person], tuple[Any, ...]]]]] = {
    "stuck": ("stuck first", stuck_first),
    "table": ("by table", by_table),
    "label": ("by label", by_label),
}

COUNTED: Final = (
    ("need help", (Rank.TROUBLE, Rank.AWAY, Rank.IDLE, Rank.LOST)),
    ("play", (Rank.PLAYS,)),
    ("wait", (Rank.WAITS,)),
    ("read or answer", (Rank.READS,)),
    ("invited", (Rank.INVITED,)),
    ("through", (Rank.OVER,)),
)


def counts_of(people: list[Person]) -> list[tuple[str, int]]:
    """How many need help, play, wait, and so on."""
    ranks = Counter(person.rank for person in people)
    return [(words, sum(ranks[rank] for rank in counted)) for words, counted in COUNTED]
