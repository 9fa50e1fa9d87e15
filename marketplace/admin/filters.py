"""What a reader may ask of a list: by run, firm, day, account and item, and by what a row belongs to.

Each filter knows its field of the form and its condition on the rows. A value that makes no sense is refused beside its
field and left out; nothing that a reader can type reaches the database unread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from marketplace.admin.finding import LARGEST_RUN, read_label, read_number, read_run
from marketplace.economy import ledger
from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.models import Firm
from marketplace.rows import RunRow, in_run, key_of

FIRMS_IN_A_MENU: Final = 40
DAYS = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?", re.A)

ACCOUNT_GROUPS: Final = {
    "net_income": ("net income", (*ledger.INCOME, *ledger.EXPENSES)),
    "operating_expenses": ("operating expenses", ledger.OPERATING_EXPENSES),
    "equity": ("equity", (*ledger.ASSETS, ledger.PAYABLES)),
}
"""Value of the account filter → its title, and the accounts whose balances add up to it."""


def accounts_of(name: str) -> tuple[str, ...]:
    """The accounts that an account or a group of them stands for."""
    return ACCOUNT_GROUPS[name][1] if name in ACCOUNT_GROUPS else (name,)


class Scope:
    """The run a reader looks in, if any, and what there is in it to choose from."""

    def __init__(self, run_model: type[models.Model], firm_model: type[models.Model], run_id: int | None) -> None:
        self.run_model = run_model
        self.firm_model = firm_model
        self.run_id = run_id

    @cached_property
    def run(self) -> Any:
        """The run, None where none was asked for or none has that id."""
        return self.run_model._default_manager.filter(pk=self.run_id).first() if self.run_id else None

    @cached_property
    def firms(self) -> dict[str, int]:
        """Name → key of the run's firms, in seating order."""
        if self.run is None:
            return {}
        firms = self.firm_model._default_manager.filter(**in_run(self.run.pk)).order_by("pk")
        return dict(firms.values_list("name", "pk"))

    @cached_property
    def items(self) -> list[str]:
        """The items of the run's catalogue, in its order."""
        items = self.run.scenario.get("items") if self.run and isinstance(self.run.scenario, dict) else None
        return [str(item) for item in items] if isinstance(items, dict) else []


class RunField(forms.IntegerField):
    """The id of a run."""

    def __init__(self) -> None:
        refusal = "A run is a whole number, from 1."
        super().__init__(
            required=False,
            min_value=1,
            max_value=LARGEST_RUN,
            widget=forms.TextInput({"placeholder": "any", "inputmode": "numeric", "size": 5}),
            error_messages={"invalid": refusal, "min_value": refusal, "max_value": "There is no such run."},
        )


class DaysField(forms.CharField):
    """A day, or the first and the last of several: 12, or 0-12."""

    def clean(self, value: Any) -> tuple[int, int] | None:
        """First and last day; None for all."""
        value = super().clean(value)
        if not value:
            return None
        days = DAYS.fullmatch(value)
        if not days:
            raise ValidationError("A day is a whole number from 0; several are written 0-12.")
        first = int(days[1])
        return first, int(days[2] or first)


class FirmField(forms.CharField):
    """A firm of the run, by its name or its key."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        super().__init__(required=False, max_length=40, widget=self._input())

    def _input(self) -> forms.Widget:
        firms = self.scope.firms
        if 0 < len(firms) <= FIRMS_IN_A_MENU:
            return forms.Select(choices=[("", "any"), *((name, name) for name in firms)])
        return forms.TextInput({"placeholder": next(iter(firms), "choose a run first"), "size": 16})

    def clean(self, value: Any) -> int | None:
        """The key of the firm; None for any."""
        value = super().clean(value)
        if not value:
            return None
        firms = self.scope.firms
        if self.scope.run is None:
            raise ValidationError("Choose a run first, then one of its firms.")
        if value in firms:
            return firms[value]
        if value in map(str, firms.values()):
            return int(value)
        raise ValidationError(f"Run {self.scope.run_id} has no such firm. It has {', '.join(list(firms)[:8])}.")

    def prepare_value(self, value: Any) -> Any:
        """A firm given by its key is shown by its name."""
        return next((name for name, key in self.scope.firms.items() if str(key) == value), value)


class ReferenceField(forms.CharField):
    """A row of another kind, by its label in the run or its key in full."""

    def __init__(self, model: type[RunRow], scope: Scope) -> None:
        self.model = model
        self.scope = scope
        super().__init__(required=False, max_length=40, widget=forms.TextInput({"size": 12}))

    def clean(self, value: Any) -> int | None:
        """The key of the row; None for any."""
        value = super().clean(value)
        if not value:
            return None
        label = read_label(value) or read_number(value, self.model)
        if label is None or label.model is not self.model:
            raise ValidationError(f"Write it as {self.model.prefix}12.")
        run_id = label.run_id or self.scope.run_id
        if run_id is None:
            raise ValidationError(f"Choose a run first, or write it as 7:{label.name}.")
        return key_of(run_id, label.number)

    def prepare_value(self, value: Any) -> Any:
        """A row given by its key is shown by its label."""
        label = read_number(value, self.model) if isinstance(value, str) else None
        return label.name if label else value


def any_of(fields: Iterable[str], value: object) -> Q:
    """Rows one of whose fields has the value; none where there is no field."""
    condition = Q(pk__in=())
    for field in fields:
        condition |= Q((field, value))
    return condition


@dataclass(frozen=True)
class Filter:
    """One question of the form: its parameter, and the model's fields that answer it, by default that of its name."""

    name: str
    fields: tuple[str, ...] = ()

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        """Its field of the form."""
        return forms.CharField(
            required=False, max_length=60, widget=forms.TextInput({"size": 12, "placeholder": "any"})
        )

    def condition(self, value: Any) -> Q:
        """What holds for the rows that answer it."""
        return any_of(self.fields or (self.name,), value)


