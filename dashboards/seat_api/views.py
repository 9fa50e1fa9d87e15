"""What a program may ask and do. Each view is one question to the door or one verb."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from dashboards.seat_api.access import Answer, Refused, check_method, for_program, refusal, reply, token_in
from dashboards.seat_api.bodies import decision_in
from dashboards.seat_api.waiting import LONGEST_WAIT_SECONDS, next_state
from simulation.models import Seat
from simulation.players import briefing
from simulation.seats import door, verbs

MOST_DIGITS: Final = 9


@csrf_exempt
async def status(request: HttpRequest) -> HttpResponse:
    """Where the seat stands; with `wait` seconds the answer comes when a turn newer than `after` is open."""
    try:
        check_method(request, "GET")
        token = token_in(request)
        wait_seconds = min(number_in(request, "wait", 0), LONGEST_WAIT_SECONDS)
        return reply(await next_state(token, after=number_in(request, "after", 0), wait_seconds=wait_seconds))
    except Refused as refused:
        return refusal(refused)


@for_program("GET")
def turn(request: HttpRequest, seat: Seat) -> Answer:
    """The open turn, as a model gets it."""
    given = door.turn_given(seat)
    if given is None:
        state = door.state(seat)
        raise Refused(404, "no_turn", "It is not your turn now.", turn=None, status=state["status"])
    return given


@for_program("GET")
def tools(request: HttpRequest, seat: Seat) -> Answer:
    """The briefing in a model's words, how to answer, and the firm's tools as JSON schemas."""
    rules = door.rules(seat)
    answering = briefing.answering_program(wants_rationale=seat.wants_rationale)
    return {"firm": seat.firm.name, "briefing": f"{rules['briefing']}\n\n{answering}\n", "tools": rules["tools"]}


@for_program("GET")
def history(request: HttpRequest, seat: Seat) -> Answer:
    """The firm's own past turns, newest first; `before` is the number from which to go further back."""
    before = number_in(request, "before", 10**MOST_DIGITS)
    turns = door.history(seat, before=before)
    return {"turns": turns, "before": turns[-1]["turn"] if turns and turns[-1]["turn"] > 1 else None}


@for_program("POST")
def answer(request: HttpRequest, seat: Seat, number: int) -> Answer:
    """The decision for a turn, once; the same again is answered as the first time."""
    decision = decision_in(request)
    if seat.wants_rationale and not decision.rationale.strip():
        raise Refused(400, "no_rationale", "This study asks for a rationale with every action. Nothing was sent.")
    try:
        receipt = verbs.answer(seat, number, decision)
    except verbs.AlreadyDecided as error:
        raise Refused(409, "already_decided", str(error), turn=_open_number(seat)) from None
    except verbs.NoSuchTurn as error:
        raise Refused(404, "no_such_turn", str(error), turn=_open_number(seat)) from None
    except verbs.SeatError as error:
        raise Refused(409, "not_now", str(error), turn=_open_number(seat)) from None
    return {"turn": receipt.turn, "repeat": receipt.is_repeat}


@for_program("POST")
def take_back(request: HttpRequest, seat: Seat) -> Answer:
    """The program is back, and plays on in the place of whoever stood in for it."""
    try:
        verbs.take_back(seat)
    except verbs.SeatError as error:
        raise Refused(409, "not_now", str(error)) from None
    return door.state(seat)


@csrf_exempt
def nowhere(request: HttpRequest) -> HttpResponse:
    """Any other address below this one."""
    return refusal(Refused(404, "no_such_address", "There is nothing here; docs/remote.md lists the addresses."))


def _open_number(seat: Seat) -> int | None:
    turn = verbs.open_turn(seat)
    return turn.firm_turn if turn else None


def number_in(request: HttpRequest, name: str, usual: int) -> int:
    """A whole number of the address's query. Raises Refused for anything else."""
    text = request.GET.get(name, str(usual))
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS + 1):
        raise Refused(400, "malformed", f"{name} must be a whole number, not {text[:40]!a}.")
    return int(text)
