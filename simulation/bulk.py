"""The one way in which many rows reach the database: COPY on PostgreSQL, executemany elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from django.db import connection, models

Row = Sequence[Any]


@cache
def columns_of(model: type[models.Model]) -> tuple[str, ...]:
    """A model's columns in the order of its fields: the order in which rows are given."""
    return tuple(str(field.column) for field in model._meta.concrete_fields)


def insert_rows(model: type[models.Model], rows: Sequence[Row]) -> None:
    """Adds new rows, each a value per column, JSON as text."""
    if not rows:
        return
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {_target(model)} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        else:
            cursor.executemany(_insert(model), rows)


def upsert_rows(model: type[models.Model], rows: Sequence[Row]) -> None:
    """Adds rows, or brings those whose key exists up to date."""
    if not rows:
        return
    key, *others = columns_of(model)
    changes = ", ".join(f"{_quoted(column)} = excluded.{_quoted(column)}" for column in others)
    with connection.cursor() as cursor:
        cursor.executemany(f"{_insert(model)} ON CONFLICT ({_quoted(key)}) DO UPDATE SET {changes}", rows)


def _insert(model: type[models.Model]) -> str:
    values = ", ".join(["%s"] * len(columns_of(model)))
    return f"INSERT INTO {_target(model)} VALUES ({values})"  # noqa: S608 - names come from the models


def _target(model: type[models.Model]) -> str:
    return f"{_quoted(model._meta.db_table)} ({', '.join(map(_quoted, columns_of(model)))})"


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)


def rows_as_stored(model: type[models.Model], rows: Iterable[Row]) -> Iterable[Row]:
    """Rows as they read back: keys as they are, JSON text parsed."""
    json_places = [
        place for place, field in enumerate(model._meta.concrete_fields) if isinstance(field, models.JSONField)
    ]
    for row in rows:
        values = list(row)
        for place in json_places:
            values[place] = json.loads(values[place])
        yield tuple(values)
