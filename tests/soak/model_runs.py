"""Runs of six language models that play the scripts' policies at the tests' model server."""

from __future__ import annotations

from simulation import control
from simulation.engine.scenario import scenario_from
from simulation.models import Run
from simulation.players.llm.settings import ModelSettings
from tests.model_server.running import RunningServer

POLICIES = {"farmer": "heuristic_farmer", "roaster": "heuristic_roaster", "retailer": "heuristic_retailer"}


def new_run(server: RunningServer, seed: int, days: int, name: str = "models") -> Run:
    """A run of six models, started. The server tells conversations apart by the models' names."""
    models = {
        f"{role}_{letter}": ModelSettings.model_validate(
            {
                "model": f"openai/policy-{policy}?run={name}-{seed}&firm={letter}",
                "base_url": server.api_base,
                "prices": {"input": 1, "output": 1},
                "context": {"strategy": "none"},
            }
        )
        for role, policy in POLICIES.items()
        for letter in "AB"
    }
    run = control.create_run(name=name, scenario=scenario_from({"days": days}), seed=seed, players={}, models=models)
    return control.start_run(run.pk)
