"""The researcher's pages of studies: the list, the form, a preview, and one study with its tables and participants."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from dashboards.access import staff_only
from dashboards.study import views
from dashboards.study.forms import PRESETS, InviteForm, StudyForm, typed
from dashboards.study.room import is_here
from simulation.seats.clocks import is_present
from simulation.studies import links, queries, quiz, verbs
from simulation.studies.models import Participant, Study, Table
from simulation.studies.plan import plan_of

STUDIES_PER_PAGE: Final = 25
PARTICIPANTS_PER_PAGE: Final = 100
STUDY_VERBS: Final = {"open": verbs.open_study, "close": verbs.close_study}

Stage = Participant.Stage


@require_safe
@staff_only
def study_list(request: HttpRequest) -> HttpResponse:
    """All studies, the newest first, with how many are where."""
    counts = {
        "invited": Count("participants"),
        "agreed": Count("participants", filter=Q(participants__consented_at__isnull=False)),
        "playing": Count("participants", filter=Q(participants__stage=Stage.GAME)),
        "done": Count("participants", filter=Q(participants__stage=Stage.DONE)),
    }
    page = Paginator(Study.objects.annotate(**counts).order_by("-pk"), STUDIES_PER_PAGE).get_page(
        request.GET.get("page")
    )
    return render(request, "study/list.html", {"page": page})


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def study_new(request: HttpRequest) -> HttpResponse:
    """The form; sent with sensible values it makes a study and goes to its page."""
    preset = PRESETS.get(request.GET.get("preset", ""), PRESETS["one"])
    form = StudyForm(request.POST if request.method == "POST" else None, preset.fields)
    if form.is_bound and form.is_valid() and form.plan:
        study = verbs.create_study(form.plan)
        return redirect("dashboards:study:study", study.pk)
    return render(request, "study/form.html", {"form": form, "presets": PRESETS})


@require_http_methods(["GET", "HEAD", "POST"])
@staff_only
def study_edit(request: HttpRequest, study_id: int) -> HttpResponse:
    """The same form for a study that nobody has agreed to yet."""
    study = get_object_or_404(Study, pk=study_id)
    if study.has_begun:
        messages.error(request, "Somebody has agreed to this study as it is, so it can no longer be changed.")
        return redirect("dashboards:study:study", study.pk)
    form = StudyForm(request.POST if request.method == "POST" else None, typed(plan_of(study)))
    if form.is_bound and form.is_valid() and form.plan:
        try:
            verbs.change_study(study, form.plan)
        except verbs.StudyError as refusal:
            form.add_error(None, str(refusal))
        else:
            messages.success(request, "The study is changed.")
            return redirect("dashboards:study:study", study.pk)
    return render(request, "study/form.html", {"form": form, "study": study})


@require_POST
@staff_only
def preview_typed(request: HttpRequest) -> HttpResponse:
    """What a participant would see of the study that is typed so far. Changes nothing."""
    form = StudyForm(request.POST)
    if not form.is_valid() or form.plan is None:
        return render(request, "study/form.html", {"form": form, "presets": PRESETS})
    return show_preview(request, Study(**form.plan.fields()))


@require_safe
@staff_only
def preview(request: HttpRequest, study_id: int) -> HttpResponse:
    """What a participant sees of a study."""
    return show_preview(request, get_object_or_404(Study, pk=study_id))


def show_preview(request: HttpRequest, study: Study) -> HttpResponse:
    """The texts of every stage, for the firm that is asked for."""
    firm = request.GET.get("firm", "")
    firm = firm if firm in study.persons else study.persons[0]
    context = {
        "study": study,
        "steps": [{"title": views.TITLES[stage]} for stage in verbs.stages_of(study)],
        "pool": quiz.quiz(study.rules(), firm) if study.quiz_pass_mark else [],
        "fields": views.fields_of(study.questions(), {}, {}),
        **views.welcome_of(study),
        **views.briefing_of(study, firm),
    }
    return render(request, "study/preview.html", context)


@require_safe
@staff_only
def study_page(request: HttpRequest, study_id: int) -> HttpResponse:
    """One study; asked for its live part by the page's script, that alone."""
    study = get_object_or_404(Study, pk=study_id)
    if request.GET.get("part") == "live":
        return render(request, "study/_live.html", live_context(request, study))
    return render(request, "study/study.html", study_context(request, study, InviteForm()))


