"""The form for a run's budgets on the page of its spend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django import forms

from simulation.models import Run

MOST_USD: Final = 1_000_000
WRONG: Final = f"An amount from 0 to {MOST_USD:,} USD, please, or nothing for no budget."


class BudgetsForm(forms.Form):
    """What a run may spend on models: in all, in one simulated day, and for each firm that a model plays or could."""

    def __init__(self, run: Run, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(data)
        self.firms = list(run.model_settings)
        limits = run.limits
        self.fields["run"] = budget_field("The whole run", limits.get("budget_usd"))
        self.fields["day"] = budget_field("Each day", limits.get("day_budget_usd"))
        for firm in self.firms:
            self.fields[f"firm_{firm}"] = budget_field(firm, run.model_settings[firm].get("budget_usd"))

    def run_budgets(self) -> dict[str, float | None]:
        """The budgets of a valid form by the names they have in a run's limits."""
        return {"budget_usd": self.cleaned_data["run"], "day_budget_usd": self.cleaned_data["day"]}

    def firm_budgets(self) -> dict[str, float | None]:
        """The budgets of a valid form by firm."""
        return {firm: self.cleaned_data[f"firm_{firm}"] for firm in self.firms}

    def firm_rows(self) -> list[forms.BoundField]:
        """The fields of the firms, in seating order."""
        return [self[f"firm_{firm}"] for firm in self.firms]


def budget_field(title: str, budget_usd: float | None) -> forms.FloatField:
    """The field of one budget; empty means none."""
    field = forms.FloatField(
        label=f"{title}, USD",
        required=False,
        initial=None if budget_usd is None else f"{budget_usd:.10g}",
        min_value=0,
        max_value=MOST_USD,
        widget=forms.NumberInput(attrs={"step": "any", "inputmode": "decimal", "placeholder": "none"}),
    )
    field.error_messages.update(dict.fromkeys(("invalid", "min_value", "max_value"), WRONG))
    return field
