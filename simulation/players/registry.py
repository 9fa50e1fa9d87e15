"""The kinds of players there are, by name, and which firms they can play.

A new kind is a file beside this one and an entry below. Among the kinds of a role the first is its default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from marketplace.economy.economy import firm_names
from marketplace.economy.rules import ROLES
from simulation.engine.decision import shown
from simulation.engine.scenario import Scenario
from simulation.players.base import Player
from simulation.players.heuristic_farmer import HeuristicFarmer
from simulation.players.heuristic_retailer import HeuristicRetailer
from simulation.players.heuristic_roaster import HeuristicRoaster
from simulation.players.passive import Passive

MOST_NAMES_SHOWN = 8


class PlayersError(ValueError):
    """Players that cannot take their seats: `problems` names each firm or kind at fault and says what is allowed."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Kind(NamedTuple):
    """A kind of player. A script decides at once and in the process; any other kind is asked outside of it."""

    name: str
    roles: tuple[str, ...]
    make: Callable[[Scenario, str], Player]
    description: str
    is_script: bool = True


KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "heuristic_farmer",
            ("farmer",),
            lambda scenario, firm_name: HeuristicFarmer(scenario),
            "grows what sells, lists it in large lots, asks a markup that follows its stock",
        ),
        Kind(
            "heuristic_roaster",
            ("roaster",),
            lambda scenario, firm_name: HeuristicRoaster(),
            "HeuristicRoaster of the paper: one fixed list a day, fixed margins on assumed costs",
        ),
        Kind(
            "heuristic_retailer",
            ("retailer",),
            HeuristicRetailer,
            "prices by how full its store is, restocks daily, stocks up for the festival",
        ),
        Kind(
            "passive",
            ROLES,
            lambda scenario, firm_name: Passive(),
            "PassiveRoaster of the paper, for any role: always waits",
        ),
    )
}


def kinds_for(role: str) -> list[str]:
    """The names of the kinds that can play a role, the default first."""
    return [kind.name for kind in KINDS.values() if role in kind.roles]


def default_players(scenario: Scenario) -> dict[str, str]:
    """The default kind for every firm, in seating order."""
    return {name: kinds_for(role)[0] for name, role in firm_names(scenario)}


def check_players(scenario: Scenario, players: Mapping[str, str]) -> dict[str, str]:
    """A kind for every firm, in seating order: the one given, or else the default.

    Raises PlayersError, which names each firm that has no seat and each kind that does not exist or does not fit.
    """
    roles = dict(firm_names(scenario))
    problems = []
    for firm_name, kind in players.items():
        if firm_name not in roles:
            problems.append(f"there is no firm {shown(firm_name)}; the firms are {_some(roles)}")
        elif kind not in KINDS:
            allowed = _some(kinds_for(roles[firm_name]))
            problems.append(f"{firm_name}: there is no kind of player {shown(kind)}; it can be {allowed}")
        elif roles[firm_name] not in KINDS[kind].roles:
            allowed = _some(kinds_for(roles[firm_name]))
            problems.append(f"{firm_name}: {kind} cannot play a {roles[firm_name]}; it can be {allowed}")
    if problems:
        raise PlayersError(problems)
    return default_players(scenario) | dict(players)


def make_player(kind: str, scenario: Scenario, firm_name: str) -> Player:
    """A new player of a kind that `check_players` has passed, for one firm of the scenario."""
    return KINDS[kind].make(scenario, firm_name)


def _some(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) <= MOST_NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES_SHOWN])}, … ({len(names)} in all)"
