"""The site's policy for browsers, as a real browser takes it."""

import subprocess
import sys
from collections.abc import Iterator
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from coffeebench_site.environment import BASE_DIR
from coffeebench_site.redis_server import unused_port
from tests.waiting import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def web(site_variables: dict[str, str]) -> Iterator[str]:
    """The address of a Daphne that sees the tests' database."""
    address = f"http://127.0.0.1:{(port := unused_port())}"
    daphne = ["-m", "daphne", "-v", "0", "-p", str(port), "coffeebench_site.asgi:application"]
    process = subprocess.Popen([sys.executable, *daphne], cwd=BASE_DIR, env=site_variables)
    eventually(lambda: is_there(address), 30)
    yield address
    process.terminate()
    process.wait()


def is_there(address: str) -> bool:
    """Whether a server answers at an address."""
    try:
        return bool(urlopen(f"{address}/healthz").status == 200)
    except URLError:
        return False


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
