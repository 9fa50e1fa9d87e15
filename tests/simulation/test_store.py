"""The tables are a projection: what is saved is exactly what the decisions make of the scenario and the seed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, models, transaction
from django.test.utils import CaptureQueriesContext

from marketplace import models as trade
from marketplace.economy.money import micros
from marketplace.models import Firm, Transfer
from marketplace.rows import in_run, key_of
from simulation import control, runner
from simulation import models as play
from simulation.bulk import columns_of, insert_rows, rows_as_stored, upsert_rows
from simulation.engine.decision import Decision
from simulation.engine.scenario import scenario_from
from simulation.lease import holder_name
from simulation.models import Event, Run, Turn
from simulation.recorded import save_replay
from simulation.store import Decided, Projection, differences, rebuild
from simulation.traces import load_trace, replay_trace

pytestmark = pytest.mark.django_db

TRACES = Path(__file__).parent.parent / "traces"
TABLES = [
    trade.Firm, trade.Listing, trade.Offer, trade.Deal, trade.Invoice, trade.Message, trade.Batch,
    trade.ConsumerSale, trade.Transfer, play.Turn, play.DayEnd, play.Event,
]  # fmt: skip


def saved_trace(name: str) -> Run:
    """A trace replayed and saved."""
    return save_replay(replay_trace(load_trace(TRACES / f"{name}.json.gz")))


def played(days: int = 12, **scenario: Any) -> Run:
    """A run of scripts played to its end."""
    run = control.create_run(
        name="test", scenario=scenario_from({"days": days, **scenario}), seed=1, players={}, pace_seconds=0
    )
    holder = holder_name()
    game = runner.load_game(control.start_run(run.pk, holder))
    return runner.play(game, holder, seconds=float("inf"), commit_every=0)


@pytest.mark.parametrize("name", ["first-week", "corners", "evaluated-bust", "bust-90"])
def test_a_saved_trace_is_identical_to_its_replay(name: str) -> None:
    assert differences(saved_trace(name)) == []


def test_committing_after_every_step_and_once_at_the_end_give_the_same_rows() -> None:
    step_by_step = played()
    at_once = Run.objects.get(pk=control.create_run(
        name="test", scenario=scenario_from({"days": 12}), seed=1, players={}).pk)  # fmt: skip
    holder = holder_name()
    game = runner.load_game(control.start_run(at_once.pk, holder))
    runner.play(game, holder, seconds=float("inf"), commit_every=float("inf"))
    for model in TABLES:
        rows = [
            list(model._default_manager.filter(**in_run(run.pk)).order_by("pk").values_list(*own_columns(model)))
            for run in (step_by_step, at_once)
        ]
        assert rows[0] == rows[1], model


def own_columns(model: type[models.Model]) -> list[str]:
    """The columns that do not hold keys."""
    fields = model._meta.concrete_fields
    return [field.attname for field in fields if not (field.primary_key or field.is_relation)]


def test_every_table_of_a_saved_run_has_the_rows_its_world_has() -> None:
    replay = replay_trace(load_trace(TRACES / "busy-90.json.gz"))
    run = save_replay(replay)
    economy = replay.world.economy
    counts = {
        trade.Firm: 6, trade.Listing: len(economy.listings), trade.Offer: len(economy.offers),
        trade.Deal: len(economy.deals), trade.Invoice: len(economy.invoices), trade.Message: len(economy.messages),
        trade.Batch: len(economy.batches), trade.ConsumerSale: len(economy.sales),
        trade.Transfer: len(economy.transfers), play.Turn: 5019, play.DayEnd: 540, play.Event: len(economy.events),
    }  # fmt: skip
    assert {model: model._default_manager.filter(**in_run(run.pk)).count() for model in TABLES} == counts


def test_the_ledger_in_the_table_adds_up_to_every_firm_s_figures() -> None:
    run = saved_trace("first-week")
    for firm in run.firms.all():
        rows = Transfer.objects.filter(firm=firm).values_list("debit", "credit", "amount_micros")
        cash = sum(amount * ((debit == "cash") - (credit == "cash")) for debit, credit, amount in rows)
        assert cash == firm.cash_micros
        assert firm.net_income_micros == firm.equity_micros - firm.opening_equity_micros
    # The recorded result of the trace, to the cent.
    assert abs(Firm.objects.get(run=run, name="roaster_B").net_income_micros - micros(110.70)) <= micros(0.01)


def test_event_numbers_have_no_gaps() -> None:
    run = played()
    numbers = [key - key_of(run.pk, 0) for key in Event.objects.filter(**in_run(run.pk)).values_list("pk", flat=True)]
    assert sorted(numbers) == list(range(1, run.events + 1))


@pytest.mark.parametrize(
    ("table", "change", "expected"),
    [
        (Transfer, {"amount_micros": 1}, "transfer 5: amount_micros is 1, rebuilt"),
        (Turn, {"result": "{}"}, "turn 5: result is '{}', rebuilt"),
        (Event, {"data": {"price": 1}}, "event 5: data is {'price': 1}, rebuilt"),
        (Turn, {"minute": 7}, "turn 5: minute is 7, rebuilt 540"),
    ],
)
def test_a_row_changed_by_hand_is_found(table: type[models.Model], change: dict[str, Any], expected: str) -> None:
    run = saved_trace("first-week")
    table._default_manager.filter(pk=key_of(run.pk, 5)).update(**change)
    found = differences(run)
    assert any(line.startswith(expected) for line in found), found


def test_a_row_removed_or_added_by_hand_is_found() -> None:
    run = saved_trace("first-week")
    Transfer.objects.filter(pk=key_of(run.pk, 3)).delete()
    stray = Event.objects.get(pk=key_of(run.pk, 1))
    stray.pk = key_of(run.pk, 999_999)
    stray.save(force_insert=True)
    assert differences(run) == [
        "transfer 3: missing",
        "event 999999: does not belong to this run's decisions",
    ]


def test_a_changed_decision_is_found() -> None:
    run = saved_trace("first-week")
    posted = Turn.objects.filter(**in_run(run.pk), tool="post_listing").latest("pk")
    Turn.objects.filter(pk=posted.pk).update(arguments=json.dumps({**json.loads(posted.arguments), "asking_price": 7}))
    assert any(", rebuilt 7000000" in line for line in differences(run))


def test_decisions_that_do_not_fit_the_run_are_a_difference_and_no_crash() -> None:
    run = saved_trace("first-week")
    Turn.objects.filter(pk=key_of(run.pk, 2)).delete()
    assert "do not fit" in differences(run)[0]


def test_hostile_decisions_are_stored_and_replayed_to_the_letter() -> None:
    scenario = scenario_from({"days": 2})
    run = control.create_run(name="hostile", scenario=scenario, seed=0, players={})
    hostile = [
        Decision("post_listing", {"item_id": "green_coffee_kg", "qty": float("nan"), "asking_price": float("inf")}),
        Decision("send_message", {"recipient": "roaster_B", "title": "\0", "body": "\ud800"}, "why \0 \udfff not"),
        Decision("roast", {"green_item_id": "x" * 1_000_000, "qty_kg": 10**400}),
        Decision("\ud800" * 3, {"\ud800": {"deep": [1, [2, [3, [4]]]]}}),
        Decision("", {}),
        Decision("view_offers", {"direction": object()}),
    ]
    control.start_run(run.pk, "me")
    game = runner.load_game(run)
    step = game.world.open_step()
    assert step is not None
    outcomes = game.world.apply(dict(zip(step.firms, hostile, strict=True)))
    game.world.open_step()
    game.unsaved = [Decided(outcome, "hostile") for outcome in outcomes]
    runner.commit(game, "me", release=True)
    assert differences(Run.objects.get(pk=run.pk)) == []


def test_rows_are_written_in_bulk_and_not_one_by_one() -> None:
    replay = replay_trace(load_trace(TRACES / "first-week.json.gz"))
    with CaptureQueriesContext(
        connection,
    ) as queries:
        save_replay(replay)
    # One statement a table for its rows, two for the run's own row, the savepoint's two.
    assert len(queries) <= len(TABLES) + 6


@pytest.mark.parametrize("model", TABLES)
def test_rows_come_in_the_order_of_the_model_s_fields(model: type[models.Model]) -> None:
    replay = replay_trace(load_trace(TRACES / "busy-90.json.gz"))
    projection = Projection(1, replay.world, dict.fromkeys(replay.world.seats, "recorded"))
    decided = [Decided(outcome, "recorded") for outcome in replay.outcomes]
    rows = dict(projection.all_rows(decided))[model]
    assert {len(row) for row in rows} == {len(columns_of(model))}


def test_upserting_brings_a_row_up_to_date_and_inserting_refuses_it() -> None:
    run = saved_trace("corners")
    row = list(Event.objects.filter(pk=key_of(run.pk, 1)).values_list(*columns_of(Event)).get())
    row[columns_of(Event).index("data")] = '{"a": 1}'
    upsert_rows(Event, [row])
    assert Event.objects.get(pk=row[0]).data == {"a": 1}
    with pytest.raises(Exception, match=r"(?i)unique"), transaction.atomic():
        insert_rows(Event, [row])


def test_rows_as_stored_parses_json_columns_only() -> None:
    row = (1, 2, 3, 4, "price_set", None, None, '{"a": "1"}')
    assert next(iter(rows_as_stored(Event, [row]))) == (*row[:-1], {"a": "1"})


def test_an_unfinished_run_is_rebuilt_to_its_open_step() -> None:
    run = control.create_run(name="test", scenario=scenario_from({}), seed=3, players={})
    holder = holder_name()
    game = runner.load_game(control.start_run(run.pk, holder))
    for _ in range(40):
        game.play_step()
    runner.commit(game, holder, release=False)
    world, decided = rebuild(Run.objects.get(pk=run.pk))
    assert world.open_step() == game.world.open_step()
    assert world.economy.transfers == game.world.economy.transfers
    assert len(decided) == game.world.turns
