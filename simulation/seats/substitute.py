"""A script that stands in at a seat: made anew for every turn, and shown again what it was given since it took over.

So it needs no memory between tasks, and any worker can ask it.
"""

from __future__ import annotations

import json

from simulation.engine.decision import Decision
from simulation.engine.observation import View
from simulation.models import Ask, Seat
from simulation.players.registry import make_player
from simulation.seats.turns import asks_of
from simulation.store import scenario_of


def stand_in_decision(seat: Seat, ask: Ask, script: str) -> Decision:
    """What the script decides at this turn, having played every turn since it last took the seat over."""
    player = make_player(script, scenario_of(seat.run), seat.firm.name)
    before = asks_of(seat.firm_id).filter(pk__lt=ask.pk).order_by("-pk")
    others = before.exclude(decided_by=script).values_list("pk", flat=True)[:1]
    own = asks_of(seat.firm_id).filter(pk__gt=others[0] if others else 0, pk__lt=ask.pk).order_by("pk")
    for earlier in own:
        player.decide(_view(seat, earlier))
    return player.decide(_view(seat, ask))


def _view(seat: Seat, ask: Ask) -> View:
    given = json.loads(ask.given)
    return View(seat.firm.name, seat.firm.role, ask.minute, given["result"], given["observation"])
