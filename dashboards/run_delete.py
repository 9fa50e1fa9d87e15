"""Deleting a run: a page that asks again, and goes on only when the run's name or number is typed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods

from dashboards.access import staff_only
from dashboards.state import VERBS, state_of
from dashboards.words import number_text
from simulation import control
from simulation.models import Run

MOST_KINDS_TOLD: Final = 5


class DeleteForm(forms.Form):
    """The name or the number of the run that is meant."""

    typed = forms.CharField(
        max_length=80, label="The run’s name or number", widget=forms.TextInput(attrs={"autocomplete": "off"})
    )

    def __init__(self, run: Run, data: Mapping[str, str] | None = None) -> None:
        super().__init__(data)
        self.run = run

    def clean_typed(self) -> str:
        """Refuses anything else."""
        typed = str(self.cleaned_data["typed"])
        if typed not in (self.run.name.strip(), str(self.run.pk)):
            raise forms.ValidationError(f"That is neither the name of this run nor its number, {self.run.pk}.")
        return typed


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def run_delete(request: HttpRequest, run_id: int) -> HttpResponse:
    """Asks again; sent with the run's name or number it deletes all of the run and says what that was."""
    run = get_object_or_404(Run, pk=run_id)
    form = DeleteForm(run, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            counts = control.delete_run(run_id)
        except Run.DoesNotExist:
            raise Http404 from None
        except control.NotPossible as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"Run {run_id}, {run.name}, is deleted: {told(counts)}.")
            return redirect("dashboards:runs")
    context = {"run": run, "state": state_of(run), "form": form, "may_go": "delete" in VERBS.get(run.status, ())}
    return render(request, "dashboards/run_delete.html", context)


def told(counts: Mapping[str, int]) -> str:
    """What was deleted, the most first: 5,050 turns, 2,731 events, and 940 other rows."""
    most_first = sorted(counts.items(), key=lambda item: -item[1])
    shown, others = most_first[:MOST_KINDS_TOLD], most_first[MOST_KINDS_TOLD:]
    parts = [f"{number_text(count)} {kind}" for kind, count in shown]
    if others:
        parts.append(f"and {number_text(sum(count for _, count in others))} other rows")
    return ", ".join(parts) or "it had no rows but its own"
