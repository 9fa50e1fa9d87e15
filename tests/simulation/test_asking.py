"""Language models at the table, over real HTTP through litellm, without a worker in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from datetime import timedelta
from email.utils import format_datetime
from io import StringIO
from itertools import count, pairwise
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from dashboards.sent import sent_with
from simulation import asking, control, runner, talks, tasks
from simulation.engine.scenario import scenario_from
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run, Turn
from simulation.players.llm import provider
from simulation.players.llm.answer import MISSHAPEN, NO_TOOL_CALL, NOT_JSON
from simulation.players.llm.conversation import Compaction, Message
from simulation.players.llm.prices import Usage
from simulation.players.llm.provider import Reply, request
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.store import differences
from tests.model_server.running import RunningServer, running_model_server

pytestmark = pytest.mark.django_db
_seats = count(1)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[RunningServer]:
    """One model server for the module."""
    with running_model_server() as server:
        yield server


@pytest.fixture
def server(shared_server: RunningServer) -> RunningServer:
    """It, with no faults set."""
    shared_server.configure(faults=[])
    return shared_server


def model(server: RunningServer, name: str = "policy-heuristic_roaster", **more: Any) -> ModelSettings:
    """A seat at the model server, under a name of its own: the server tells conversations apart by it."""
    return ModelSettings.model_validate(
        {"model": f"openai/{name}?run={next(_seats)}", "base_url": server.api_base, **more}
    )


def started(models: dict[str, ModelSettings], days: int = 3, limits: Limits | None = None, **players: str) -> Run:
    """A run with models at some seats, started."""
    run = control.create_run(
        name="models",
        scenario=scenario_from({"days": days}),
        seed=3,
        players=players,
        models=models,
        limits=limits or Limits(),
    )
    return control.start_run(run.pk)


def play(run: Run, rounds: int = 400) -> Run:
    """Moves a run and asks its models, as the workers do, until it rests."""
    for _ in range(rounds):
        runner.advance(run.pk, seconds=60)
        run.refresh_from_db()
        waiting = list(asking.waiting_asks(run))
        if run.status != Run.Status.RUNNING or not waiting:
            break
        asking.waiting_asks(run).update(not_before=None)  # a test does not wait for a pause to pass
        asking.ask_models(asking.asks_of([ask.pk for ask in waiting]))
    run.refresh_from_db()
    return run


def decisions(run: Run) -> list[tuple[Any, ...]]:
    """What was decided and answered, in order."""
    return list(Turn.objects.filter(run=run).order_by("pk").values_list("minute", "tool", "arguments", "result"))


def test_models_that_play_the_scripts_policies_give_the_scripts_books(server: RunningServer) -> None:
    names = {"farmer": "heuristic_farmer", "roaster": "heuristic_roaster", "retailer": "heuristic_retailer"}
    models = {
        f"{role}_{letter}": model(server, f"policy-{policy}") for role, policy in names.items() for letter in "AB"
    }
    by_models, by_scripts = play(started(models)), play(started({}))
    assert by_models.status == by_scripts.status == Run.Status.FINISHED
    assert decisions(by_models) == decisions(by_scripts)
    assert differences(by_models) == []
    assert set(Turn.objects.filter(run=by_models).values_list("decided_by", flat=True)) == {"model"}


def test_every_call_is_kept_with_its_figures(server: RunningServer) -> None:
    run = play(started({"roaster_A": model(server, prices={"input": 2, "output": 10})}, days=1))
    calls = list(Call.objects.filter(run=run))
    assert len(calls) == Turn.objects.filter(run=run, firm__name="roaster_A").count()
    for call in calls:
        assert (call.outcome, call.attempt) == ("used", 1)
        assert call.model_asked.startswith("openai/policy-heuristic_roaster")
        assert call.cost_micros == call.input_tokens * 2 + call.output_tokens * 10
        assert json.loads(call.raw)["choices"]


def test_the_beginning_of_a_conversation_stays_the_same_to_the_byte(server: RunningServer) -> None:
    run = play(started({"roaster_A": model(server)}, days=2))
    # The server counts what it has seen before as cached: all but the newest messages of a request.
    tokens = list(Call.objects.filter(run=run).order_by("pk").values_list("input_tokens", "cached_tokens"))
    assert all(cached > 0 for _, cached in tokens[1:])
    assert all(now_cached >= before * 0.9 for (before, _), (_, now_cached) in pairwise(tokens))


MISBEHAVIOUR = [
    ("no_call", "no tool call"),
    ("several_calls", "several calls"),
    ("unknown_tool", "unknown tool"),
    ("malformed_arguments", "arguments not JSON"),
    ("refusal", "no tool call"),
    ("length", "cut at the token limit"),
    ("null_bytes", "characters cleaned"),
    ("lone_surrogates", "characters cleaned"),
    ("wrong_types", None),
]


@pytest.mark.parametrize(("kind", "flag"), MISBEHAVIOUR)
def test_a_model_that_misbehaves_is_flagged_and_the_run_goes_on(
    server: RunningServer, kind: str, flag: str | None
) -> None:
    server.configure(faults=[{"kind": kind}])
    run = play(started({"roaster_A": model(server)}, days=2))
    assert run.status == Run.Status.FINISHED
    flags = [flag for flags in Ask.objects.filter(run=run).values_list("flags", flat=True) for flag in flags]
    assert flag is None or flag in flags
    assert differences(run) == []


@pytest.mark.parametrize("kind", ["content_in_parts", "arguments_in_list"])
def test_a_model_that_litellm_cannot_read_is_asked_once_more_at_once_and_then_makes_no_call(
    server: RunningServer, kind: str
) -> None:
    server.configure(faults=[{"kind": kind, "calls": [1, 2, 3]}])
    run = started({"roaster_A": model(server, prices={"input": 1, "output": 1})}, days=2)
    runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    assert asking.ask_models(asking.asks_of([asking.waiting_asks(run).get().pk])) == run.pk
    assert play(run).status == Run.Status.FINISHED
    first, second, *others = Ask.objects.filter(run=run).order_by("pk")
    assert (first.flags, first.attempts, first.tool) == ([MISSHAPEN, NO_TOOL_CALL], 2, "")
    assert (second.flags, second.attempts) == ([MISSHAPEN], 2)
    assert not any(ask.flags for ask in others)
    failed = Call.objects.filter(run=run, outcome="failed")
    assert [call.most_micros is not None and call.most_micros > 0 for call in failed] == [True] * 3
    assert differences(run) == []


@pytest.mark.parametrize("kind", ["rate_limit", "error_500", "error_503", "error_529", "cut", "no_choices"])
def test_passing_trouble_is_tried_again_and_costs_the_run_nothing(server: RunningServer, kind: str) -> None:
    server.configure(faults=[{"kind": kind, "calls": [1, 3], "retry_after": 0}])
    run = play(started({"roaster_A": model(server)}, days=1))
    assert run.status == Run.Status.FINISHED
    assert Call.objects.filter(run=run, outcome="failed").exists()
    server.configure(faults=[])
    assert decisions(run) == decisions(play(started({}, days=1)))


@pytest.mark.parametrize(
    ("kind", "words"), [("invalid_key", "AuthenticationError"), ("unknown_model", "NotFound"), ("quota", "exceeded")]
)
def test_trouble_that_no_waiting_cures_pauses_at_once_and_a_person_can_resume(
    server: RunningServer, kind: str, words: str
) -> None:
    server.configure(faults=[{"kind": kind}])
    run = play(started({"roaster_A": model(server)}, days=1))
    assert (run.status, run.paused_by, run.resume_at) == (Run.Status.PAUSED, "provider", None)
    assert words in run.status_reason
    assert Call.objects.filter(run=run).count() == 1
    server.configure(faults=[])
    control.resume_run(run.pk)
    assert play(run).status == Run.Status.FINISHED


@pytest.mark.parametrize("status", [402, 403, 405, 410, 413, 422])
def test_a_provider_that_turns_a_request_away_for_good_is_not_asked_again(server: RunningServer, status: int) -> None:
    server.configure(faults=[{"kind": "status", "status": status}])
    run = play(started({"roaster_A": model(server)}, days=1))
    assert (run.status, run.paused_by, run.resume_at) == (Run.Status.PAUSED, "provider", None)
    assert Call.objects.get(run=run).most_micros == 0


def test_the_words_of_trouble_fit_the_tables() -> None:
    trouble = provider._trouble_of(RuntimeError("Half a letter: \ud800, a null: \0."), ModelSettings(model="any"))
    assert str(trouble) == "RuntimeError: Half a letter: ?, a null: \N{REPLACEMENT CHARACTER}."


@pytest.mark.parametrize("status", [409, 425, 501])
def test_a_provider_that_is_in_the_way_of_itself_is_asked_again(server: RunningServer, status: int) -> None:
    server.configure(faults=[{"kind": "status", "status": status, "calls": [1]}])
    assert play(started({"roaster_A": model(server, "policy-passive")}, days=1)).status == Run.Status.FINISHED


@pytest.mark.parametrize("name", ["openai/gpt-5.5", "gemini/gemini-3.1-pro-preview", "anthropic/claude-sonnet-4-6"])
def test_a_key_that_is_not_there_pauses_at_once(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    for variable in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    run = play(started({"roaster_A": ModelSettings(model=name)}, days=1), rounds=1)
    assert (run.status, run.paused_by, run.resume_at) == (Run.Status.PAUSED, "provider", None)


def test_a_part_that_is_not_installed_pauses_at_once(server: RunningServer) -> None:
    run = play(started({"roaster_A": ModelSettings(model="vllm/qwen3", base_url=server.api_base)}, days=1), rounds=1)
    assert (run.status, run.paused_by, run.resume_at) == (Run.Status.PAUSED, "provider", None)
    assert "No module named 'vllm'" in run.status_reason


def rest_after(server: RunningServer, retry_after: int | str, limits: Limits | None = None) -> tuple[Run, float]:
    """How long a turn rests after a 429, and its run."""
    server.configure(faults=[{"kind": "rate_limit", "retry_after": retry_after}])
    run = play(started({"roaster_A": model(server)}, days=1, limits=limits), rounds=1)
    ask = Ask.objects.get(run=run)
    assert ask.not_before is not None
    assert ask.trouble_since is not None
    return run, (ask.not_before - ask.trouble_since).total_seconds()


def test_a_turn_rests_as_long_as_the_provider_says_in_whatever_form(server: RunningServer) -> None:
    in_an_hour = format_datetime(timezone.now() + timedelta(hours=1), usegmt=True)
    patient = Limits(retry_seconds=7200)
    for said, least, most in ((7, 7, 7), (in_an_hour, 3500, 3600), (0, 0.7, 1.3), (-5, 0.7, 1.3), ("soon", 0.7, 1.3)):
        run, seconds = rest_after(server, said, patient)
        assert run.status == Run.Status.RUNNING
        assert least <= seconds <= most, said


def test_a_rest_that_outlasts_the_patience_of_the_run_is_a_pause(server: RunningServer) -> None:
    run, seconds = rest_after(server, 40_000)
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "provider")
    assert run.resume_at is not None
    assert run.resume_at - run.status_since > timedelta(seconds=seconds - 60)


def exchange_of(run: Run) -> asking.Exchange:
    """A run's one waiting turn, claimed."""
    runner.advance(run.pk, seconds=60)
    [exchange] = asking.claim(asking.exchanges_of(asking.asks_of([ask.pk for ask in asking.waiting_asks(run)])))
    return exchange


