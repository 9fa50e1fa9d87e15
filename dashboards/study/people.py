"""What a researcher does with participants and tables: each a POST that calls one verb of `simulation.studies`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from dashboards.access import staff_only
from dashboards.study.forms import DeleteForm, InviteForm
from dashboards.study.pages import study_context
from simulation.control import NotPossible
from simulation.studies import verbs
from simulation.studies.models import Participant, Study, Table

PARTICIPANT_VERBS: Final[dict[str, tuple[Callable[[Participant], None], str]]] = {
    "revoke": (verbs.revoke, "The link of {label} is void."),
    "reissue": (verbs.reissue, "{label} has a new link; the old one is void."),
    "free": (verbs.free_place, "The place of {label} is free."),
}


@require_POST
@staff_only
def invite(request: HttpRequest, study_id: int) -> HttpResponse:
    """Adds participants by labels, or so many; refused, the page comes back with what was typed."""
    study = get_object_or_404(Study, pk=study_id)
    form = InviteForm(request.POST)
    if form.is_valid():
        try:
            added = verbs.add_participants(study, form.newcomers(study))
        except verbs.StudyError as refusal:
            form.add_error("labels", str(refusal))
        else:
            one = len(added) == 1
            messages.success(request, f"{len(added)} {'participant is' if one else 'participants are'} invited.")
            return redirect("dashboards:study:study", study.pk)
    return render(request, "study/study.html", study_context(request, study, form))


@require_POST
@staff_only
def start(request: HttpRequest, study_id: int, table_id: int) -> HttpResponse:
    """Starts a table's game."""
    table = get_object_or_404(Table, pk=table_id, study_id=study_id)
    try:
        run = verbs.start_table(table, with_empty_places=request.POST.get("with_empty_places") == "on")
    except (verbs.StudyError, NotPossible) as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"Table {table.number} plays: run {run.pk}.")
    return redirect("dashboards:study:study", study_id)


@require_POST
@staff_only
def verb(request: HttpRequest, study_id: int, participant_id: int, verb: str) -> HttpResponse:
    """Revoke or reissue a link, or free a place."""
    participant = participant_of(study_id, participant_id)
    if verb not in PARTICIPANT_VERBS:
        raise Http404
    deed, words = PARTICIPANT_VERBS[verb]
    try:
        deed(participant)
    except verbs.StudyError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, words.format(label=participant.label))
    return redirect("dashboards:study:study", study_id)


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def delete(request: HttpRequest, study_id: int, participant_id: int) -> HttpResponse:
    """Says what would be deleted and what stays; sent with the participant's label, it deletes."""
    participant = participant_of(study_id, participant_id)
    form = DeleteForm(participant, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            verbs.delete_participant_data(participant, with_run=form.cleaned_data["with_run"])
        except (verbs.StudyError, NotPossible) as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, f"What was personal of participant {participant.pk} is deleted.")
            return redirect("dashboards:study:study", study_id)
    others = participant.table.participants.exclude(pk=participant.pk).count() if participant.table else 0
    context = {
        "study": participant.study,
        "participant": participant,
        "form": form,
        "why_not": verbs.why_not_delete(participant),
        "others": others,
    }
    return render(request, "study/delete.html", context)


def participant_of(study_id: int, participant_id: int) -> Participant:
    """A participant of a study. Raises Http404."""
    rows = Participant.objects.select_related("study", "seat__run", "practice_seat__run", "table")
    return get_object_or_404(rows, pk=participant_id, study_id=study_id)
