"""The page on programs says what programs meet: every refusal, and when a run is over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from simulation.models import Run
from simulation.seats.links import token_of
from tests.seat_play import seat_of, seated_run

REFUSAL = re.compile(r'Refused\(\s*(\d{3}), "(\w+)"|_unknown\("(\w+)"')
ROW = re.compile(r"^\| (\d{3}) \| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


def test_every_refusal_of_the_http_seat_stands_in_the_documentation_with_its_status() -> None:
    room, page = (Path(settings.BASE_DIR) / path for path in ("dashboards/seat_api", "docs/remote.md"))
    source = "".join(file.read_text(encoding="utf-8") for file in sorted(room.glob("*.py")))
    told = {
        (status, word)
        for status, words in ROW.findall(page.read_text(encoding="utf-8"))
        for word in re.findall(r"\w+", words)
    }
    met = {(status or "401", word or of_token) for status, word, of_token in REFUSAL.findall(source)}
    met |= {("401", word) for word in ("unknown_token", "void_token")}
    assert told == met


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("status", "is_over"), [("paused", False), ("failed", False), ("finished", True), ("stopped", True)]
)
def test_a_run_is_over_for_its_programs_where_the_page_says_so(client: Client, status: str, is_over: bool) -> None:
    """A program ends when its run is over; one whose run has failed waits, for it may go on."""
    run = seated_run("roaster_A", kind="remote")
    Run.objects.filter(pk=run.pk).update(status=status)
    token = token_of(seat_of(run, "roaster_A"))
    state = client.get("/api/seat/", headers={"Authorization": f"Bearer {token}"}).json()
    assert (state["status"], state["is_over"]) == (status, is_over)