def received(exchange: asking.Exchange, message: Message, usage: Usage | None = None) -> bool:
    """Whether a claimed turn goes on after this answer."""
    future: Future[Reply] = Future()
    future.set_result(Reply(message, "stop", "any", usage or Usage(10, 10), None, 1, "{}"))
    return asking.receive(exchange, future)


def test_an_answer_that_cannot_be_kept_pauses_the_run_and_is_paid_for(server: RunningServer) -> None:
    run = started({"roaster_A": model(server, prices={"input": 1, "output": 1})}, days=1)
    assert not received(exchange_of(run), {"content": "What?"}, Usage(input=-1))
    run.refresh_from_db()
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "provider")
    assert "could not be kept: IntegrityError" in run.status_reason
    assert asking.spent_micros(run) > 0
    control.resume_run(run.pk)
    assert play(run).status == Run.Status.FINISHED


def test_a_summary_is_cleaned_at_the_door(server: RunningServer) -> None:
    exchange = exchange_of(started({"roaster_A": model(server)}, days=1))
    exchange.request = exchange.request._replace(middle=(0, 1))
    assert received(exchange, {"content": " Cash:\0 15,000\ud800 USD "})
    assert ChatSummary.objects.get().text == "Cash:\N{REPLACEMENT CHARACTER} 15,000\N{REPLACEMENT CHARACTER} USD"


