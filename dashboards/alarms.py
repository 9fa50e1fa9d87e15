"""What firms did wrong, by kind: for their cards, now or on a day, and to find the days on which it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from django.db.models import Count

from dashboards.words import number_text
from marketplace.models import Firm
from marketplace.rows import in_run
from simulation.models import Ask, Run, Turn

REFUSED = "refused"
"""Calls that the rules turned down: of every kind of player, counted by the engine."""

Flags = Mapping[str, int]
NO_FLAGS: Flags = {}


def flags_by_firm(run: Run, until: int | None = None) -> dict[int, Flags]:
    """How often each kind of misbehaviour was flagged, by the firm's key, up to the evening of a day if one is given.

    One query; none where no model plays.
    """
    if not run.model_settings:
        return {}
    flagged = Ask.objects.filter(**in_run(run.pk)).exclude(flags=[]).order_by()
    if until is not None:
        flagged = flagged.filter(day__lte=until)
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


def alarms_on(run: Run, firms: Sequence[Firm], day: int) -> dict[str, str]:
    """All of some firms' by name, as they stood on the evening of a day. One query; two where models play."""
    flags, refused = flags_by_firm(run, day), refused_by_firm(run, day)
    return {firm.name: alarms_text(flags.get(firm.pk, NO_FLAGS), refused.get(firm.pk, 0)) for firm in firms}


def refused_by_firm(run: Run, until: int) -> dict[int, int]:
    """How many calls the rules turned down up to the evening of a day, by the firm's key. One query."""
    refused = Turn.objects.filter(**in_run(run.pk), day__lte=until, accepted=False).order_by()
    return dict(refused.values_list("firm_id").annotate(Count("pk")))


def alarms_text(flags: Flags, refused_calls: int) -> str:
    """All of a firm's in one line, the most frequent first: no tool call 3 · several calls 1 · refused 12."""
    counts = Counter({**flags, REFUSED: refused_calls})
    return " · ".join(f"{kind} {number_text(count)}" for kind, count in counts.most_common() if count)
