"""The drawers of studies: read here, changed on the researcher's pages, where the verbs look after everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from simulation.studies.models import Participant, QuizAttempt, Study, Table

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin


class ReadOnly(Base):
    """Rows that nobody edits here. Staff read them all, as everything else."""

    list_per_page = 50

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(getattr(request.user, "is_staff", False))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Study)
class StudyAdmin(ReadOnly):
    """Every study."""

    list_display = ("__str__", "information", "is_open", "created_at")
    list_filter = ("information", "is_open")
    search_fields = ("name",)


@admin.register(Table)
class TableAdmin(ReadOnly):
    """Every table, and its run once it has begun."""

    list_display = ("__str__", "seed", "run", "started_at")
    list_filter = ("study",)
    list_select_related = ("study", "run")


@admin.register(Participant)
class ParticipantAdmin(ReadOnly):
    """Every participant and where they stand."""

    list_display = ("label", "study", "firm", "table", "stage", "consented_at")
    list_filter = ("study", "stage")
    list_select_related = ("study", "table__study")
    search_fields = ("label",)


@admin.register(QuizAttempt)
class QuizAttemptAdmin(ReadOnly):
    """Every attempt at a quiz."""

    list_display = ("participant", "number", "right", "of", "at")
    list_filter = ("participant__study",)
    list_select_related = ("participant",)