def test_what_goes_wrong_with_a_note_is_counted_with_its_turn(server: RunningServer) -> None:
    exchange = exchange_of(started({"roaster_A": model(server, memory_tools=True)}, days=1))
    note = {"id": "1", "function": {"name": "write_scratchpad", "arguments": "none"}}
    assert received(exchange, {"tool_calls": [note]})
    assert not received(exchange, {"content": "Nothing to do."})
    assert Ask.objects.get(pk=exchange.ask.pk).flags == [NOT_JSON, NO_TOOL_CALL]


def note(number: int, **arguments: str) -> Message:
    """A call of a model's own memory."""
    return {"id": f"{number}", "function": {"name": "store_note", "arguments": json.dumps(arguments)}}


def test_a_model_that_calls_several_tools_of_its_memory_is_told_at_once_that_one_was_used(
    server: RunningServer,
) -> None:
    exchange = exchange_of(started({"roaster_A": model(server, memory_tools=True)}, days=1))
    assert received(exchange, {"tool_calls": [note(number, key=f"k{number}", text="3.49") for number in (1, 2)]})
    kept = json.loads(ChatMessage.objects.filter(ask=exchange.ask).latest("number").content)
    assert json.loads(kept["content"]) == {"ok": True, "note": "only the first of your calls was used"}


