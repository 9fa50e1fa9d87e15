"""What scripts would have made of a seat: the same scenario and seed, played in memory with a script in its place.

The other firms are played as they were if scripts played them; the others' places are taken by their roles' default
scripts, and the answer says so. Nothing here is stored, and nothing is told before the run is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from marketplace.economy.money import usd
from simulation.engine.scenario import Scenario
from simulation.engine.world import World
from simulation.models import Run, Seat
from simulation.players.briefing import roles_by_firm
from simulation.players.registry import KINDS, default_players, kinds_for, scripts_for
from simulation.store import json_text, scenario_of

PASSIVE = "passive"
MOST_FIRM_DAYS = 20_000


class Played(NamedTuple):
    """How a script did in the seat: its kind, net income in USD evening by evening, and at the end."""

    kind: str
    net_income: float
    net_income_by_day: tuple[tuple[int, float], ...]
    bankrupt_day: int | None


class Comparison(NamedTuple):
    """The scripts in the seat, and the firms whose own players were replaced by scripts for it."""

    played: tuple[Played, ...]
    replaced: tuple[str, ...]


class NotCompared(Exception):
    """No comparison is made; says why."""


def scripts_in_the_seat(seat: Seat) -> Comparison:
    """The role's default script and the passive one in the seat. Raises NotCompared.

    While the run goes on, or may after a fault, it would show its future; a run of very many firms and days would take
    too long to play.
    """
    if not seat.run.is_closed:
        raise NotCompared("The comparison is made when the run is over.")
    if len(seat.run.players) * seat.run.days > MOST_FIRM_DAYS:
        raise NotCompared("This run is too large to be played again here with scripts in your place.")
    key = (json_text(seat.run.scenario), seat.run.seed, tuple(seat.run.players.items()))
    return _compared(_Played(key, seat.firm.name, seat.run))


@dataclass(frozen=True)
class _Played:
    """A seat of a run that is over; seats with the same scenario, seed and players share one comparison."""

    key: tuple[Any, ...]
    firm: str
    run: Run = field(compare=False)


@lru_cache(maxsize=64)
def _compared(seat: _Played) -> Comparison:
    scenario = scenario_of(seat.run)
    scripts = scripts_among(seat.run.players)
    kinds = {**default_players(scenario), **scripts}
    own = kinds_for(roles_by_firm(scenario)[seat.firm])[0]
    played = tuple(play(scenario, seat.run.seed, {**kinds, seat.firm: kind}, seat.firm) for kind in (own, PASSIVE))
    replaced = tuple(name for name in kinds if name != seat.firm and name not in scripts)
    return Comparison(played, replaced)


def scripts_among(players: Mapping[str, str]) -> dict[str, str]:
    """The firms that scripts play, with their kinds."""
    return {name: kind for name, kind in players.items() if KINDS[kind].is_script}


def play(scenario: Scenario, seed: int, kinds: Mapping[str, str], firm: str) -> Played:
    """Plays a whole run of scripts and returns how one firm did."""
    world = World(scenario, seed)
    players = scripts_for(scenario, kinds)
    while step := world.open_step():
        world.apply({name: players[name].decide(world.view(name)) for name in step.firms})
    books = world.seats[firm].firm
    by_day = tuple((end.day, usd(end.net_income)) for end in world.day_ends if end.seat == books.seat)
    return Played(kinds[firm], usd(books.score_micros), by_day, books.bankrupt_day)
