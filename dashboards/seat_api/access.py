"""Which seat a request is for: the one whose token its Authorization header bears. Cookies and addresses open none."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from simulation.links import LinkError
from simulation.models import Seat
from simulation.players.registry import REMOTE
from simulation.seats import clocks, verbs
from simulation.seats.links import seat_of

BEARER: Final = "bearer"
SIGN_OF_LIFE_EVERY: Final = timedelta(seconds=5)
HEADERS: Final = {"Cache-Control": "no-store, private", "Vary": "Authorization", "X-Robots-Tag": "noindex, nofollow"}

Answer = dict[str, Any]
View = Callable[..., Answer]


class Refused(Exception):
    """A request that is not answered as it wished: the HTTP status, one word for programs, a sentence for people."""

    def __init__(self, status: int, error: str, message: str, /, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.answer = {"error": error, "message": message, **more}
        self.headers: dict[str, str] = {}


def reply(answer: Answer) -> HttpResponse:
    """An answer as JSON, that no cache keeps."""
    return JsonResponse(answer, headers=HEADERS)


def refusal(refused: Refused) -> HttpResponse:
    """A refusal as JSON."""
    return JsonResponse(refused.answer, status=refused.status, headers={**HEADERS, **refused.headers})


def for_program(method: str) -> Callable[[View], Callable[..., HttpResponse]]:
    """Makes a view of a function that gets the request and the seat, and returns what to answer.

    Without a cookie there is nothing for another site to misuse, so there is no CSRF token either.
    """

    def make(view: View) -> Callable[..., HttpResponse]:
        @csrf_exempt
        @wraps(view)
        def answered(request: HttpRequest, **arguments: Any) -> HttpResponse:
            try:
                check_method(request, method)
                return reply(view(request, program_seat(token_in(request)), **arguments))
            except Refused as refused:
                return refusal(refused)

        return answered

    return make


def check_method(request: HttpRequest, method: str) -> None:
    """Refuses a request of another method."""
    if request.method != method:
        refused = Refused(405, "wrong_method", f"This address answers {method} requests only.")
        refused.headers["Allow"] = method
        raise refused


def token_in(request: HttpRequest) -> str:
    """The token that the request bears."""
    kind, _, token = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != BEARER or not token.strip():
        raise _unknown("no_token", "Send the seat's token in a header, and nowhere else: Authorization: Bearer TOKEN")
    return token.strip()


def program_seat(token: str) -> Seat:
    """The seat that a token opens, whose program has just given a sign of life."""
    try:
        seat = seat_of(token)
    except LinkError as error:
        raise _unknown("void_token" if error.is_void else "unknown_token", str(error)) from None
    if seat.firm.player != REMOTE:
        raise Refused(403, "not_a_program", f"A person plays {seat.firm.name}: this seat is played at a browser.")
    note_presence(seat)
    return seat


def _unknown(error: str, message: str) -> Refused:
    refused = Refused(401, error, message)
    more = "" if error == "no_token" else ', error="invalid_token"'
    refused.headers["WWW-Authenticate"] = f'Bearer realm="seat"{more}'
    return refused


def note_presence(seat: Seat) -> None:
    """The program is there, for whoever watches over the run. Its first request takes the seat."""
    now = timezone.now()
    if seat.taken_at is None:
        verbs.take(seat)
    elif seat.last_seen_at is None or now - seat.last_seen_at > SIGN_OF_LIFE_EVERY:
        clocks.beat(seat, now, is_active=True)