def test_a_turn_ends_with_the_eighth_note_whatever_else_was_asked_in_it(server: RunningServer) -> None:
    exchange = exchange_of(started({"roaster_A": model(server, memory_tools=True)}, days=1))
    exchange.request = exchange.request._replace(middle=(0, 1))
    assert received(exchange, {"content": "Cash: 15,000 USD."}), "a summary is no note"
    assert [received(exchange, {"tool_calls": [note(1, key="k", text="3.49")]}) for _ in range(8)] == [True] * 7 + [
        False
    ]
    assert Ask.objects.get(pk=exchange.ask.pk).answered_at


def test_a_run_that_is_paused_and_resumed_meanwhile_leaves_a_turn_to_the_worker_that_has_it(
    server: RunningServer,
) -> None:
    exchange = exchange_of(started({"roaster_A": model(server, memory_tools=True)}, days=1))
    control.pause_run(exchange.ask.run_id)
    control.resume_run(exchange.ask.run_id)
    assert received(exchange, {"tool_calls": [note(1, key="k", text="3.49")]})
    assert asking.claim([exchange]) == [exchange]


def test_nothing_is_kept_of_a_run_that_was_deleted_while_its_models_thought(server: RunningServer) -> None:
    run = started({"roaster_A": model(server), "roaster_B": model(server)}, days=1)
    answered, failed = asking.claim(asking.exchanges_of(asks_of_first_step(run)))
    control.cancel_run(run.pk)
    control.delete_run(run.pk)
    assert not received(answered, {"content": "Wait."})
    refused: Future[Reply] = Future()
    refused.set_exception(provider.ProviderError("passing", "busy"))
    assert not asking.receive(failed, refused)
    assert not Call.objects.exists()
    assert not Run.objects.exists()


