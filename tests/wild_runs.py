"""Runs of firms that call anything with anything, in the tables: every kind of row, every reason of the ledger."""

from __future__ import annotations

import random
from typing import Any, Final

from django.db import transaction

from simulation import runner
from simulation.engine.scenario import scenario_from
from simulation.engine.world import RULES_VERSION, Outcome, World
from simulation.models import Run
from simulation.store import Decided, Projection
from tests.engine.wild import Wild

STORMY: Final[dict[str, Any]] = {
    "days": 25,
    "loss": 0.1,
    "delay": 0.1,
    "spoilage": 0.05,
    "late_fee": 0.01,
    "refund_terms_days": 2,
    "roles": {
        "farmer": {"firms": 2, "cash": 700, "opex": 25},
        "roaster": {"firms": 2, "cash": 400, "opex": 25},
        "retailer": {"firms": 2, "cash": 250, "opex": 10},
    },
}
"""So poor and so unlucky that returns, refunds, late fees and bankruptcies happen within days."""


def wild_run(seed: int = 18, calls: int = 1500, **scenario: Any) -> Run:
    """A run that was played at random, as the runner would have saved it. Of seed 18 it holds every reason."""
    world = World(scenario_from({**STORMY, "evaluated": "", **scenario}), seed)
    wild = Wild(random.Random(seed), world.economy)
    outcomes: list[Outcome] = []
    while world.turns < calls and (step := world.open_step()):
        outcomes += world.apply({firm: wild.decide(firm) for firm in step.firms})
    world.open_step()
    players = dict.fromkeys(world.seats, "passive")
    with transaction.atomic():
        run = Run.objects.create(
            name="wild",
            scenario=world.scenario.model_dump(mode="json"),
            seed=seed,
            days=world.scenario.days,
            evaluated=world.scenario.evaluated,
            rules_version=RULES_VERSION,
            players=players,
            status=Run.Status.RUNNING,
        )
        Projection(run.pk, world, players).save([Decided(outcome, "wild") for outcome in outcomes])
        runner.note_progress(run, world)
        if world.ended:
            runner.end_run(run, world)
        run.save()
    return run
