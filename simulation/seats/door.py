"""What a seat may know: the one function that its page, its socket and its HTTP answers are made from.

All of it is what the firm's player was given at its own turns (`engine.observation`), what its own calls returned, and
where the table stands in public: whether the run moves, and which firms are waited for. Nothing is numbered by the
run as a whole: a turn has the number it has among the firm's own.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Max

from marketplace.books import balances_in, books_of_firms
from marketplace.economy import statements
from marketplace.economy.economy import MINUTES_PER_DAY, firm_names
from marketplace.economy.money import usd
from simulation import asking
from simulation.engine.clock import (
    CALLS_PER_DAY,
    CLOSING_MINUTE,
    MINUTES_PER_CALL,
    clock_text,
    date_text,
)
from simulation.engine.panels import LOOKS
from simulation.engine.scenario import Scenario
from simulation.engine.tools import schemas_for
from simulation.models import Ask, DayEnd, Run, Seat, Turn
from simulation.players import briefing
from simulation.players.llm.settings import ModelSettings
from simulation.seats import verbs
from simulation.seats.turns import asks_of

HISTORY_PAGE = 60

# A seat hears that something is wrong, not whose provider said what.
PAUSE_REASONS = {
    Run.PausedBy.PERSON: "The researcher has paused the run. Your turn waits; nothing is lost.",
    Run.PausedBy.BUDGET: "The run rests until the researcher lets it go on. Nothing is lost.",
    Run.PausedBy.PLAYER: "You have paused the game. Your time stands still until you go on; nothing is lost.",
    Run.PausedBy.PROVIDER: "Another player cannot answer just now. The run goes on when it can; nothing is lost.",
}
REASONS = {
    Run.Status.DRAFT: "The run has not started yet.",
    Run.Status.FAILED: "Something went wrong on our side. Your actions are saved; the researcher can let it go on.",
}


def state(seat: Seat) -> dict[str, Any]:
    """Where the seat stands: status, time, the open turn, who is waited for. Small: it is sent at every change."""
    run = seat.run
    asks = asks_of(seat.firm_id).order_by("-pk")
    last = asks.first()
    turn = last if last is not None and last.answered_at is None else None
    return {
        "firm": seat.firm.name,
        "role": seat.firm.role,
        "label": seat.label,
        "status": _status(seat, turn),
        "status_text": status_text(seat),
        "information": run.information,
        "is_practice": run.is_practice,
        "days": run.days,
        "is_over": seat.is_over,
        "is_taken": seat.taken_at is not None,
        "turn": turn.firm_turn if turn else None,
        "turn_since": turn.created_at.isoformat() if turn else None,
        "time": time_of(last) if last else None,
        "waiting_for": waited_for(run, seat, turn),
        "waiting_since": run.status_since.isoformat() if last is None else _iso(last.answered_at),
        "driver": seat.driver,
        "driver_since": seat.driver_since.isoformat(),
        "may_take_back": seat.may_take_back,
        "queue": seat.queue,
        "queue_stopped": seat.queue_stopped,
        "wants_rationale": seat.wants_rationale,
        "nudge": seat.nudge,
        "nudged_at": _iso(seat.nudged_at),
        "last_turn": last.firm_turn if last else 0,
    }


def given(seat: Seat) -> dict[str, Any]:
    """What the firm was given: at its open turn, the result of its last call and, if it was woken, an observation.

    `observation` is the newest one it was given today, with the minute from which it is; between wakes there is none
    newer. `panels` are the free looks of an assisted seat.
    """
    last = asks_of(seat.firm_id).order_by("-pk").first()
    if last is None:
        return {"result": None, "woken_by": [], "observation": None, "observed": None, "panels": panels(seat)}
    now = json.loads(last.given)
    observation, ask = _newest_observation(last)
    return {
        "result": now["result"],
        "woken_by": now["observation"]["woken_by"] if now["observation"] else [],
        "observation": observation,
        "observed": time_of(ask) if ask else None,
        "panels": panels(seat),
    }


def turn_given(seat: Seat) -> dict[str, Any] | None:
    """The open turn as a model gets it: its number, the last result, the observation or none. None: not open."""
    turn = verbs.open_turn(seat)
    if turn is None:
        return None
    return {"turn": turn.firm_turn, "time": time_of(turn), **json.loads(turn.given)}


def panels(seat: Seat) -> dict[str, Any]:
    """The free looks of an assisted seat, as of now; none for one that looks at a model's cost."""
    text = panels_text(seat)
    return json.loads(text) if text else {}