def test_a_server_of_ones_own_is_told_of_reasoning_whatever_litellm_knows_of_it() -> None:
    local = ModelSettings(model="custom_openai/any", base_url="http://127.0.0.1:8080/v1", reasoning="low")
    assert request(local, [], [])["allowed_openai_params"] == ["reasoning_effort"]
    known = local.model_copy(update={"model": "ollama_chat/llama3"})
    assert "allowed_openai_params" not in request(known, [], [])


def test_a_context_that_cannot_be_shortened_is_not_paid_for_twice(server: RunningServer) -> None:
    server.configure(faults=[{"kind": "context_length", "tokens": 2700}])
    run = play(started({"roaster_A": model(server, context={"strategy": "last_tokens"})}, days=1))
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "provider")
    assert "nothing of it is left to summarise" in run.status_reason
    assert not Call.objects.filter(run=run, purpose="summarise").exists()


def test_a_conversation_that_stays_too_long_is_not_summarised_at_every_turn(server: RunningServer) -> None:
    context = {"limit_tokens": 1, "opening_steps": 1, "last_steps": 6}
    run = play(started({"roaster_A": model(server, context=context)}, days=2))
    summaries = list(ChatSummary.objects.filter(run=run).order_by("number"))
    assert len(summaries) > 1
    assert all(later.until - earlier.until >= 3 * 2 for earlier, later in pairwise(summaries))


def test_trouble_that_lasts_pauses_the_run_and_it_resumes_by_itself(server: RunningServer) -> None:
    server.configure(faults=[{"kind": "error_500"}])
    run = play(started({"roaster_A": model(server)}, days=1, limits=Limits(retry_seconds=0.001)), rounds=20)
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "provider")
    assert run.resume_at is not None
    assert "roaster_A" in run.status_reason


def test_a_day_that_is_stepped_after_trouble_has_all_its_patience_again(server: RunningServer) -> None:
    server.configure(faults=[{"kind": "error_500"}])
    run = play(started({"roaster_A": model(server)}, days=1, limits=Limits(retry_seconds=0.001)), rounds=20)
    assert run.status == Run.Status.PAUSED
    control.step_day(run.pk)
    assert list(Ask.objects.filter(run=run).values_list("trouble_since", "not_before", "attempts")) == [(None, None, 0)]


def test_a_reached_budget_pauses_before_the_call_that_could_break_it(server: RunningServer) -> None:
    priced = model(server, prices={"input": 1000, "output": 1000}, max_output_tokens=100)
    run = play(started({"roaster_A": priced}, days=2, limits=Limits(budget_usd=20)))
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "budget")
    assert "the run's budget of 20.00 USD is reached" in run.status_reason
    assert 0 < asking.spent_micros(run) <= 20_000_000


def test_a_budget_of_nothing_is_enough_for_a_model_that_costs_nothing(server: RunningServer) -> None:
    free = model(server, prices={"input": 0, "output": 0}, budget_usd=0)
    run = play(started({"roaster_A": free}, days=1, limits=Limits(budget_usd=0, day_budget_usd=0)))
    assert (run.status, run.status_reason) == (Run.Status.FINISHED, "")


@pytest.mark.parametrize("over_micros", [0, 1])
def test_a_budget_is_reached_by_a_call_that_could_cost_a_millionth_more(
    server: RunningServer, over_micros: int
) -> None:
    priced = model(server, prices={"input": 1, "output": 2})
    most = exchange_of(started({"roaster_A": priced}, days=1)).request.most_micros or 0
    run = started({"roaster_A": priced}, days=1, limits=Limits(budget_usd=(most - over_micros) / 1_000_000))
    asking.ask_models(asks_of_first_step(run))
    run.refresh_from_db()
    assert Call.objects.filter(run=run).count() == 1 - over_micros
    assert over_micros == 0 or f"the next call can cost {most / 1_000_000:.4f} USD" in run.status_reason


