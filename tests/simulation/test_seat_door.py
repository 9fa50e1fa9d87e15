"""The one door: what a seat may know, and that nothing numbered or named by others is behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from marketplace.rows import KEYS_PER_RUN
from simulation import control
from simulation.engine import tools
from simulation.engine.decision import Decision
from simulation.engine.panels import LOOKS, panels_of
from simulation.engine.scenario import scenario_from
from simulation.models import Run, Seat, Turn
from simulation.players import briefing
from simulation.players.llm.settings import ModelSettings
from simulation.seats import door, verbs
from simulation.store import differences, rebuild
from tests.seat_play import answer_open_turn, decisions, move, play, seat_of, seated_run

pytestmark = pytest.mark.django_db

LOOK = Decision("view_listings", {})

STATE_KEYS = {
    "firm",
    "role",
    "label",
    "status",
    "status_text",
    "information",
    "is_practice",
    "days",
    "is_over",
    "is_taken",
    "turn",
    "turn_since",
    "time",
    "waiting_for",
    "waiting_since",
    "driver",
    "driver_since",
    "may_take_back",
    "queue",
    "queue_stopped",
    "wants_rationale",
    "nudge",
    "nudged_at",
    "last_turn",
}
TOLD_KEYS = {
    "turn",
    "minute",
    "day",
    "date",
    "clock",
    "tool",
    "arguments",
    "rationale",
    "accepted",
    "result",
    "decided_by",
}


def everything(seat: Seat) -> dict[str, Any]:
    """All that the door lets through."""
    return {
        "state": door.state(seat),
        "given": door.given(seat),
        "turn": door.turn_given(seat),
        "panels": door.panels(seat),
        "looks": door.looks(seat),
        "history": door.history(seat),
        "rules": door.rules(seat),
        "books": door.books(seat),
    }


def test_the_state_is_these_things_and_nothing_else() -> None:
    """Whoever adds one asks whether it may be known, and adds it here."""
    assert door.state(seat_of(seated_run("roaster_A"), "roaster_A")).keys() == STATE_KEYS


def test_a_past_turn_is_these_things_and_nothing_else() -> None:
    run = seated_run("roaster_A")
    answer_open_turn(run, "roaster_A", LOOK)
    seat = seat_of(run, "roaster_A")
    assert [turn.keys() for turn in (*door.history(seat), *door.looks(seat))] == [TOLD_KEYS, TOLD_KEYS]


def whole_numbers(value: Any) -> Iterator[int]:
    """Every whole number inside some data."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from whole_numbers(one)
    elif type(value) is int:
        yield value


def test_no_key_of_a_row_and_no_number_of_the_whole_run_is_behind_the_door() -> None:
    """A number that counts others' turns or events would tell how busy they are."""
    for _ in range(3):
        run = control.create_run(name="others", scenario=scenario_from({}), seed=0, players={})
    run = play(seated_run("roaster_A", "farmer_A", days=9), turns=60)
    seat = seat_of(run, "roaster_A")
    known = everything(seat)
    assert max(whole_numbers(known)) < KEYS_PER_RUN
    text = json.dumps(known)
    assert run.turns > 200, "no price or quantity should be the same by chance"
    for number in (run.turns, run.step, seat.firm_id):
        assert f" {number}," not in text
    assert "step" not in {key for part in known.values() for key in (part if isinstance(part, dict) else {})}


@pytest.mark.parametrize("by", list(Run.PausedBy))
def test_the_words_of_providers_and_budgets_never_reach_a_seat(by: Run.PausedBy) -> None:
    run = seated_run("roaster_A")
    control.pause_run(run.pk, "farmer_B: OpenRouter 402, key sk-or-123 has 0.31 USD left", by=by)
    seat = seat_of(run, "roaster_A")
    text = json.dumps(everything(seat))
    assert "OpenRouter" not in text
    assert "sk-or" not in text
    assert "farmer_B:" not in text
    assert door.state(seat)["status"] == "paused"
    assert "nothing is lost" in door.state(seat)["status_text"].lower()


