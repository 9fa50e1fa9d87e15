"""A run whose every text is hostile, in a real browser: no dialog opens, no policy breaks, nothing leaves the site."""

from __future__ import annotations

import pytest
from playwright.sync_api import Dialog, Page, Request

from dashboards.sign_in import sign_in_path
from dashboards.tabs import TABS
from marketplace.rows import number_of
from simulation.models import Call, Turn
from tests.browser.conftest import DRAWN, Site
from tests.hostile import ATTRIBUTE, ELEMENT, TEXTS, HostileRun

pytestmark = pytest.mark.browser

VIOLATIONS = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", event => window.violations.push(
        `${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
GROWN = f"document.querySelectorAll('{ELEMENT}, [{ATTRIBUTE}], [onclick], [onload], [onfocus], [onerror]').length"


def test_no_text_comes_alive_in_a_browser(site: Site, page: Page) -> None:
    hostile = HostileRun()
    dialogs: list[str] = []
    abroad: list[str] = []
    page.on("dialog", lambda dialog: note(dialog, dialogs))
    page.on("request", lambda request: abroad.append(request.url) if leaves(request, site) else None)
    page.add_init_script(VIOLATIONS)
    page.goto(site.address + sign_in_path(hostile.researcher))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{site.address}/")
    for path in pages_of(hostile):
        page.goto(site.address + path)
        page.wait_for_function(DRAWN)
        assert page.evaluate("window.violations") == [], path
        assert page.evaluate(GROWN) == 0, path
    assert dialogs == []
    assert abroad == []


def note(dialog: Dialog, dialogs: list[str]) -> None:
    """Remembers what a dialog said, and closes it, since it would hold the page up."""
    dialogs.append(dialog.message)
    dialog.dismiss()


def leaves(request: Request, site: Site) -> bool:
    """Whether a page asks another site for something."""
    return not request.url.startswith((site.address, site.address.replace("http", "ws"), "data:", "blob:"))


def pages_of(hostile: HostileRun) -> list[str]:
    """The pages with most of the texts."""
    own = f"/runs/{hostile.run.pk}/"
    turn = Turn.objects.filter(run=hostile.run, tool=TEXTS[2]).first() or Turn.objects.filter(run=hostile.run)[0]
    call = Call.objects.filter(run=hostile.run)[1]
    return [
        "/",
        *(f"{own}?tab={tab}" for tab in TABS),
        f"{own}?tab=messages&day=1&as=roaster_A",
        f"{own}turns/{number_of(turn.pk)}/",
        f"{own}calls/{call.pk}/",
        f"{own}firms/retailer_B/",
        f"{own}spend/",
        f"{own}seats/",
        f"/runs/{hostile.waiting.pk}/",
        f"/runs/new/?of={hostile.run.pk}",
        f"/seat/{hostile.token('roaster_A')}/",
        f"/seat/{hostile.token('roaster_A', hostile.waiting)}/",
        *(f"/study/{token}/" for token in hostile.ways()),
        f"/studies/{hostile.study.pk}/",
        f"/studies/{hostile.study.pk}/edit/",
        f"/admin/simulation/turn/{turn.pk}/change/",
        f"/admin/simulation/call/?run__id__exact={hostile.run.pk}",
    ]
