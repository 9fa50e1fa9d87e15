"""A run of another treatment, or a practice, is told from the others wherever runs stand beside each other."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.small_runs import make_run

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("address", ["/", "/runs/{run}/", "/admin/simulation/run/{run}/change/"])
def test_an_assisted_run_and_a_practice_are_marked_on_every_page_that_shows_their_results(
    client: Client, address: str
) -> None:
    client.force_login(User.objects.create_superuser("rosa"))
    run = make_run()
    plain = client.get(address.format(run=run.pk)).content.decode()
    assert "assisted" not in plain
    assert "practice" not in plain
    run.information, run.is_practice = "assisted", True
    run.save()
    page = client.get(address.format(run=run.pk)).content.decode()
    assert "assisted" in page
    assert "practice" in page
