"""What lies on the desk: the parts of the console that change from turn to turn, made from the door alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.utils import timezone

from dashboards import words
from dashboards.seat import show
from dashboards.seat.catalogue import deed_text, way_of
from dashboards.seat.known import SETTLING, known_rows
from simulation.engine.decision import WAIT
from simulation.models import Seat
from simulation.seats import door, pausing

SOON_DAYS = 7

Told = dict[str, Any]


class Panel(NamedTuple):
    """What a look showed: its name, when that was, and the result laid out."""

    tool: str
    title: str
    age: str
    layout: show.Layout


class Done(NamedTuple):
    """A call of the firm's own: what, when, why, by whom, and what came of it."""

    turn: int
    tool: str
    deed: str
    clock: str
    rationale: str
    decided_by: str
    accepted: bool
    error: str
    summary: str
    layout: show.Layout
    arguments: str

    @property
    def can_repeat(self) -> bool:
        """Whether doing it again, or otherwise, could be wished: waiting has its own key."""
        return self.tool not in ("", WAIT.tool)


class Queued(NamedTuple):
    """An action to come; `from_end` stays its place while others run."""

    from_end: int
    tool: str
    deed: str
    rationale: str


def page_state(seat: Seat) -> Told:
    """The door's state, and a mark that changes with what an assisted seat is shown: when to fetch the parts anew."""
    state = door.state(seat)
    panels = door.panels_text(seat)
    state["panels_mark"] = hashlib.sha256(panels.encode()).hexdigest()[:12] if panels else ""
    state["moment"] = moment_of(state["time"])
    state["pause"] = pause_of(seat)
    return state


def pause_of(seat: Seat) -> str:
    """Whether the person's own pause is `on`, is to be had as an `offer`, or is nothing for this seat."""
    if pausing.is_paused(seat):
        return "on"
    return "offer" if seat.run.is_moving and pausing.may_pause(seat) else ""


def stamped(state: Told) -> Told:
    """A state as it is sent: with the server's time, from which the page reckons how long a wait has lasted."""
    return {**state, "now": timezone.now().isoformat()}


def moment_of(time: Mapping[str, Any] | None) -> str:
    """Day 12 · Fri 14:30, of one of the door's times."""
    return words.moment_text(time["minute"]) if time else ""


def age_of(time: Mapping[str, Any] | None) -> str:
    """Day 12 09:00, as something seen is marked."""
    return f"Day {time['day']} {time['clock']}" if time else ""


def desk_of(seat: Seat) -> Told:
    """Everything that the templates of the changing parts need, and what the page's script does."""
    state = page_state(seat)
    given = door.given(seat)
    firm, time = seat.firm.name, state["time"]
    today = door.history(seat, day=time["day"]) if time else []
    looks = [] if given["panels"] else list(reversed(door.looks(seat)))
    results = [one["result"] for one in (*today, *looks)]
    settling = (
        door.calls_since(seat, min(one["minute"] for one in (*today, *looks)), SETTLING) if today or looks else []
    )
    known = known_rows([given["panels"], given["observation"], *results], settling, firm)
    desk: Told = {
        "state": state,
        "given": given,
        "seen": observation_of(given, firm),
        "panels": panels_of(given["panels"], firm),
        "looks": [Panel(one["tool"], way_of(one["tool"]).title, age_of(one), _layout(one, firm)) for one in looks],
        "done": [done_of(turn, firm) for turn in today],
        "under_way": under_way_of(seat, state),
        "queue": queue_of(state["queue"]),
        "today": time["day"] if time else None,
        "earlier": range(time["day"] - 1, -1, -1) if time else (),
        "known": known,
        "due": due_soon(known.get("payables", {}), time["day"], firm) if time else None,
        "last": last_call(seat, today),
        "cash": (given["observation"] or {}).get("cash"),
        "woken_by": given["woken_by"] if state["turn"] else [],
    }
    show.drop_acts(_tables_of(desk), settling)
    return desk


def under_way_of(seat: Seat, state: Told) -> Told | None:
    """The decision that waits for the others', in words; there is none while it is the seat's own turn."""
    sent = None if state["turn"] else door.under_way(seat)
    return {"clock": sent["clock"], "deed": deed_text(sent["tool"], sent["arguments"])} if sent else None


def _tables_of(desk: Told) -> list[show.Table]:
    """Every table on the desk in which a row may suggest what is done already."""
    seen = desk["seen"]["tables"] if desk["seen"] else []
    return [*seen, *(table for one in (*desk["looks"], *desk["done"]) for table in one.layout.tables)]


def due_soon(payables: Told, today: int, firm: str) -> show.Table | None:
    """The debts that are due within a week or overdue, as far as the firm has looked; none: no table."""
    due = [(row["due_day"], number, row) for number, row in payables.items() if row["due_day"] <= today + SOON_DAYS]
    rows = [
        {"invoice_id": number, "to": row["to"], "owed": row["owed"], "due_day": day}
        for day, number, row in sorted(due, key=lambda one: one[:2])
    ]
    return show.table_of("Due within a week, as far as you have looked", rows, firm) if rows else None


def _layout(turn: Told, firm: str) -> show.Layout:
    return show.laid_out(turn["result"], firm)