def test_the_error_of_a_failed_run_and_the_runs_name_never_reach_a_seat() -> None:
    run = seated_run("roaster_A")
    Run.objects.filter(pk=run.pk).update(
        name="condition B: hidden shock", status="failed", status_reason="KeyError: 'secret'"
    )
    text = json.dumps(everything(seat_of(run, "roaster_A")))
    assert "secret" not in text
    assert "hidden shock" not in text
    assert "Something went wrong on our side" in text


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("cancelled", "The researcher has ended the run."),
        ("being deleted", "The researcher has ended the run."),
        ("roaster_A went bankrupt on day 3", "roaster_A went bankrupt on day 3"),
    ],
)
def test_of_a_stopped_run_a_seat_hears_only_what_all_firms_hear(reason: str, told: str) -> None:
    run = seated_run("farmer_A")
    Run.objects.filter(pk=run.pk).update(status="stopped", status_reason=reason)
    assert door.state(seat_of(run, "farmer_A"))["status_text"] == told


def test_who_has_answered_sees_who_is_still_waited_for_and_nobody_else_does() -> None:
    run = seated_run("roaster_A", "farmer_A", "retailer_B")
    answer_open_turn(run, "roaster_A")
    assert door.state(seat_of(run, "roaster_A"))["waiting_for"] == ["farmer_A", "retailer_B"]
    assert door.state(seat_of(run, "farmer_A"))["waiting_for"] == []
    answer_open_turn(run, "farmer_A")
    assert door.state(seat_of(run, "roaster_A"))["waiting_for"] == ["retailer_B"]


def test_the_open_turn_is_given_as_a_model_gets_it() -> None:
    run = seated_run("roaster_A")
    answer_open_turn(run, "roaster_A", LOOK)
    world, _ = rebuild(run)
    view = world.view("roaster_A")
    given = door.turn_given(seat_of(run, "roaster_A"))
    assert given is not None
    assert given["turn"] == 2
    assert (given["result"], given["observation"]) == (view.result, view.observation)
    verbs.answer(seat_of(run, "roaster_A"), 2, LOOK)
    assert door.turn_given(seat_of(run, "roaster_A")) is None


def test_between_wakes_the_newest_observation_of_the_day_stays_with_its_time() -> None:
    run = seated_run("roaster_A")
    morning = door.given(seat_of(run, "roaster_A"))
    assert morning["woken_by"] == ["a new day"]
    answer_open_turn(run, "roaster_A", LOOK)
    given = door.given(seat_of(run, "roaster_A"))
    if not given["woken_by"]:
        assert given["observation"] == morning["observation"]
        assert given["observed"]["clock"] == "09:00"
    assert given["result"]["ok"]


def test_a_seat_reads_its_own_past_newest_first_page_by_page() -> None:
    run = play(seated_run("roaster_A", "farmer_A", days=4))
    seat = seat_of(run, "roaster_A")
    own = list(Turn.objects.filter(run=run, firm=seat.firm).order_by("-pk").values_list("tool", "minute"))
    pages: list[Any] = []
    before = None
    while page := door.history(seat, before=before, limit=5):
        pages += page
        before = page[-1]["turn"]
    assert [(turn["tool"], turn["minute"]) for turn in pages] == own
    assert [turn["turn"] for turn in pages] == list(range(len(own), 0, -1))
    of_a_day = door.history(seat, day=2)
    assert of_a_day
    assert {turn["day"] for turn in of_a_day} == {2}


def test_books_are_there_only_when_nothing_can_be_done_with_them_any_more() -> None:
    run = seated_run("roaster_A", days=2)
    assert door.books(seat_of(run, "roaster_A")) == {}
    play(run)
    books = door.books(seat_of(run, "roaster_A"))
    assert len(books["net_income_by_day"]) == 2


# Assisted seats.


def test_a_seat_at_parity_gets_no_panel_whatever_the_row_holds() -> None:
    run = seated_run("roaster_A")
    Seat.objects.filter(run=run).update(panels='{"view_listings": {}}')
    assert door.panels(seat_of(run, "roaster_A")) == {}


def test_the_panels_of_an_assisted_seat_are_what_its_tools_would_return_now() -> None:
    run = play(seated_run("roaster_A", "farmer_A", "retailer_A", days=8, information="assisted"), turns=40)
    world, _ = rebuild(run)
    for name in ("roaster_A", "farmer_A", "retailer_A"):
        firm = world.seats[name].firm
        panels = door.panels(seat_of(run, name))
        letters = panels.pop("letters")
        expected = {
            look: tools.call(world.economy, firm, look, {}) for look in LOOKS if look in tools.tools_of(firm.role)
        }
        assert panels == json.loads(json.dumps(expected))
        assert [letter["message_id"] for letter in letters] == [one.id for one in reversed(firm.mail)]
        assert ("view_consumer_sales" in panels) == (name == "retailer_A")


