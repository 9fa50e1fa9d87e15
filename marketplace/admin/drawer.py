"""A drawer of the cabinet: the read-only list and pages of one kind of row that the engine owns.

A model's drawer names its columns, filters and totals, what caused a row and what belongs to it; all else is here. Who
may enter the admin site may read every drawer, and nobody can add, change or delete what is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.text import capfirst

from marketplace.admin import showing
from marketplace.admin.columns import RUN, Column, Table
from marketplace.admin.filters import Filter, FirmFilter, ReferenceFilter, Scope, any_of
from marketplace.admin.finding import Label, read_label, read_number, read_run
from marketplace.admin.question import Figure, Found, Question, Total
from marketplace.rows import RunRow, in_run, key_of

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin

ROWS_ON_A_PAGE = 20
"""Rows of another kind shown on a row's page, before "all of them"."""

NEWEST_RUNS = 500
"""Runs in which a label without its run is looked up."""

NOTHING = Q(pk__in=())


class Tab(NamedTuple):
    """The way to another drawer, with the same run chosen."""

    title: str
    url: str
    is_current: bool


class Fact(NamedTuple):
    """A line of a row's page."""

    title: str
    value: str
    kind: str


class Cause(NamedTuple):
    """A turn in which something was decided, and what it did for the row that is looked at."""

    caption: str
    turn: Any
    arguments: str


@dataclass(frozen=True)
class Related:
    """Rows of another kind that belong to a row, and the filters under which their list shows them all."""

    caption: str
    rows: QuerySet[Any]
    filters: Mapping[str, object]
    only_if_any: bool = False
    """Whether nothing at all is said where there are none."""


class Drawer(Base):
    """A list for rows that nobody edits."""

    list_per_page = 50
    list_select_related: ClassVar[tuple[str, ...]] = ()
    list_totals: ClassVar[tuple[Total, ...]] = ()
    filters: ClassVar[tuple[Filter, ...]] = ()
    facts: ClassVar[tuple[Column, ...]] = ()
    holds_run_rows: ClassVar[bool] = False
    has_gaps: ClassVar[bool] = False
    """Whether the numbers of a run's rows leave some out, so that the last does not say how many there are."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Researchers are staff, and staff reads everything."""
        return bool(getattr(request.user, "is_staff", False))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def find(self, typed: str, scope: Scope) -> Found:
        """What a search for these words means."""
        raise NotImplementedError

    def rows_of_run(self, run_id: int) -> dict[str, Any]:
        """The filter for the rows of a run."""
        return in_run(run_id)

    def columns(self, question: Question) -> tuple[Any, ...]:
        """The columns of the list."""
        return tuple(self.list_display)

    def figures(self, question: Question) -> list[Figure]:
        """The sums above the list."""
        return question.figures()

    def tabs(self, run_id: int | None, **filters: str) -> list[Tab]:
        """Every drawer of a run; a filter goes along where that drawer has it."""
        if run_id is None:
            return []
        tabs = []
        for drawer in drawers_of_runs(self.admin_site):
            known = {one.name: filters[one.name] for one in drawer.filters if one.name in filters}
            url = showing.list_url(drawer.model, run=run_id, **known)
            tabs.append(Tab(capfirst(str(drawer.opts.verbose_name_plural)), url, drawer.model is self.model))
        return tabs

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """The list: its filters, sums, and a page of rows."""
        refuse_unless_reading(request)
        question = Question(self, request.GET.dict())
        page = question.page()
        kept = {name: question.form.data[name] for name in ("firm", "day") if name in question.asked}
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": capfirst(str(self.opts.verbose_name_plural)),
            "question": question,
            "page": page,
            "pages": addresses_of_pages(question, page),
            "figures": self.figures(question),
            "table": Table(self.columns(question), page.rows, empty=self.nothing_found(question)),
            "tabs": self.tabs(question.scope.run_id, **kept),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "admin/books/list.html", context)

    def nothing_found(self, question: Question) -> str:
        """What an empty list says."""
        name = self.opts.verbose_name_plural
        return f"No {name} match." if question.asked else f"No {name} yet. A run writes them as it goes."