def test_a_call_costs_at_most_what_the_budgets_reserve_for_it_and_not_much_less(server: RunningServer) -> None:
    context = {"limit_tokens": 2600, "opening_steps": 2, "last_steps": 4}
    priced = model(server, prices={"input": 1, "output": 1}, max_output_tokens=100, context=context)
    run = started({"roaster_A": priced}, days=2)
    reserved = []
    for _ in range(14):
        exchange = exchange_of(run)
        reserved.append(exchange.request.most_micros or 0)
        while asking.receive(exchange, asking.send(exchange)):
            asking.claim([exchange])
            reserved.append(exchange.request.most_micros or 0)
    calls = list(Call.objects.filter(run=run).order_by("pk"))
    assert {call.purpose for call in calls} == {"decide", "summarise"}
    assert all(most >= (call.cost_micros or 0) for most, call in zip(reserved, calls, strict=True))
    counted = [pair for pair in zip(reserved[1:], calls[1:], strict=True) if pair[1].summaries_before == 0]
    assert all(most < 3 * (call.cost_micros or 0) for most, call in counted)


def test_a_raised_budget_lets_the_run_go_on(server: RunningServer) -> None:
    priced = model(server, prices={"input": 1000, "output": 1000}, max_output_tokens=100)
    run = play(started({"roaster_A": priced}, days=1, limits=Limits(budget_usd=10)))
    assert run.paused_by == "budget"
    with pytest.raises(CommandError, match="less than or equal"):
        call_command("set_budget", run.pk, run=1e9)
    call_command("set_budget", run.pk, run=1000.0, stdout=StringIO())
    control.resume_run(run.pk)
    assert play(run).status == Run.Status.FINISHED


def test_a_firms_own_budget_can_be_raised_too(server: RunningServer) -> None:
    priced = model(server, prices={"input": 1000, "output": 1000}, max_output_tokens=100, budget_usd=10)
    run = play(started({"roaster_A": priced}, days=1))
    assert "roaster_A's budget of 10.00 USD is reached" in run.status_reason
    for wrong, words in (("farmer_A=5", "No model plays farmer_A"), ("roaster_A=-1", "greater than or equal")):
        with pytest.raises(CommandError, match=words):
            call_command("set_budget", str(run.pk), "--firm", wrong)
    told = StringIO()
    call_command("set_budget", str(run.pk), "--firm", "roaster_A=1000", stdout=told)
    assert "1,000.00 USD roaster_A" in told.getvalue()
    control.resume_run(run.pk)
    assert play(run).status == Run.Status.FINISHED


def test_simulate_leaves_a_run_of_models_to_the_workers(server: RunningServer) -> None:
    run = started({"roaster_A": model(server, "policy-passive")}, days=1)
    with pytest.raises(CommandError, match="they need the workers of the site"):
        call_command("simulate", resume=run.pk)
    run.refresh_from_db()
    assert run.status == Run.Status.RUNNING


def test_a_budget_without_a_price_refuses_to_start(server: RunningServer) -> None:
    with pytest.raises(control.NotPossible, match="no price is known for openai/policy-passive"):
        started({"roaster_A": model(server, "policy-passive")}, limits=Limits(budget_usd=1))


def test_a_second_answer_to_a_turn_is_dropped_and_its_cost_kept(server: RunningServer) -> None:
    run = started({"roaster_A": model(server, prices={"input": 1, "output": 1})}, days=1)
    runner.advance(run.pk, seconds=60)
    ask = asking.waiting_asks(run).get()
    [slow] = asking.claim(asking.exchanges_of(asking.asks_of([ask.pk])))
    late = asking.send(slow)
    Ask.objects.filter(pk=ask.pk).update(lease_owner="", lease_until=None)
    asking.ask_models(asking.asks_of([ask.pk]))
    assert not asking.receive(slow, late)
    # The first call's lease was over, so it was given up for lost before the second began; then it came all the same.
    outcomes = Call.objects.filter(ask=ask).order_by("pk").values_list("outcome", "cost_micros", "most_micros")
    assert [outcome for outcome, _, _ in outcomes] == ["failed", "used", "unused"]
    assert all(cost or most for _, cost, most in outcomes)
    assert ChatMessage.objects.filter(ask=ask, content__contains='"assistant"').count() == 1


