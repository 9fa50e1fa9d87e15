"""What doing nothing costs: the net income of the evaluated firm in a market where every firm waits, day by day.

It is no estimate. The engine plays the run's own scenario and seed with passive firms, in memory and in some hundredths
of a second.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import ValidationError

from marketplace.economy.economy import firm_names
from simulation.engine.decision import WAIT
from simulation.engine.scenario import Scenario
from simulation.engine.world import RULES_VERSION, World
from simulation.models import Run

# A day of a firm takes about 50 µs. Beyond this the page would wait for a line that nobody asked for.
MOST_FIRM_DAYS: Final = 8_000


class Passive(NamedTuple):
    """Days, and the net income since the run began at each day's end in micro-dollars."""

    days: tuple[int, ...]
    net_income_micros: tuple[int, ...]


UNKNOWN: Final = Passive((), ())


def passive_of(run: Run) -> Passive:
    """The line of the evaluated firm; empty where there is none, the rules were others, or it takes too long."""
    if not run.evaluated or run.rules_version != RULES_VERSION:
        return UNKNOWN
    return played(json.dumps(run.scenario, sort_keys=True), run.seed, run.evaluated)


@lru_cache(maxsize=64)
def played(scenario_text: str, seed: int, name: str) -> Passive:
    """Plays a scenario to its end with firms that wait."""
    try:
        scenario = Scenario.model_validate_json(scenario_text)
    except ValidationError:
        return UNKNOWN
    seats = {firm: seat for seat, (firm, _) in enumerate(firm_names(scenario), 1)}
    if name not in seats or len(seats) * scenario.days > MOST_FIRM_DAYS:
        return UNKNOWN
    world = World(scenario, seed)
    while step := world.open_step():
        world.apply(dict.fromkeys(step.firms, WAIT))
    own = [end for end in world.day_ends if end.seat == seats[name]]
    return Passive(tuple(end.day for end in own), tuple(end.net_income for end in own))