class RunRowDrawer(Drawer):
    """The list and the pages of one kind of row of runs."""

    holds_run_rows: ClassVar[bool] = True
    search_help_text = "L12, 7:L12, run 7 D3, a firm"
    page_template: ClassVar[str] = "admin/books/row.html"
    causes: ClassVar[tuple[tuple[str, str], ...]] = ()
    """What a turn did for the row, and the path from the row to that turn; the nearest first."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Rows with all that their page names."""
        turns = [f"{path}.firm".replace(".", "__") for _, path in self.causes]
        return super().get_queryset(request).select_related(*self.list_select_related, *turns)

    def columns(self, question: Question) -> tuple[Any, ...]:
        """The run has a column where rows of several may come."""
        label, *others = self.list_display
        return (label, *others) if question.scope.run_id else (label, RUN, *others)

    def find(self, typed: str, scope: Scope) -> Found:
        """Rows by label, key in full, name of a firm, or the model's own text."""
        if read_run(typed):
            return Found(Q())
        label = read_label(typed) or read_number(typed, self.model)
        return self._labelled(label, scope) if label else self._named(typed, scope)

    def _labelled(self, label: Label, scope: Scope) -> Found:
        """The row of a label; the rows that belong to it where it is of another kind, and the way to it."""
        run_id = label.run_id or scope.run_id
        if label.model is self.model:
            return Found(Q(pk__in=keys_of(label, run_id, scope)), by_key=True)
        if run_id is None:
            return Found(NOTHING, f"Choose a run to find {label.name}, or write 7:{label.name}.", by_key=True)
        key = key_of(run_id, label.number)
        text = f"Open {label.name} of run {run_id} ({label.model._meta.verbose_name})"
        note = showing.link(showing.row_url(label.model, key), text)
        references = [one for one in self.filters if isinstance(one, ReferenceFilter)]
        belonging = next((one.condition(key) for one in references if one.of(self.model) is label.model), NOTHING)
        return Found(belonging, note, by_key=True)

    def _named(self, typed: str, scope: Scope) -> Found:
        """Rows whose text holds what was typed, and those of the firm of that name."""
        condition = any_of((f"{field}__icontains" for field in self.search_fields), typed)
        firms = [one for one in self.filters if isinstance(one, FirmFilter)]
        if typed in scope.firms and firms:
            return Found(condition | firms[0].condition(scope.firms[typed]))
        if self.search_fields:
            return Found(condition)
        advice = "" if scope.run else " Firms are found by their names once a run is chosen."
        return Found(NOTHING, f"Nothing is named “{typed}”. Try {self.search_help_text}.{advice}", by_key=True)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of one row."""
        refuse_unless_reading(request)
        key = unquote(object_id)
        row = self.get_object(request, key)
        if row is None:
            label = read_number(key, self.model)
            name = f"{label.name} in run {label.run_id}" if label and label.run_id else f"“{key[:40]}”"
            messages.warning(request, f"There is no {self.opts.verbose_name} {name}.")
            return HttpResponseRedirect(showing.list_url(self.model))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{row.label} of run {row.run_number}",
            "kind": self.opts.verbose_name if len(self.model.prefix) < 2 else "",
            "row": row,
            "run_url": showing.row_url(row._meta.get_field("run").related_model, row.run_number),
            "list_url": showing.list_url(self.model, run=row.run_number),
            "tabs": self.tabs(row.run_number),
            "neighbours": self.neighbours(row),
            **self.page_context(request, row),
            **(extra_context or {}),
        }
        return TemplateResponse(request, self.page_template, context)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Its facts, the decisions behind it, and what belongs to it."""
        causes = self.causes_of(row)
        return {
            "facts": [Fact(column.title, column(row), column.kind) for column in self.facts],
            "causes": causes,
            "by_the_clock": bool(self.causes) and not causes,
            "tables": [table for related in self.related(row) if (table := self.table_of(related))],
        }

    def causes_of(self, row: Any) -> list[Cause]:
        """The turns behind a row, each once."""
        causes: dict[int, Cause] = {}
        for caption, path in self.causes:
            turn = follow(row, path)
            if turn is not None:
                arguments = showing.short_json(showing.json_value(turn.arguments))
                causes.setdefault(turn.pk, Cause(caption, turn, arguments))
        return list(causes.values())

    def related(self, row: Any) -> Iterable[Related]:
        """Rows of other kinds that belong to this one."""
        return ()

    def table_of(self, related: Related) -> Table | None:
        """Related rows, the oldest first, under the columns of their own list."""
        drawer: Any = self.admin_site.get_model_admin(related.rows.model)
        rows = list(related.rows.select_related(*drawer.list_select_related).order_by("pk")[: ROWS_ON_A_PAGE + 1])
        if related.only_if_any and not rows:
            return None
        more_url = showing.list_url(drawer.model, **related.filters) if len(rows) > ROWS_ON_A_PAGE else ""
        return Table(tuple(drawer.list_display), rows[:ROWS_ON_A_PAGE], related.caption, more_url=more_url)

    def neighbours(self, row: Any) -> list[Tab]:
        """The ways to the rows before and after this one in its run, as far as there are."""
        beside = self.model._default_manager.filter(pk__in=[row.pk - 1, row.pk + 1], **in_run(row.run_number))
        return [Tab(one.label, showing.row_url(self.model, one.pk), one.pk < row.pk) for one in beside.order_by("pk")]


def refuse_unless_reading(request: HttpRequest) -> None:
    """The cabinet is read, whatever a request says it wants."""
    if request.method not in ("GET", "HEAD"):
        raise PermissionDenied


def addresses_of_pages(question: Question, page: Any) -> dict[str, str]:
    """Where the pages beside this one are."""
    places = {"newer": ("after", page.after), "older": ("before", page.before)}
    addresses = {name: question.address(**{param: key}) for name, (param, key) in places.items() if key is not None}
    ends = {"newest": question.address(), "oldest": question.address(after=0)}
    return addresses | {
        end: address for (end, address), near in zip(ends.items(), ("newer", "older"), strict=True) if near in addresses
    }


def keys_of(label: Label, run_id: int | None, scope: Scope) -> list[int]:
    """The key of a label, or its keys in the newest runs where no run is known."""
    runs = scope.run_model._default_manager.order_by("-pk").values_list("pk", flat=True)
    return [key_of(run, label.number) for run in ([run_id] if run_id else runs[:NEWEST_RUNS])]


def follow(row: Any, path: str) -> Any:
    """What a path of links leads to; None where one of them leads nowhere."""
    for name in path.split("."):
        row = getattr(row, name) if row is not None else None
    return row


def drawers_of_runs(site: admin.AdminSite) -> list[Drawer]:
    """All drawers that a run can be chosen in: of the rows that the engine numbers, then of the others."""
    found = [site.get_model_admin(model) for model in apps.get_models() if site.is_registered(model)]
    others = [one for one in found if isinstance(one, Drawer) and not isinstance(one, RunRowDrawer)]
    return [*drawers(site), *(one for one in others if one.holds_run_rows)]


def drawers(site: admin.AdminSite) -> list[RunRowDrawer]:
    """The drawers of rows of runs that a site has, in the order of their models."""
    found = [site.get_model_admin(model) for model in RunRow.__subclasses__() if site.is_registered(model)]
    return [one for one in found if isinstance(one, RunRowDrawer)]