def test_a_call_that_a_worker_died_with_is_told_of_though_nobody_knows_its_price(server: RunningServer) -> None:
    run = started({"roaster_A": model(server, "policy-passive")}, days=1)
    exchange = exchange_of(run)
    Ask.objects.filter(pk=exchange.ask.pk).update(lease_owner="a dead worker", lease_until=timezone.now())
    asking.ask_models(asking.asks_of([exchange.ask.pk]))
    calls = Call.objects.filter(run=run).order_by("pk").values_list("outcome", "cost_micros", "most_micros")
    assert list(calls) == [("failed", None, None), ("used", None, None)]


def test_a_turn_that_another_has_claimed_meanwhile_is_left_to_it(server: RunningServer) -> None:
    run = started({"roaster_A": model(server)}, days=1)
    runner.advance(run.pk, seconds=60)
    first, second = (asking.exchanges_of(asking.asks_of([ask.pk for ask in asking.waiting_asks(run)])) for _ in "ab")
    assert asking.claim(first) == first
    assert asking.claim(second) == []
    assert Ask.objects.get(run=run).lease_owner == first[0].holder


def six_models(server: RunningServer, policy: str = "passive", **more: Any) -> dict[str, ModelSettings]:
    """A model for every firm of the paper's scenario."""
    firms = [f"{role}_{letter}" for role in ("farmer", "roaster", "retailer") for letter in "AB"]
    return {firm: model(server, f"policy-{policy}", **more) for firm in firms}


def asks_of_first_step(run: Run) -> list[Ask]:
    """What a worker is called for once a run of models has started."""
    runner.advance(run.pk, seconds=60)
    return asking.asks_of([ask.pk for ask in asking.waiting_asks(run)])


def test_a_steps_models_think_at_the_same_time() -> None:
    with running_model_server() as server:
        run = started(six_models(server), days=1)
        asks = asks_of_first_step(run)
        with server.holding_until_in_work(6):
            assert asking.ask_models(asks) == run.pk
        assert server.stats()["most_in_work"] == 6


def test_a_model_in_trouble_does_not_keep_the_others_from_answering(server: RunningServer) -> None:
    models = six_models(server)
    server.configure(faults=[{"kind": "error_500", "model": models["farmer_B"].model.removeprefix("openai/")}])
    run = started(models, days=1)
    assert asking.ask_models(asks_of_first_step(run)) is None
    left = asking.waiting_asks(run).get()
    assert (left.firm.name, left.lease_owner, left.attempts) == ("farmer_B", "", 1)
    assert left.trouble
    server.configure(faults=[])
    assert asking.ask_models(asking.asks_of([left.pk])) is None, "it rests first"
    Ask.objects.filter(pk=left.pk).update(not_before=None)
    assert asking.ask_models(asking.asks_of([left.pk])) == run.pk


def test_of_a_steps_calls_only_as_many_are_made_as_a_budget_allows_all_at_their_dearest(server: RunningServer) -> None:
    models = six_models(server, prices={"input": 1000, "output": 1000}, max_output_tokens=100)
    run = started(models, days=1, limits=Limits(budget_usd=25))
    asks = asks_of_first_step(run)
    dearest = [exchange.request.most_micros or 0 for exchange in asking.exchanges_of(asks)]
    allowed = next(count for count in range(6, 0, -1) if sum(dearest[:count]) <= 25_000_000)
    assert 0 < allowed < 6
    asking.ask_models(asks)
    run.refresh_from_db()
    assert (run.status, run.paused_by) == (Run.Status.PAUSED, "budget")
    assert Call.objects.filter(run=run, outcome="used").count() == allowed