def study_context(request: HttpRequest, study: Study, invite: InviteForm) -> dict[str, Any]:
    """What the page of a study is made from."""
    players = study.player_labels()
    return {
        **live_context(request, study),
        "players": players if len(players) <= 12 else {},
        "invite": invite,
        "has_begun": study.has_begun,
        "question_count": len(study.questionnaire),
    }


def live_context(request: HttpRequest, study: Study) -> dict[str, Any]:
    """What its live part is made from, which is asked for every few seconds."""
    participants = study.participants.select_related("table", "seat__run", "seat__firm", "practice_seat__run")
    page = Paginator(participants.prefetch_related("attempts"), PARTICIPANTS_PER_PAGE).get_page(request.GET.get("page"))
    now = timezone.now()
    lines = [line_of(request, one, now) for one in page.object_list]
    return {
        "study": study,
        "stages": stages_counted(study),
        "tables": tables_of(study),
        "page": page,
        "lines": lines,
        "results": queries.results_of(study),
    }


def line_of(request: HttpRequest, participant: Participant, now: Any) -> dict[str, Any]:
    """A participant as the researcher sees them. The link is for staff alone."""
    seat = participant.seat if participant.stage == Stage.GAME else participant.practice_seat
    in_game = participant.stage in (Stage.GAME, Stage.PRACTICE)
    here = is_here(participant) or bool(in_game and seat and is_present(seat, now))
    attempts = list(participant.attempts.all())
    return {
        "participant": participant,
        "link": request.build_absolute_uri(links.path_of(participant)),
        "is_here": here,
        "since": participant.stage_since,
        "attempts": attempts,
        "last": attempts[-1] if attempts else None,
        "is_waiting": participant.stage == Stage.WAITING,
        "is_on_the_way": participant.consented_at is not None and participant.stage != Stage.DONE,
    }


def stages_counted(study: Study) -> list[dict[str, Any]]:
    """How many are at each stage."""
    counts = Counter(study.participants.order_by().values_list("stage", flat=True))
    stages: list[Participant.Stage] = [*verbs.stages_of(study), Stage.DECLINED]
    return [
        {"title": stage.label, "count": counts[stage]} for stage in stages if stage != Stage.DECLINED or counts[stage]
    ]


def tables_of(study: Study) -> list[dict[str, Any]]:
    """The tables, those that wait first, each place with who sits there."""
    tables = study.tables.select_related("run").prefetch_related("participants").order_by()
    rows = [table_row(study, table) for table in tables]
    return sorted(rows, key=lambda row: (row["table"].started_at is not None, -row["table"].number))


def table_row(study: Study, table: Table) -> dict[str, Any]:
    """One table."""
    sitting = {one.firm: one for one in table.participants.all()}
    places = [
        {"firm": firm, "participant": one, "is_here": bool(one and is_here(one))}
        for firm, one in ((firm, sitting.get(firm)) for firm in study.persons)
    ]
    empty = [firm for firm in study.persons if firm not in sitting]
    can_start = table.started_at is None and len(empty) < len(places)
    return {"table": table, "places": places, "empty": empty, "can_start": can_start}


@require_POST
@staff_only
def verb(request: HttpRequest, study_id: int, verb: str) -> HttpResponse:
    """Open or close a study."""
    study = get_object_or_404(Study, pk=study_id)
    if verb not in STUDY_VERBS:
        raise Http404
    STUDY_VERBS[verb](study)
    return redirect("dashboards:study:study", study.pk)