def test_looking_for_free_changes_nothing_of_the_world() -> None:
    runs = [play(seated_run("roaster_A", "retailer_A", days=8, information=kind)) for kind in ("parity", "assisted")]
    assert decisions(runs[0]) == decisions(runs[1])
    assert differences(runs[1]) == []
    assert seat_of(runs[1], "roaster_A").panels


def test_a_letter_read_on_a_panel_stays_unread_for_the_tools() -> None:
    run = seated_run("roaster_A", "farmer_A", information="assisted")
    letter = Decision("send_message", {"recipient": "roaster_A", "title": "Green", "body": "30 kg at 3 USD?"})
    answer_open_turn(run, "farmer_A", letter)
    answer_open_turn(run, "roaster_A", LOOK)
    panels = door.panels(seat_of(run, "roaster_A"))
    assert panels["letters"][0]["body"] == "30 kg at 3 USD?"
    assert panels["view_messages"]["messages"][0]["unread"]
    world, _ = rebuild(run)
    firm = world.seats["roaster_A"].firm
    before = (dict(firm.unread), len(world.economy.events), len(world.economy.transfers))
    panels_of(world.economy, firm)
    assert (dict(firm.unread), len(world.economy.events), len(world.economy.transfers)) == before


# The briefing.


@pytest.mark.parametrize("firm", ["farmer_B", "roaster_A", "retailer_A"])
def test_a_persons_briefing_is_the_models_prompt_but_for_how_to_answer(firm: str) -> None:
    scenario = scenario_from({"days": 40, "late_fee": 0.002, "firms": {firm: {"cash": 5000}}})
    run = seated_run(firm, scenario=scenario)
    told = door.rules(seat_of(run, firm))["briefing"]
    prompt = briefing.system_prompt(scenario, firm, briefing.Objective(), memory_tools=False)
    shared, _, answering = prompt.partition("\n\n## How you answer\n")
    assert told == shared
    assert answering
    by_person = briefing.person_briefing(scenario, firm, briefing.Objective(), is_assisted=False, wants_rationale=False)
    assert by_person.partition("\n\n## How you play\n")[0] == shared


def test_a_persons_objective_and_tools_are_those_of_the_model_that_could_stand_in() -> None:
    objective = briefing.Objective(kind="text", text="Sell as much as you can.")
    model = ModelSettings(model="openai/gpt-5.5", objective=objective)
    run = seated_run("roaster_A", models={"roaster_A": model})
    rules = door.rules(seat_of(run, "roaster_A"))
    assert "Sell as much as you can." in rules["briefing"]
    scenario = scenario_from({"days": 3})
    assert rules["tools"] == tools.schemas_for("roaster_A", "roaster", scenario, rules["firms"])


def test_a_draft_a_finished_and_a_bankrupt_seat_can_be_shown() -> None:
    draft = control.create_run(name="x", scenario=scenario_from({}), seed=0, players={"roaster_A": "human"})
    assert door.state(seat_of(draft, "roaster_A"))["status"] == "draft"
    everything(seat_of(draft, "roaster_A"))
    finished = play(seated_run("roaster_A", days=1))
    assert door.state(seat_of(finished, "roaster_A"))["status"] == "finished"
    poor = scenario_from({"days": 4, "firms": {"farmer_A": {"cash": 15}}})
    run = seated_run("farmer_A", "roaster_A", scenario=poor)
    assert verbs.open_turn(seat_of(run, "farmer_A")) is None, "it could not pay its first rent"
    state = door.state(seat_of(run, "farmer_A"))
    assert (state["status"], state["is_over"]) == ("bankrupt", True)
    assert state["status_text"].endswith("The run goes on without it.")
    assert door.books(seat_of(run, "farmer_A"))["bankrupt_day"] == 0
    while run.status == Run.Status.RUNNING:
        answer_open_turn(run, "roaster_A")
    assert not door.status_text(seat_of(move(run), "farmer_A")).endswith("without it.")
    everything(seat_of(move(run), "farmer_A"))