def panels_of(panels: Told, firm: str) -> list[Panel]:
    """The free looks of an assisted seat: live."""
    return [
        Panel(tool, "Messages in full" if tool == "letters" else way_of(tool).title, "live", _panel(tool, result, firm))
        for tool, result in panels.items()
    ]


def _panel(tool: str, result: Any, firm: str) -> show.Layout:
    return show.laid_out(result if isinstance(result, dict) else {tool: result}, firm)


def done_of(turn: Told, firm: str) -> Done:
    """One of the firm's turns as the door tells it."""
    return Done(
        turn=turn["turn"],
        tool=turn["tool"],
        deed=deed_text(turn["tool"], turn["arguments"]) if turn["tool"] else "No action: waited",
        clock=turn["clock"],
        rationale=turn["rationale"],
        decided_by=decider_text(turn["decided_by"]),
        accepted=turn["accepted"],
        error="" if turn["accepted"] else str(turn["result"].get("error", "")),
        summary=show.summary_of(turn["result"]),
        layout=show.laid_out(turn["result"], firm) if turn["accepted"] else show.Layout([], [], []),
        arguments=json.dumps(turn["arguments"]),
    )


def decider_text(decided_by: str) -> str:
    """Who decided, where it was not whoever holds the link."""
    if decided_by in ("human", "remote"):
        return ""
    if decided_by == "timeout":
        return "by default: you were away"
    return "by a language model" if decided_by == "model" else "by a script"


def queue_of(queue: list[Told]) -> list[Queued]:
    """The actions to come, the next one first."""
    return [
        Queued(len(queue) - place, one["tool"], deed_text(one["tool"], one["arguments"]), one["rationale"])
        for place, one in enumerate(queue)
    ]


def last_call(seat: Seat, today: list[Told]) -> Told | None:
    """The call that `r` repeats: the newest that was not waiting, of today or before."""
    for turn in [*today, *([] if today else door.history(seat, limit=8))]:
        if turn["tool"] not in ("", WAIT.tool):
            return {key: turn[key] for key in ("tool", "arguments", "rationale")}
    return None


# The observation, for which the page has a place for each thing.


class StockLine(NamedTuple):
    """An item in store and on its way, in kg."""

    name: str
    on_hand: int
    in_flight: int


class GaugePart(NamedTuple):
    """A piece of the store's gauge, in per cent of its length; `kind` is what lies there and whether it is here yet."""

    x: float
    width: float
    kind: str


def observation_of(given: Told, firm: str) -> Told | None:
    """What the firm knows, ready for its places on the page; None before its first morning."""
    seen = given["observation"]
    if seen is None:
        return None
    own = [("offers_to_you", "Offers to you"), ("your_offers", "Your offers"), ("your_open_listings", "Your listings")]
    own += [("deals_since_last_active", "Deals since you last looked"), ("batches_in_work", "Being made")]
    own += [("sales_since_last_active", "Sold in your shop since you last looked"), ("bankruptcies", "Bankrupt")]
    tables = [show.table_of(title, seen[key], firm) for key, title in own if seen.get(key)]
    prices = [{"item_id": item, "price": price} for item, price in seen.get("shelf_prices", {}).items()]
    if prices:
        tables.append(show.table_of("Your shelf prices", prices, firm))
    known = {key for key, _ in own} | PLACED
    return {
        "age": age_of(given["observed"]),
        "cash": words.usd_text(seen["cash"]),
        "is_in_debt": seen["cash"] < 0,
        "stock_value": words.usd_text(seen["inventory_value"]),
        "receivables": debts_text(seen["receivables"]),
        "payables": debts_text(seen["payables"]),
        "stock": stock_lines(seen["stock"]),
        "gauge": gauge_of(seen["stock"]),
        "store": seen["stock"],
        "mail": seen["unread_messages"],
        "unread": sum(seen["unread_messages"]["by_sender"].values()),
        "tables": tables,
        "rest": show.laid_out({key: value for key, value in seen.items() if key not in known}, firm),
        "raw": words.laid_out_value(seen),
    }


PLACED = {
    *("firm", "role", "day", "days_in_all", "date", "time", "calls_left_today", "woken_by", "cash", "inventory_value"),
    *("receivables", "payables", "stock", "unread_messages", "shelf_prices"),
}


def debts_text(totals: Told) -> Told:
    """Open invoices at a glance."""
    return {
        "amount": words.usd_text(totals["total_owed"]),
        "open": totals["open"],
        "overdue": totals["overdue"],
        "late_fees": words.usd_text(totals["late_fees"]) if totals["late_fees"] else "",
    }


def stock_lines(stock: Told) -> list[StockLine]:
    """Item by item."""
    return [StockLine(words.item_text(item), one["on_hand"], one["in_flight"]) for item, one in stock["items"].items()]


def gauge_of(stock: Told) -> list[GaugePart]:
    """What is on hand, item by item, then what is on its way; more than the cap fills the gauge."""
    length = max(1, stock["cap"], stock["on_hand"] + stock["in_flight"])
    parts: list[GaugePart] = []
    at = 0.0
    for place, when in (("on_hand", "here"), ("in_flight", "coming")):
        for item, one in stock["items"].items():
            width = 100 * one[place] / length
            goods = "specialty" if "specialty" in item else "plain"
            state = "roasted" if item.startswith("roasted") else "green"
            if width:
                parts.append(GaugePart(round(at, 2), round(width, 2), f"{state} {goods} {when}"))
            at += width
    return parts
