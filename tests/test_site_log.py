"""The log tells of addresses without the keys in them."""

import logging
import sys

import pytest
from django.test import Client

from coffeebench_site.log import KeylessFormatter
from simulation.seats.links import path_of
from tests.seat_play import seat_of, seated_run


@pytest.fixture
def handler() -> logging.Handler:
    """The handler to which the site's loggers hand their lines."""
    (handler,) = (each for each in logging.getLogger().handlers if isinstance(each.formatter, KeylessFormatter))
    return handler


@pytest.mark.django_db
def test_a_refused_request_is_told_without_the_key_of_its_seat(
    client: Client, handler: logging.Handler, caplog: pytest.LogCaptureFixture
) -> None:
    seat = seat_of(seated_run("roaster_A"), "roaster_A")
    assert client.get(f"{path_of(seat)}nothing/").status_code == 404
    (record,) = caplog.records
    assert path_of(seat) in record.getMessage()
    line = handler.format(record)
    number, _, signature = path_of(seat).strip("/").rpartition("~")
    assert signature not in line
    assert f"{number}~…/nothing/" in line


def test_what_an_exception_says_is_told_without_keys(handler: logging.Handler) -> None:
    try:
        raise ValueError("/study/7.1~" + "x" * 43 + "/")
    except ValueError:
        record = logging.LogRecord("site", logging.ERROR, __file__, 1, "it broke", None, sys.exc_info())
    assert "ValueError: /study/7.1~…/" in handler.format(record)
