"""What models did wrong, counted by kind: for the cards of firms, and to find the days on which it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from django.db.models import Count

from dashboards.words import number_text
from marketplace.models import Firm
from marketplace.rows import in_run
from simulation.models import Ask, Run

REFUSED = "refused"
"""Calls that the rules turned down: of every kind of player, counted by the engine."""

Flags = Mapping[str, int]
NO_FLAGS: Flags = {}


def flags_by_firm(run: Run) -> dict[int, Flags]:
    """How often each kind of misbehaviour was flagged, by the firm's key. One query; none where no model plays."""
    if not run.model_settings:
        return {}
    flagged = Ask.objects.filter(**in_run(run.pk)).exclude(flags=[]).order_by()
    counted: dict[int, Counter[str]] = {}
    for firm_id, flags, turns in flagged.values_list("firm_id", "flags").annotate(turns=Count("pk")):
        counted.setdefault(firm_id, Counter()).update(dict.fromkeys(map(str, flags), turns))
    return dict(counted)


def flags_by_day(run: Run, firm: Firm) -> dict[int, Flags]:
    """The same of one firm, by day. One query; none where no model plays it."""
    if firm.name not in run.model_settings:
        return {}
    flagged = Ask.objects.filter(**in_run(run.pk), firm=firm).exclude(flags=[]).order_by("pk")
    counted: dict[int, Counter[str]] = {}
    for day, flags in flagged.values_list("day", "flags"):
        counted.setdefault(day, Counter()).update(map(str, flags))
    return dict(counted)


def together(flags: Iterable[Flags]) -> Flags:
    """The sums of some counts."""
    return sum((Counter(each) for each in flags), start=Counter[str]())


def alarms_text(firm: Firm, flags: Flags) -> str:
    """All of a firm's in one line, the most frequent first: no tool call 3 · several calls 1 · refused 12."""
    counts = Counter({**flags, REFUSED: firm.refused_calls})
    return " · ".join(f"{kind} {number_text(count)}" for kind, count in counts.most_common() if count)
