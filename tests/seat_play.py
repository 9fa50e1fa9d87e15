"""Runs really played, for tests: by people, answered turn by turn without a worker in between, or by scripts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from marketplace.models import Transfer
from marketplace.rows import in_run
from simulation import control, runner
from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.scenario import scenario_from
from simulation.models import Ask, Run, Seat, Turn
from simulation.players.base import Player
from simulation.players.registry import kinds_for, make_player
from simulation.seats import verbs
from simulation.store import scenario_of

Answering = Callable[[Seat, Ask], Decision]


def played_by_scripts(days: int = 3) -> Run:
    """A run that scripts have played to its end."""
    run = control.create_run(name="scripts", scenario=scenario_from({"days": days}), seed=3, players={})
    control.start_run(run.pk)
    while runner.advance(run.pk, seconds=60) is not None:
        pass
    run.refresh_from_db()
    return run


def seated_run(*firms: str, days: int = 3, seed: int = 3, kind: str = "human", **options: Any) -> Run:
    """A run with people, or what `kind` says, at some firms, started and moved to their first turns."""
    players = {**dict.fromkeys(firms, kind), **options.pop("players", {})}
    scenario = options.pop("scenario", None) or scenario_from({"days": days})
    run = control.create_run(name="seats", scenario=scenario, seed=seed, players=players, **options)
    control.start_run(run.pk)
    return move(run)


def move(run: Run) -> Run:
    """Plays a run on until it waits for somebody or rests."""
    runner.advance(run.pk, seconds=60)
    run.refresh_from_db()
    return run


def seat_of(run: Run, firm: str) -> Seat:
    """A seat as the tables have it now."""
    return Seat.objects.select_related("run", "firm").get(run=run, firm__name=firm)


def answer_open_turn(run: Run, firm: str, decision: Decision = WAIT) -> Ask:
    """Answers a firm's open turn at its seat, and moves the run on."""
    seat = seat_of(run, firm)
    turn = verbs.open_turn(seat)
    assert turn is not None, f"{firm} has no open turn"
    verbs.answer(seat, turn.firm_turn, decision)
    move(run)
    return turn


def policies_of(run: Run, kinds: Mapping[str, str] | None = None) -> Answering:
    """Answers every seat as a script of its role would: the default one, or the kind that is named for the firm."""
    players: dict[int, Player] = {}

    def decide(seat: Seat, turn: Ask) -> Decision:
        kind = (kinds or {}).get(seat.firm.name) or kinds_for(seat.firm.role)[0]
        player = players.setdefault(seat.pk, make_player(kind, scenario_of(run), seat.firm.name))
        given = json.loads(turn.given)
        return player.decide(View(seat.firm.name, seat.firm.role, turn.minute, given["result"], given["observation"]))

    return decide


def play(run: Run, answering: Answering | None = None, *, turns: int = 10_000) -> Run:
    """Answers the open turns of all seats, one seat after another, until the run rests or so many are answered."""
    answering = answering or policies_of(run)
    while turns > 0 and run.status == Run.Status.RUNNING:
        for seat in Seat.objects.select_related("run", "firm").filter(run=run):
            turn = verbs.open_turn(seat)
            if turn:
                verbs.answer(seat, turn.firm_turn, answering(seat, turn))
                turns -= 1
        move(run)
    return run


def decisions(run: Run, *more: str) -> list[tuple[Any, ...]]:
    """What was decided and answered, in order."""
    rows = Turn.objects.filter(run=run).order_by("pk")
    return list(rows.values_list("firm__name", "minute", "tool", "arguments", "result", *more))


def ledger(run: Run) -> list[tuple[Any, ...]]:
    """Every transfer of a run, by the numbers that the engine gives."""
    rows = Transfer.objects.filter(**in_run(run.pk)).order_by("pk")
    return list(rows.values_list("minute", "debit", "credit", "amount_micros", "reason", "firm__name"))
