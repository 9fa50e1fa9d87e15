"""Starting a run from a form, or an experiment from a file."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboards.access import staff_only
from dashboards.asked import number_asked
from dashboards.forms import ExperimentForm, NewRunForm
from simulation.control import NotPossible, create_run, start_run
from simulation.engine.world import RULES_VERSION
from simulation.experiments import start_experiment
from simulation.models import Run
from simulation.players.registry import PlayersError


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def run_new(request: HttpRequest) -> HttpResponse:
    """The form, filled with a run's settings to clone it; sent with sensible values it makes a run and starts it."""
    form = NewRunForm(request.POST if request.method == "POST" else None, source_asked(request))
    if form.is_bound and form.is_valid():
        started = started_run(form)
        if started:
            return redirect("dashboards:run", started)
    return render(request, "dashboards/run_new.html", {"form": form, "experiment": ExperimentForm()})


def source_asked(request: HttpRequest) -> Run | None:
    """The run that is to be cloned, `?of=7`; 404 for one that is gone or was played under other rules."""
    number = number_asked(request.GET, "of")
    return get_object_or_404(Run, pk=number, rules_version=RULES_VERSION) if number else None


def started_run(form: NewRunForm) -> int | None:
    """The id of the run that a valid form describes, made and started; None with an error on the form if refused."""
    try:
        run = create_run(**form.run())
        start_run(run.pk)
    except (NotPossible, PlayersError) as error:
        form.add_error(None, str(error))
        return None
    return run.pk


@require_POST
@staff_only
def experiment_new(request: HttpRequest) -> HttpResponse:
    """An experiment's file or text: starts a run for each of its seeds and goes to the list of runs."""
    form = ExperimentForm(request.POST, request.FILES)
    runs = started_experiment(form)
    if runs:
        messages.success(request, f"Started: {', '.join(run.name for run in runs[:3])}{' …' if runs[3:] else ''}")
        return redirect("dashboards:runs")
    return render(request, "dashboards/run_new.html", {"form": NewRunForm(), "experiment": form})


def started_experiment(form: ExperimentForm) -> list[Run]:
    """The runs of a form's experiment, made and started; none, with the reason on the form, if it is refused."""
    if not form.is_valid() or form.experiment is None:
        return []
    try:
        return start_experiment(form.experiment)
    except (NotPossible, PlayersError) as error:
        form.add_error(None, str(error))
        return []


@require_POST
@staff_only
def players(request: HttpRequest) -> HttpResponse:
    """The fields of the players for the scenario typed so far: its settings may seat other firms. Changes nothing."""
    return render(request, "dashboards/_players.html", {"form": NewRunForm(request.POST, source_asked(request))})