def panels_text(seat: Seat) -> str:
    """The free looks as they are stored, unread; empty where there are none."""
    return seat.panels if seat.run.information == Run.Information.ASSISTED else ""


def looks(seat: Seat) -> list[dict[str, Any]]:
    """The newest result of each looking tool that the firm has called, oldest first, each with its time."""
    own = Turn.objects.filter(firm_id=seat.firm_id, tool__in=(*LOOKS, "read_message"), accepted=True)
    newest = own.order_by().values("tool").annotate(last=Max("pk")).values_list("last", flat=True)
    turns = Turn.objects.filter(pk__in=list(newest)).order_by("pk")
    return [_as_told(turn, 0) for turn in turns]


def calls_since(seat: Seat, minute: int, tools: Collection[str]) -> list[dict[str, Any]]:
    """The firm's own accepted calls of some tools from a simulated minute on: what it has settled since it looked."""
    own = Turn.objects.filter(firm_id=seat.firm_id, tool__in=tools, accepted=True, minute__gte=minute)
    return [
        {"tool": tool, "arguments": json.loads(arguments)} for tool, arguments in own.values_list("tool", "arguments")
    ]


def history(seat: Seat, *, before: int | None = None, day: int | None = None, limit: int = HISTORY_PAGE) -> list[Any]:
    """The firm's own turns before a number or of a day, newest first: what was decided, by whom, why, what it gave."""
    asks = asks_of(seat.firm_id).filter(answered_at__isnull=False)
    if before is not None:
        asks = asks.filter(firm_turn__lt=before)
    if day is not None:
        asks = asks.filter(day=day)
    numbers = dict(asks.order_by("-pk").values_list("pk", "firm_turn")[:limit])
    turns = Turn.objects.filter(pk__in=list(numbers)).order_by("-pk")
    return [_as_told(turn, numbers[turn.pk]) for turn in turns]


def under_way(seat: Seat) -> dict[str, Any] | None:
    """The seat's own decision that is stored and not carried out yet, because the table waits for others."""
    last = asks_of(seat.firm_id).filter(answered_at__isnull=False).order_by("-pk").first()
    if last is None or Turn.objects.filter(pk=last.pk).exists():
        return None
    return {"turn": last.firm_turn, **moment(last.minute), "tool": last.tool, "arguments": json.loads(last.arguments)}


def rules(seat: Seat) -> dict[str, Any]:
    """What stays as it is during a run: the briefing in a model's words, how a person plays, the tools' JSON schemas.

    `recipes` are the numbers of the briefing that say what making goods costs and gives.
    """
    scenario = Scenario.model_validate(seat.run.scenario)
    names = [name for name, _ in firm_names(scenario)]
    return {
        "briefing": briefing.briefing(scenario, seat.firm.name, objective_of(seat)),
        "how_you_play": briefing.answering_person(
            is_assisted=seat.run.information == Run.Information.ASSISTED, wants_rationale=seat.wants_rationale
        ),
        "recipes": recipes(scenario),
        "tools": schemas_for(seat.firm.name, seat.firm.role, scenario, names),
        "firms": names,
    }


def recipes(scenario: Scenario) -> dict[str, Any]:
    """What the briefing says of making goods, for each item: cost in USD a kg put in, kg out of a kg, days it takes."""
    made: dict[str, Any] = {"roast_cap_kg": scenario.roast_daily_cap_kg, "grown": {}, "roasted": {}}
    for name, item in scenario.items.items():
        if item.production:
            made["grown"][name] = {
                "cost": item.production.cost,
                "cap_kg": item.production.daily_cap_kg,
                "days": item.production.lag_days,
            }
        if item.roasting:
            made["roasted"][item.roasting.green_item] = {
                "gives": name,
                "cost": item.roasting.labour,
                "output": item.roasting.output_per_input,
                "days": item.roasting.lag_days,
            }
    return made


def objective_of(seat: Seat) -> briefing.Objective:
    """What the seat's player is asked to achieve: as its stand-in model would be, else net income."""
    settings = seat.run.model_settings.get(seat.firm.name)
    return ModelSettings.model_validate(settings).objective if settings else briefing.Objective()


