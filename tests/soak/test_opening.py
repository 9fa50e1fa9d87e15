"""How soon the page of a finished run stands with all its charts in a browser, and how many queries it takes.

The clock is printed and not asserted, as in `test_watchers`; run it with `-s`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page

from dashboards.sign_in import sign_in_path
from dashboards.tabs import TABS
from simulation.models import Run
from tests.browser.conftest import DRAWN, Site, site, whole_site
from tests.browser.test_pictures import played

__all__ = ["site", "whole_site"]  # fixtures

MOST_QUERIES = 12
OPENINGS = 7

pytestmark = [pytest.mark.soak, pytest.mark.browser]


@pytest.mark.parametrize("days", [90, 365])
def test_a_finished_run_opens_with_all_charts_drawn(site: Site, page: Page, client: Client, days: int) -> None:
    run = played(days)
    rosa = User.objects.create_user("rosa", is_staff=True)
    client.force_login(rosa)
    page.goto(site.address + sign_in_path(rosa))
    page.get_by_role("button", name="Sign in as rosa").click()
    print(f"\n{days} days, {run.turns} turns, {run.events} events; from the click to the last chart:")
    for tab in TABS:
        queries = queries_of(client, run, tab)
        print(f"  {tab}: {in_words(opening(site, page, run, tab) for _ in range(OPENINGS))}, {queries} queries")
        assert queries <= MOST_QUERIES


def queries_of(client: Client, run: Run, tab: str) -> int:
    """How many queries the page takes, those for session and user among them."""
    with CaptureQueriesContext(connection) as queries:
        assert client.get(f"/runs/{run.pk}/", {"tab": tab}).status_code == 200
    return len(queries)


def opening(site: Site, page: Page, run: Run, tab: str) -> float:
    """Milliseconds from the beginning of the navigation until every chart is drawn."""
    page.goto(f"{site.address}/runs/{run.pk}/?tab={tab}")
    drawn = page.wait_for_function(f"() => ({DRAWN})() && performance.now()", polling="raf")
    return float(drawn.json_value())


def in_words(milliseconds: Iterable[float]) -> str:
    times = sorted(milliseconds)
    return f"median {statistics.median(times):.0f} ms ({times[0]:.0f} to {times[-1]:.0f})"
