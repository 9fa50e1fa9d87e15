"""Deleting a run takes all its rows and nothing of another run."""

from __future__ import annotations

from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import models
from django.utils import timezone

from marketplace.models import Firm
from marketplace.rows import RunRow, in_run
from simulation import control, deletion
from simulation.engine.decision import Decision
from simulation.models import Ask, Call, ChatMessage, ChatSummary, Conversation, Run, Seat, Spell
from simulation.seats import verbs
from simulation.store import differences
from tests.seat_play import answer_open_turn, play, seat_of, seated_run

pytestmark = pytest.mark.django_db


def full_run(seed: int = 3) -> Run:
    """A run that is over, with rows in every table that can hold any of a run."""
    run = seated_run("roaster_A", "farmer_A", days=9, seed=seed)
    verbs.take(seat_of(run, "roaster_A"))
    letter = Decision("send_message", {"recipient": "roaster_A", "title": "Green", "body": "Buy now."})
    answer_open_turn(run, "farmer_A", letter)
    play(run)
    firm, ask = seat_of(run, "roaster_A").firm, Ask.objects.filter(run=run).latest("pk")
    Conversation.objects.create(pk=firm.pk, run=run, firm=firm, system="You.", tools="[]")
    of_ask: dict[str, Any] = {"run": run, "firm": firm, "ask": ask}
    ChatMessage.objects.create(**of_ask, number=1, day=0, content="{}")
    ChatSummary.objects.create(**of_ask, number=1, first=0, until=1, text="So far")
    Call.objects.create(
        **of_ask, day=0, purpose="decide", outcome="used", attempt=1, latency_ms=1, model_asked="m",
        messages_before=0, summaries_before=0,
    )  # fmt: skip
    return run


def rows_of(run_id: int) -> dict[str, int]:
    """How many rows of each table belong to a run: by key, or by a link to it or its seats; empty tables left out."""
    counts = {}
    for model in apps.get_models():
        rows = 0
        if issubclass(model, RunRow):
            rows += model._default_manager.filter(**in_run(run_id)).count()
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and field.related_model is Run:
                rows += model._default_manager.filter(**{field.attname: run_id}).count()
            if isinstance(field, models.ForeignKey) and field.related_model is Seat:
                rows += model._default_manager.filter(**{f"{field.name}__run_id": run_id}).count()
        if rows:
            counts[model.__name__] = rows
    return counts


def test_every_row_of_a_run_goes_and_none_of_another() -> None:
    doomed, other = full_run(seed=1), full_run(seed=2)
    held = rows_of(other.pk)
    assert rows_of(doomed.pk).keys() == held.keys()
    assert {model.__name__ for model in (Seat, Spell, Ask, Call, ChatMessage, ChatSummary, Conversation)} <= held.keys()
    assert {model.__name__ for model in apps.get_models() if issubclass(model, RunRow)} <= held.keys()
    counts = control.delete_run(doomed.pk)
    assert rows_of(doomed.pk) == {}
    assert not Run.objects.filter(pk=doomed.pk).exists()
    assert rows_of(other.pk) == held
    assert differences(other) == []
    assert counts["turns"] > 20
    assert counts["transfers"] > 20


def test_a_run_longer_than_one_bite_goes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    run, other = full_run(seed=1), full_run(seed=2)
    held = rows_of(other.pk)
    monkeypatch.setattr(deletion, "ROWS_AT_ONCE", 7)
    control.delete_run(run.pk)
    assert (rows_of(run.pk), rows_of(other.pk)) == ({}, held)


@pytest.mark.parametrize("status", [Run.Status.RUNNING, Run.Status.WAITING])
def test_a_run_that_moves_is_not_deleted(status: str) -> None:
    run = seated_run("roaster_A")
    Run.objects.filter(pk=run.pk).update(status=status)
    with pytest.raises(control.NotPossible, match="pause or cancel it before it is deleted"):
        control.delete_run(run.pk)
    assert Firm.objects.filter(run=run).count() == 6


@pytest.mark.parametrize("status", ["draft", "paused", "finished", "stopped", "failed"])
def test_a_run_that_rests_is_deleted_whatever_it_rests_as(status: str) -> None:
    run = seated_run("roaster_A")
    Run.objects.filter(pk=run.pk).update(status=status)
    control.delete_run(run.pk)
    assert rows_of(run.pk) == {}


def test_a_deletion_that_was_cut_short_leaves_a_run_that_says_so_and_can_be_deleted_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = full_run()

    def cut(run: Run) -> None:
        raise ConnectionError("the power went")

    with monkeypatch.context() as broken:
        broken.setattr(deletion, "_forget", cut)
        with pytest.raises(ConnectionError):
            control.delete_run(run.pk)
    run.refresh_from_db()
    assert (run.status, run.status_reason) == (Run.Status.STOPPED, "being deleted")
    control.delete_run(run.pk)
    assert rows_of(run.pk) == {}


def test_a_run_to_be_resumed_by_itself_is_not_when_it_is_being_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    from simulation import tasks

    run = seated_run("roaster_A")
    control.pause_run(run.pk, by=Run.PausedBy.PROVIDER, resume_at=timezone.now())
    with monkeypatch.context() as broken:
        broken.setattr(deletion, "_rows_of", lambda run: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            control.delete_run(run.pk)
    tasks.sweep()
    run.refresh_from_db()
    assert run.status == Run.Status.STOPPED


@pytest.mark.django_db(transaction=True)
def test_the_database_finds_no_broken_link_after_a_deletion() -> None:
    """Inside a test's own transaction nothing is checked; here every commit is."""
    doomed, other = full_run(seed=1), full_run(seed=2)
    control.delete_run(doomed.pk)
    call_command("verify_run", other.pk)