def books(seat: Seat) -> dict[str, Any]:
    """The firm's own books day by day, once its game is over; before that they are what its calls show."""
    firm = seat.firm
    if not seat.is_over:
        return {}
    firm.refresh_from_db()
    ends = DayEnd.objects.filter(firm_id=firm.pk).order_by("day")
    if firm.bankrupt_day is not None:
        ends = ends.filter(day__lt=firm.bankrupt_day)
    balances = balances_in(books_of_firms(firm.transfers.all()).get(firm.pk, {}))
    return {
        "net_income": usd(firm.net_income_micros),
        "revenue": usd(firm.revenue_micros),
        "cash": usd(firm.cash_micros),
        "equity": usd(firm.equity_micros),
        "bankrupt_day": firm.bankrupt_day,
        "calls": firm.calls,
        "refused_calls": firm.refused_calls,
        "idle_days": firm.idle_days,
        "income_statement": {
            name: usd(amount) for name, amount in statements.income_statement(balances)._asdict().items()
        },
        "net_income_by_day": [[end.day, usd(end.net_income_micros)] for end in ends],
    }


def time_of(ask: Ask) -> dict[str, Any]:
    """A turn's moment as a player reads it, and how much of the day is left."""
    left = max(0, (CLOSING_MINUTE - ask.minute % MINUTES_PER_DAY) // MINUTES_PER_CALL)
    return {**moment(ask.minute), "calls_left_today": left, "calls_per_day": CALLS_PER_DAY}


def moment(minute: int) -> dict[str, Any]:
    """A simulated minute as a player reads it."""
    day = minute // MINUTES_PER_DAY
    return {"minute": minute, "day": day, "date": date_text(day), "clock": clock_text(minute)}


def status_text(seat: Seat) -> str:
    """What a seat is told of its run's state, in words that name nobody's trouble."""
    run, bankrupt_day = seat.run, seat.firm.bankrupt_day
    if bankrupt_day is not None:
        goes_on = "" if run.is_closed else " The run goes on without it."
        return f"{seat.firm.name} went bankrupt on day {bankrupt_day}; its net income stays as it was then.{goes_on}"
    if run.status == Run.Status.PAUSED:
        return PAUSE_REASONS.get(Run.PausedBy(run.paused_by or "person"), "")
    if run.status == Run.Status.STOPPED:
        went_bankrupt = run.status_reason.startswith(f"{run.evaluated} went bankrupt on day ")
        return run.status_reason if went_bankrupt else "The researcher has ended the run."
    return REASONS.get(Run.Status(run.status), "")


def waited_for(run: Run, seat: Seat, turn: Ask | None) -> list[str]:
    """The firms whose answers the table waits for, other than the seat's own; nobody while its own turn is open."""
    if turn is not None or not run.is_moving:
        return []
    open_firms = asking.waiting_asks(run).values_list("firm__name", flat=True)
    return [name for name in open_firms if name != seat.firm.name]


def _status(seat: Seat, turn: Ask | None) -> str:
    """One word: your_turn, stand_in, waiting, paused, draft, failed, bankrupt, finished, stopped."""
    run = seat.run
    if seat.firm.bankrupt_day is not None:
        return "bankrupt"
    if not run.is_moving:
        return str(run.status)
    if seat.driver != Seat.Driver.OWNER:
        return "stand_in"
    return "your_turn" if turn else "waiting"


def _newest_observation(last: Ask) -> tuple[dict[str, Any] | None, Ask | None]:
    for ask in asks_of(last.firm_id).filter(day=last.day).order_by("-pk"):
        observation = json.loads(ask.given)["observation"]
        if observation:
            return observation, ask
    return None, None


def _as_told(turn: Turn, number: int) -> dict[str, Any]:
    return {
        "turn": number,
        **moment(turn.minute),
        "tool": turn.tool,
        "arguments": json.loads(turn.arguments),
        "rationale": turn.rationale,
        "accepted": turn.accepted,
        "result": json.loads(turn.result),
        "decided_by": turn.decided_by,
    }


def _iso(moment_at: datetime | None) -> str | None:
    return moment_at.isoformat() if moment_at else None
