"""The site's policy for browsers, as a real browser takes it."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from tests.browser.conftest import running_site

pytestmark = pytest.mark.browser


@pytest.fixture
def web(transactional_db: None) -> Iterator[str]:
    """The address of a Daphne that sees the tests' database."""
    with running_site() as site:
        yield site.address


def test_the_admin_and_plotly_work_without_a_complaint_in_the_console(web: str, page: Page) -> None:
    User.objects.create_superuser("rosa", password="her own")
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))

    page.goto(f"{web}/admin/")
    page.fill("#id_username", "rosa")
    page.fill("#id_password", "her own")
    page.click("input[type=submit]")
    expect(page.locator("#content h1")).to_have_text("Site administration")

    page.goto(f"{web}/admin/auth/user/")
    page.add_script_tag(url="/static/plotly/plotly.min.js")
    figure = (
        "Plotly.newPlot(document.body, [{y: [1, 2]}]).then(() => document.querySelectorAll('.scatterlayer').length)"
    )
    assert page.evaluate(figure) == 1
    assert complaints == []