@dataclass(frozen=True)
class FirmFilter(Filter):
    """Rows of a firm: its own, or those in which it is one of two sides."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        return FirmField(scope)


@dataclass(frozen=True)
class DayFilter(Filter):
    """Rows of a day or of several, by the model's day or its minute."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        widget = forms.TextInput({"size": 7, "placeholder": "12, 0-12"})
        return DaysField(required=False, max_length=20, label="Day or days", widget=widget)

    def condition(self, value: tuple[int, int]) -> Q:
        first, last = value
        (field,) = self.fields or (self.name,)
        if field == "minute":
            return Q(minute__gte=first * MINUTES_PER_DAY, minute__lt=(last + 1) * MINUTES_PER_DAY)
        return Q((field, first)) if first == last else Q((f"{field}__gte", first), (f"{field}__lte", last))


@dataclass(frozen=True)
class AccountFilter(Filter):
    """Transfers that debit or credit an account, or one of a group."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        accounts = [(name, name.replace("_", " ")) for name in ledger.ACCOUNTS]
        groups = [(name, title) for name, (title, _) in ACCOUNT_GROUPS.items()]
        return forms.ChoiceField(
            required=False, choices=[("", "any"), ("one account", accounts), ("all accounts of", groups)]
        )

    def condition(self, value: str) -> Q:
        accounts = accounts_of(value)
        return Q(debit__in=accounts) | Q(credit__in=accounts)


@dataclass(frozen=True)
class ItemFilter(Filter):
    """Rows about an item; a menu where the run's catalogue is known."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        field = super().form_field(scope, model)
        if scope.items:
            field.widget = forms.Select(choices=[("", "any"), *((item, item) for item in scope.items)])
        return field


@dataclass(frozen=True)
class ChoiceFilter(Filter):
    """Rows with one of the few values that a field may have."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        field: Any = model._meta.get_field(self.name)
        return forms.ChoiceField(required=False, choices=[("", "any"), *field.flatchoices])


@dataclass(frozen=True)
class YesNoFilter(Filter):
    """Rows for which something holds, or does not."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        return forms.ChoiceField(required=False, choices=[("", "any"), ("yes", "yes"), ("no", "no")])

    def condition(self, value: str) -> Q:
        return super().condition(value == "yes")


@dataclass(frozen=True)
class ReferenceFilter(Filter):
    """Rows that belong to a row of another kind. Its field shows only when a link has filled it."""

    def form_field(self, scope: Scope, model: type[models.Model]) -> forms.Field:
        return ReferenceField(self.of(model), scope)

    def of(self, model: type[models.Model]) -> Any:
        """The kind of row that the model's rows belong to by this filter."""
        related: Any = model
        for name in (self.fields or (self.name,))[0].split("__"):
            related = related._meta.get_field(name).related_model
        return related


def run_asked_for(params: Mapping[str, str], filters: Iterable[Filter]) -> int | None:
    """The run that a request names: in its search, as its run, or by a key in full; None where it names none."""
    typed = params.get("q", "")
    label = read_label(typed)
    in_search = label.run_id if label else read_run(typed)
    by_key = (params.get(one.name, "") for one in filters if isinstance(one, FirmFilter | ReferenceFilter))
    return in_search or read_run(f"run {params.get('run', '')}") or first_run_of(by_key)


def first_run_of(texts: Iterable[str]) -> int | None:
    """The first run that one of the texts holds, as in 7:L12 or in a key in full."""
    for text in texts:
        label = read_label(text) or read_number(text, Firm)
        if label and label.run_id:
            return label.run_id
    return None
