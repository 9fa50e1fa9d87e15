"""The link that signs in once."""

import io

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from dashboards.sign_in import sign_in_path

pytestmark = pytest.mark.django_db


@pytest.fixture
def rosa() -> User:
    return User.objects.create_user("rosa", password="her own", is_staff=True)


def is_signed_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def test_opening_the_link_changes_nothing_and_shows_a_button(client: Client, rosa: User) -> None:
    path = sign_in_path(rosa)
    for _ in range(3):
        assert "Sign in as rosa" in client.get(path).content.decode()
    assert not is_signed_in(client)


def test_the_button_signs_in_once(client: Client, rosa: User) -> None:
    path = sign_in_path(rosa)
    assert client.post(path).headers["location"] == "/"
    assert is_signed_in(client)
    another = Client()
    for answer in (another.get(path), another.post(path)):
        assert answer.status_code == 410
        assert "no longer works" in answer.content.decode()
    assert not is_signed_in(another)


def test_logging_in_in_another_way_uses_the_link_up(client: Client, rosa: User) -> None:
    path = sign_in_path(rosa)
    Client().login(username="rosa", password="her own")
    assert client.post(path).status_code == 410


def test_a_second_link_made_within_the_second_of_a_login_works_once_too(client: Client, rosa: User) -> None:
    client.post(sign_in_path(rosa))
    rosa.refresh_from_db()
    path = sign_in_path(rosa)
    assert Client().post(path).status_code == 302
    assert Client().post(path).status_code == 410


@pytest.mark.parametrize("change", [{"is_active": False}, {"is_staff": False}])
def test_whoever_lost_their_rights_cannot_use_a_link(client: Client, rosa: User, change: dict[str, bool]) -> None:
    path = sign_in_path(rosa)
    User.objects.filter(pk=rosa.pk).update(**change)
    assert client.post(path).status_code == 410


@pytest.mark.parametrize("key", ["MQ", "Mg", "x", "%00", "_____", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk5", "2aM"])
def test_a_link_that_was_made_up_does_not_work(client: Client, rosa: User, key: str) -> None:
    for token in ("x", "a-b", "%00", "diu7gh-454e3575196462d797a1e25a7a50be8e"):
        assert client.post(f"/sign-in/{key}/{token}/").status_code == 410


def test_signing_in_wants_a_token_of_the_page(rosa: User) -> None:
    assert Client(enforce_csrf_checks=True).post(sign_in_path(rosa)).status_code == 403


def test_signing_out_is_a_post(client: Client, rosa: User) -> None:
    client.force_login(rosa)
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/").headers["location"] == "/admin/login/"
    assert not is_signed_in(client)


def test_the_command_prints_the_address(client: Client, rosa: User) -> None:
    printed = io.StringIO()
    call_command("sign_in_link", user="rosa", host="https://bench.example.org/", stdout=printed)
    address = printed.getvalue().strip()
    assert address.startswith("https://bench.example.org/sign-in/")
    assert client.post(address.removeprefix("https://bench.example.org")).status_code == 302


def test_the_command_refuses_whoever_is_not_staff() -> None:
    User.objects.create_user("player")
    with pytest.raises(CommandError, match="No active member of staff is called 'player'"):
        call_command("sign_in_link", user="player")
