"""Where a run stands, with all that is kept of its models: who is waited for and since when, and what they cost.

A run that scripts alone play costs no query here.
"""

from __future__ import annotations

from typing import Any, Final

from dashboards.spend_words import spend_state
from dashboards.state import state_of, with_player
from marketplace.rows import in_run, key_of
from simulation.models import Ask, Run

TROUBLE_CHARACTERS: Final = 400


def live_state_of(run: Run) -> dict[str, Any]:
    """The state of a run for its own page. Two queries where a model plays, none elsewhere."""
    state = state_of(run)
    if run.model_settings:
        state["spend"] = spend_state(run)
        if run.status == Run.Status.RUNNING:
            state["waiting"] = models_waited_for(run)
    return state


def models_waited_for(run: Run) -> list[dict[str, Any]]:
    """The turns that models have yet to answer, the longest waiting first, and what trouble they have. One query."""
    asks = Ask.objects.filter(**in_run(run.pk), pk__gt=key_of(run.pk, run.turns), answered_at=None)
    fields = ("firm__name", "created_at", "trouble", "not_before")
    return [
        {
            "who": with_player(run, name),
            "since": created_at.isoformat(),
            "trouble": trouble[:TROUBLE_CHARACTERS],
            "again": not_before.isoformat() if trouble and not_before else None,
        }
        for name, created_at, trouble, not_before in asks.order_by("created_at", "pk").values_list(*fields)
    ]
