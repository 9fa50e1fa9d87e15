"""What may be done to a run, for pages and commands: making one here, and the verbs of `status`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.db import transaction

from simulation import announce, runner
from simulation.deletion import delete_run
from simulation.engine.scenario import Scenario
from simulation.engine.world import RULES_VERSION
from simulation.models import Run
from simulation.players.llm.prices import prices_of
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.players.registry import MODEL, SEATED, check_players
from simulation.seats import seating
from simulation.status import (
    SLOWEST_PACE_SECONDS,
    NotPossible,
    cancel_run,
    pause_run,
    resume_run,
    set_limits,
    set_pace,
    start_run,
    step_day,
)

__all__ = [
    "NotPossible",
    "cancel_run",
    "create_run",
    "delete_run",
    "pause_run",
    "resume_run",
    "set_limits",
    "set_pace",
    "start_run",
    "step_day",
]

SEEDS = range(-(2**53), 2**53)


def create_run(
    *,
    name: str,
    scenario: Scenario,
    seed: int,
    players: Mapping[str, str],
    models: Mapping[str, ModelSettings] = MappingProxyType({}),
    limits: Limits = Limits(),  # noqa: B008 - frozen
    pace_seconds: float = 0,
    information: str = Run.Information.PARITY,
    is_practice: bool = False,
) -> Run:
    """Makes a run with its opening books, not started yet.

    `players` maps firms to kinds of player, `models` to how a language model plays them, or would stand in for the
    person who does; the others get their role's default script. Every firm played by a person or a remote program
    gets its seat. `pace_seconds` is the wall time a simulated day takes at least; `information` what people are shown.
    Raises PlayersError or NotPossible naming what is wrong.
    """
    if seed not in SEEDS:
        raise NotPossible(f"seed {seed} is out of range: whole numbers from −2⁵³ to 2⁵³ are allowed")
    if not 0 <= pace_seconds <= SLOWEST_PACE_SECONDS:
        raise NotPossible(f"pace {pace_seconds} is out of range: 0 to {SLOWEST_PACE_SECONDS} seconds a day are allowed")
    if information not in Run.Information:
        raise NotPossible(f"information {information!r} is none of {', '.join(Run.Information)}")
    stand_ins = {firm: kind for firm, kind in players.items() if firm in models and kind in SEATED}
    kinds = check_players(scenario, {**players, **dict.fromkeys(models, MODEL), **stand_ins})
    check_models(kinds, models, limits)
    with transaction.atomic():
        run = Run.objects.create(
            name=name,
            scenario=scenario.model_dump(mode="json"),
            seed=seed,
            days=scenario.days,
            evaluated=scenario.evaluated,
            rules_version=RULES_VERSION,
            players=kinds,
            model_settings={firm: settings.model_dump(mode="json") for firm, settings in models.items()},
            limits=limits.model_dump(mode="json"),
            pace_seconds=pace_seconds,
            information=information,
            is_practice=is_practice,
        )
        runner.create_rows(run, runner.new_game(run, scenario))
        seating.make_seats(run)
        announce.progress(run)
    return run


def check_models(kinds: Mapping[str, str], models: Mapping[str, ModelSettings], limits: Limits) -> None:
    """Refuses a model seat without settings, and a budget that could not be kept for want of a price."""
    for firm, kind in kinds.items():
        if kind == MODEL and firm not in models:
            raise NotPossible(f"{firm} is to be played by a model, but nothing says which")
    for firm, settings in models.items():
        budgets = (settings.budget_usd, limits.budget_usd, limits.day_budget_usd)
        if any(budget is not None for budget in budgets) and prices_of(settings) is None:
            raise NotPossible(
                f"{firm}: there is a budget, but no price is known for {settings.model}; give its prices in USD per "
                "million tokens of input and output, or take the budget away"
            )
