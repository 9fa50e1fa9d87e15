"""Seat links: unguessable, void once reissued or revoked, and good for one seat."""

from __future__ import annotations

import pytest

from simulation import control
from simulation.engine.decision import WAIT
from simulation.links import LinkError
from simulation.models import Seat
from simulation.seats import verbs
from simulation.seats.links import seat_of, token_of
from tests import seat_play

pytestmark = pytest.mark.django_db


def a_seat(*firms: str) -> Seat:
    """The seat of roaster_A."""
    return seat_play.seat_of(seat_play.seated_run("roaster_A", *firms), "roaster_A")


def test_a_link_opens_its_seat_and_stays_the_same() -> None:
    seat = a_seat("farmer_A")
    assert seat_of(token_of(seat)) == seat
    assert token_of(seat) == token_of(seat_play.seat_of(seat.run, "roaster_A"))
    assert seat_of(token_of(seat_play.seat_of(seat.run, "farmer_A"))) != seat


def test_a_link_can_be_written_into_any_address() -> None:
    token = token_of(a_seat())
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")
    assert len(token.partition("~")[2]) >= 43, "256 bits of a key that only this site has"


def test_no_character_of_a_link_can_be_changed() -> None:
    token = token_of(a_seat("farmer_A"))
    last = len(token) - 1  # its lowest bits may stand for nothing
    for place in range(last):
        other = "A" if token[place] != "A" else "B"
        with pytest.raises(LinkError) as refused:
            seat_of(token[:place] + other + token[place + 1 :])
        assert not refused.value.is_void


@pytest.mark.parametrize("token", ["", "~", "1", "1.1", "1.1~", "1.1~x", "x" * 5000, "é~è", "\0", "1.1~\udc80", "../x"])
def test_nonsense_opens_nothing_and_breaks_nothing(token: str) -> None:
    a_seat()
    with pytest.raises(LinkError, match="This link opens no seat"):
        seat_of(token)


def test_a_link_of_another_purpose_opens_nothing() -> None:
    from django.core.signing import Signer

    seat = a_seat()
    with pytest.raises(LinkError):
        seat_of(Signer(sep="~", salt="another").sign(f"{seat.pk}.1"))


def test_a_reissued_link_is_new_and_makes_the_old_one_void_and_the_game_goes_on() -> None:
    seat = a_seat()
    old = token_of(seat)
    verbs.answer(seat, 1, WAIT)
    verbs.reissue(seat)
    with pytest.raises(LinkError, match="no longer valid") as refused:
        seat_of(old)
    assert refused.value.is_void
    assert seat_of(token_of(seat)).run == seat.run


def test_a_revoked_link_opens_nothing_until_another_is_issued() -> None:
    seat = a_seat()
    token = token_of(seat)
    verbs.revoke(seat)
    with pytest.raises(LinkError) as refused:
        seat_of(token)
    assert refused.value.is_void
    verbs.reissue(seat)
    assert seat_of(token_of(seat)) == seat
    with pytest.raises(LinkError):
        seat_of(token)


def test_the_link_of_a_deleted_run_says_so() -> None:
    seat = a_seat()
    token = token_of(seat)
    control.cancel_run(seat.run_id)
    control.delete_run(seat.run_id)
    with pytest.raises(LinkError, match="The run of this seat has been deleted"):
        seat_of(token)
