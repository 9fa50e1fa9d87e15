"""What studies found: the result of each participant's game, with who decided how much of it.

Results of one treatment never meet those of the other, and practice is in none: every function here asks for the
treatment or takes it from its study, and reads it off the run, which keeps what was really played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from marketplace.economy.money import usd
from simulation.models import Run, Seat, Turn
from simulation.players.registry import HUMAN
from simulation.studies.models import Participant, Study


@dataclass(frozen=True, slots=True)
class Result:
    """How one participant's game ended, or stands."""

    participant: Participant
    seat: Seat
    run: Run
    seed: int
    net_income_usd: float
    revenue_usd: float
    decisions: dict[str, int]
    """Who decided → how many turns: `human`, `timeout`, `model`, or the script that stood in."""

    @property
    def is_final(self) -> bool:
        """Whether the run came to its own end; one that was cancelled or has failed gives no baseline."""
        return is_final(self.run)

    @property
    def others_decisions(self) -> int:
        """Turns that somebody or something else decided in the person's place."""
        return sum(count for by, count in self.decisions.items() if by != HUMAN)

    @property
    def is_own(self) -> bool:
        """Whether the person decided every turn: a baseline that is not must be marked."""
        return self.others_decisions == 0


def is_final(run: Run) -> bool:
    """Whether a run came to its own end."""
    ended = run.status == Run.Status.FINISHED
    return ended or (run.status == Run.Status.STOPPED and run.status_reason != "cancelled")


def results_of(study: Study) -> list[Result]:
    """The games of a study that were played under its treatment, by participant."""
    return results(played(study.information).filter(study=study))


def baselines(information: str, *, firm: str = "") -> list[Result]:
    """The finished games of one treatment over all studies, of one firm or of any."""
    participants = played(information)
    if firm:
        participants = participants.filter(seat__firm__name=firm)
    return [result for result in results(participants) if result.is_final]


def played(information: str) -> QuerySet[Participant]:
    """Participants whose game was played under one treatment. Practice runs are none."""
    return Participant.objects.filter(
        seat__isnull=False, seat__run__information=information, seat__run__is_practice=False
    )


def results(participants: QuerySet[Participant]) -> list[Result]:
    """The results of some participants' games. Two queries, however many."""
    rows = list(participants.select_related("study", "table", "seat__firm", "seat__run").order_by("pk"))
    games = [(one, one.seat) for one in rows if one.seat]
    decisions = decisions_by(seat.firm_id for _, seat in games)
    return [
        Result(
            participant=one,
            seat=seat,
            run=seat.run,
            seed=seat.run.seed,
            net_income_usd=usd(seat.firm.net_income_micros),
            revenue_usd=usd(seat.firm.revenue_micros),
            decisions=dict(decisions.get(seat.firm_id, Counter())),
        )
        for one, seat in games
    ]


def decisions_by(firm_ids: Iterable[int]) -> dict[int, Counter[str]]:
    """Firm's key → who decided how many of its turns. One query."""
    turns = Turn.objects.filter(firm_id__in=list(firm_ids)).order_by()
    found: dict[int, Counter[str]] = {}
    for firm_id, by, count in turns.values_list("firm_id", "decided_by").annotate(count=Count("pk")):
        found.setdefault(firm_id, Counter())[by] = count
    return found