def test_a_step_is_claimed_and_kept_with_few_queries(
    server: RunningServer, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    run = started(six_models(server), days=2)
    asking.ask_models(asks_of_first_step(run))
    asks = asks_of_first_step(run)
    assert len(asks) == 6
    # A savepoint around each transaction is the test's. To claim: the run, six updates. To keep each of the six: the
    # run, the turn, its messages (a savepoint of their own), its call.
    with django_assert_max_num_queries(2 + 1 + 6 + 6 * (2 + 4 + 2)):
        assert asking.ask_models(asks) == run.pk


def test_a_worker_that_has_not_heard_a_conversation_reads_it(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started({"roaster_A": model(server)}, days=2)
    for _ in range(5):
        play(run, rounds=1)
        monkeypatch.setattr(talks, "heard", talks.Heard())
    assert play(run).status == Run.Status.FINISHED
    assert decisions(run) == decisions(play(started({}, days=2)))


@pytest.mark.django_db(transaction=True)
def test_a_task_goes_on_with_the_turns_that_it_opened(server: RunningServer) -> None:
    run = started(six_models(server), days=1)
    tasks.llm_ask([ask.pk for ask in asks_of_first_step(run)])
    run.refresh_from_db()
    assert run.status == Run.Status.FINISHED


def test_a_long_conversation_is_summarised_in_the_middle(server: RunningServer) -> None:
    context = {"limit_tokens": 2600, "opening_steps": 2, "last_steps": 4}
    run = play(started({"roaster_A": model(server, context=context)}, days=2))
    assert run.status == Run.Status.FINISHED
    assert ChatSummary.objects.filter(run=run).exists()
    assert Call.objects.filter(run=run, purpose="summarise", outcome="used").exists()


def test_the_words_of_a_summary_stay_those_the_conversation_began_with(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = {"limit_tokens": 2600, "opening_steps": 2, "last_steps": 4}
    run = play(started({"roaster_A": model(server, context=context)}, days=2), rounds=1)
    later = Compaction("Another instruction.", "Another head.")
    monkeypatch.setattr("simulation.talks.todays_compaction", lambda: later)
    play(run)
    assert ChatSummary.objects.filter(run=run).exists()
    for call in Call.objects.filter(run=run).select_related("ask", "firm"):
        assert "Another" not in json.dumps(sent_with(run, call).as_json)
    Conversation.objects.filter(run=run).update(compaction=later.as_json)
    calls = Call.objects.filter(run=run).select_related("ask", "firm")
    summarising = calls.filter(purpose="summarise").first()
    assert summarising is not None
    assert "Another instruction." in json.dumps(sent_with(run, summarising).as_json)
    with_summary = calls.filter(purpose="decide", summaries_before=1).first()
    assert with_summary is not None
    assert "Another head." in json.dumps(sent_with(run, with_summary).as_json)


def test_a_request_that_is_too_long_for_the_provider_is_shortened_once_and_tried_again(server: RunningServer) -> None:
    server.configure(faults=[{"kind": "context_length", "tokens": 2700}])
    context = {"opening_steps": 1, "last_steps": 2}
    run = play(started({"roaster_A": model(server, context=context)}, days=1))
    assert run.status == Run.Status.FINISHED
    assert ChatSummary.objects.filter(run=run).exists()


def test_no_key_is_in_any_row_even_if_the_provider_repeats_it(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET_KEY", "hush-hush-4711-never-tell")
    server.configure(faults=[{"kind": "invalid_key"}])
    run = play(started({"roaster_A": model(server, key_variable="MY_SECRET_KEY")}, days=1))
    assert run.status == Run.Status.PAUSED
    for table in (Call, Ask, Run, ChatMessage):
        for row in table._default_manager.values_list():
            assert "hush-hush" not in str(row)
    assert server.log()[-1]["status"] == 401
