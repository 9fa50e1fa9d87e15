"""Changing what a run may spend on models while it is under way, as the command and the page of its spend do."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from django.db import transaction
from pydantic import ValidationError

from simulation.control import NotPossible, check_models
from simulation.engine.scenario import problems_of
from simulation.models import Run
from simulation.players.llm.settings import Limits, ModelSettings
from simulation.status import set_firm_budgets, set_limits

NOTHING: Mapping[str, float | None] = MappingProxyType({})


def change_budgets(
    run_id: int,
    *,
    run_budgets: Mapping[str, float | None] = NOTHING,
    firm_budgets: Mapping[str, float | None] = NOTHING,
) -> Run:
    """Sets budgets in USD, None for none: of the run by the names in its limits, and of firms by their names.

    Raises NotPossible, with nothing changed, which says what is wrong; Run.DoesNotExist.
    """
    run = Run.objects.get(pk=run_id)
    try:
        limits = Limits.model_validate({**run.limits, **run_budgets})
        models = {
            firm: ModelSettings.model_validate({**kept, "budget_usd": firm_budgets.get(firm, kept.get("budget_usd"))})
            for firm, kept in run.model_settings.items()
        }
    except ValidationError as error:
        raise NotPossible("; ".join(problems_of(error))) from None
    check_models(run.players, models, limits)
    with transaction.atomic():
        set_limits(run_id, limits)
        return set_firm_budgets(run_id, firm_budgets)
