"""What a script, or anybody else of whom nothing was kept, was given at its turns: seen again by replaying the run.

A replay of a year takes half a second, so what came of it is kept for a while.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from threading import Lock
from typing import Any, Final

from simulation.engine.clock import MINUTES_PER_DAY
from simulation.engine.world import World
from simulation.models import Run
from simulation.players.llm.conversation import Given
from simulation.store import OtherRules, rebuild

DAYS_KEPT: Final = 64


class NotDerivable(Exception):
    """The run cannot be replayed by this version; says why."""


class _Enough(Exception):
    """The replay has come to where it was wanted."""


class _Shelf:
    """The latest days that somebody looked at."""

    def __init__(self) -> None:
        self.days: OrderedDict[tuple[Any, ...], dict[int, Given]] = OrderedDict()
        self.lock = Lock()

    def get(self, key: tuple[Any, ...]) -> dict[int, Given] | None:
        with self.lock:
            if key in self.days:
                self.days.move_to_end(key)
            return self.days.get(key)

    def put(self, key: tuple[Any, ...], day: dict[int, Given]) -> None:
        with self.lock:
            self.days[key] = day
            while len(self.days) > DAYS_KEPT:
                self.days.popitem(last=False)


_shelf = _Shelf()


def given_by_replay(run: Run, firm_name: str, day: int) -> dict[int, Given]:
    """What a firm was given at each of its turns of a day, by the number of the step. Raises NotDerivable."""
    turns = run.turns if day >= run.day else 0  # a day that is over stays as it is
    key = (run.pk, run.created_at, firm_name, day, turns)
    found = _shelf.get(key)
    if found is None:
        found = _replayed(run, firm_name, day)
        _shelf.put(key, found)
    return found


def _replayed(run: Run, firm_name: str, day: int) -> dict[int, Given]:
    seen: dict[int, Given] = {}

    def look(world: World) -> None:
        step = world.open_step()
        if step is None or step.minute >= (day + 1) * MINUTES_PER_DAY:
            raise _Enough
        if step.minute >= day * MINUTES_PER_DAY and firm_name in step.firms:
            view = world.view(firm_name)
            # As text and back: what is kept must not change with the world as it goes on.
            seen[step.number] = Given(*json.loads(json.dumps([view.result, view.observation])))

    try:
        rebuild(run, look)
    except _Enough:
        pass
    except OtherRules as error:
        raise NotDerivable(str(error)) from None
    except (ValueError, KeyError) as error:
        raise NotDerivable(f"the stored decisions cannot be replayed: {error}") from None
    return seen
