"""Kinds of players by name: defaults, and every way to ask for one that cannot be."""

from __future__ import annotations

import pytest

from marketplace.economy.rules import ROLES
from simulation.engine.scenario import Scenario
from simulation.players.registry import KINDS, PlayersError, check_players, default_players, kinds_for, make_player
from tests.players.playing import scenario


def test_each_role_has_its_script_first_and_can_be_passive() -> None:
    assert {role: kinds_for(role) for role in ROLES} == {
        "farmer": ["heuristic_farmer", "passive"],
        "roaster": ["heuristic_roaster", "passive"],
        "retailer": ["heuristic_retailer", "passive"],
    }


def test_the_players_given_are_kept_and_the_others_are_the_defaults_in_seating_order() -> None:
    players = check_players(Scenario(), {"retailer_B": "passive", "roaster_A": "passive"})
    assert list(players.items()) == [
        ("farmer_A", "heuristic_farmer"),
        ("farmer_B", "heuristic_farmer"),
        ("roaster_A", "passive"),
        ("roaster_B", "heuristic_roaster"),
        ("retailer_A", "heuristic_retailer"),
        ("retailer_B", "passive"),
    ]


def test_every_script_can_be_made_for_every_role_it_names() -> None:
    for kind in KINDS.values():
        for role in kind.roles:
            assert (kind.name in kinds_for(role)) == kind.is_script
            if kind.is_script:
                assert callable(make_player(kind.name, Scenario(), f"{role}_B").decide)


def test_two_players_of_a_kind_share_nothing() -> None:
    first, second = (make_player("heuristic_farmer", Scenario(), name) for name in ("farmer_A", "farmer_B"))
    assert first is not second
    assert not {id(value) for value in vars(first).values() if isinstance(value, dict | set | list)} & {
        id(value) for value in vars(second).values()
    }


@pytest.mark.parametrize(
    ("players", "problems"),
    [
        (
            {"roaster_C": "passive"},
            [
                "there is no firm 'roaster_C'; the firms are farmer_A, farmer_B, roaster_A, roaster_B, retailer_A, "
                "retailer_B"
            ],
        ),
        (
            {"roaster_A": "genius"},
            ["roaster_A: there is no kind of player 'genius'; it can be heuristic_roaster, passive"],
        ),
        (
            {"farmer_A": "heuristic_retailer"},
            ["farmer_A: heuristic_retailer cannot play a farmer; it can be heuristic_farmer, passive"],
        ),
        (
            {"roaster_A": "", "x\0y": "passive", "retailer_A": "heuristic_roaster"},
            [
                "roaster_A: there is no kind of player ''; it can be heuristic_roaster, passive",
                "there is no firm 'x\\x00y'; the firms are farmer_A, farmer_B, roaster_A, roaster_B, retailer_A, "
                "retailer_B",
                "retailer_A: heuristic_roaster cannot play a retailer; it can be heuristic_retailer, passive",
            ],
        ),
    ],
)
def test_players_that_cannot_be_are_named_with_what_could(players: dict[str, str], problems: list[str]) -> None:
    with pytest.raises(PlayersError) as error:
        check_players(Scenario(), players)
    assert error.value.problems == problems


def test_of_many_firms_the_error_names_a_few() -> None:
    crowd = scenario(roles={"retailer": {"firms": 300}})
    with pytest.raises(PlayersError) as error:
        check_players(crowd, {"nobody": "passive"})
    assert str(error.value).endswith("retailer_C, retailer_D, … (304 in all)")


def test_a_role_without_firms_needs_no_players() -> None:
    no_farmers = scenario(roles={"farmer": {"firms": 0}})
    assert set(default_players(no_farmers)) == {"roaster_A", "roaster_B", "retailer_A", "retailer_B"}
