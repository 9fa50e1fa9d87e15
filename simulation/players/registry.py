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
    """A kind of player. A script, made by `make`, decides at once and in the process; others are asked outside."""

    name: str
    roles: tuple[str, ...]
    make: Callable[[Scenario, str], Player] | None
    description: str

    @property
    def is_script(self) -> bool:
        """Whether it decides in the process."""
        return self.make is not None


MODEL, HUMAN, REMOTE = "model", "human", "remote"
SEATED = (HUMAN, REMOTE)

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
        Kind(MODEL, ROLES, None, "a language model, asked through litellm"),
        Kind(HUMAN, ROLES, None, "a person at a browser, by a link to the seat"),
        Kind(REMOTE, ROLES, None, "a program over HTTP, by the seat's token"),
    )
}


def kinds_for(role: str) -> list[str]:
    """The names of the scripts that can play a role, the default first. Other kinds need more than a name."""
    return [kind.name for kind in KINDS.values() if role in kind.roles and kind.is_script]


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


def scripts_for(scenario: Scenario, players: Mapping[str, str]) -> dict[str, Player]:
    """A new player for each firm that a script plays, of kinds that `check_players` has passed."""
    return {name: make_player(kind, scenario, name) for name, kind in players.items() if KINDS[kind].is_script}


def make_player(kind: str, scenario: Scenario, firm_name: str) -> Player:
    """A new script of a kind that is one, for one firm of the scenario."""
    make = KINDS[kind].make
    assert make is not None, f"{kind} is no script"
    return make(scenario, firm_name)


def _some(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) <= MOST_NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES_SHOWN])}, … ({len(names)} in all)"
