"""The listings, offers, invoices and messages that a firm knows of: choices for the forms, and what they come to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from dashboards import words
from dashboards.seat.catalogue import price_text
from dashboards.seat.show import each_dict

KINDS: Final = ("listing_id", "offer_id", "invoice_id", "message_id")
MOST_SHOWN: Final = 100
# These calls settle what they name: it is no choice any more.
SETTLING: Final = {
    "accept_offer": "offer_id",
    "withdraw_offer": "offer_id",
    "pay_invoice": "invoice_id",
    "read_message": "message_id",
}


def known_rows(sources: Iterable[Any], calls: Iterable[Mapping[str, Any]], firm: str) -> dict[str, Any]:
    """List name → the choices, newest knowledge first, each with a label and the numbers its cost line needs.

    `sources` are what the firm was shown, newest first; `calls` its own accepted ones since, which settle some of it.
    """
    settled = {(SETTLING[call["tool"]], call["arguments"].get(SETTLING[call["tool"]])) for call in calls}
    found: dict[str, dict[str, Any]] = {}
    for row in each_dict(list(sources)):
        for kind in KINDS:
            number = str(row.get(kind) or "")
            where = _list_of(kind, row, firm) if number else ""
            if where and (kind, number) not in settled:
                found.setdefault(where, {}).setdefault(number, _choice(kind, row))
    return {where: dict(list(rows.items())[:MOST_SHOWN]) for where, rows in found.items()}


def _list_of(kind: str, row: Mapping[str, Any], firm: str) -> str:
    """Which list of choices a row belongs to: `tool.argument`, or empty where it is only mentioned."""
    if kind == "invoice_id" and "to" in row and "owed" in row:
        return "payables"
    if kind == "offer_id" and "offered_price" in row:
        return "offers_in" if "bidder" in row else "offers_out" if "seller" in row else ""
    if kind == "listing_id" and "asking_price" in row and "offer_id" not in row:
        return "listings" if row.get("seller", firm) != firm else "own_listings"
    if kind == "message_id" and "title" in row and "body" not in row:
        return "messages"
    return ""


LISTS: Final = {
    ("make_offer", "listing_id"): "listings",
    ("accept_offer", "offer_id"): "offers_in",
    ("withdraw_offer", "offer_id"): "offers_out",
    ("pay_invoice", "invoice_id"): "payables",
    ("return_shipment", "invoice_id"): "payables",
    ("read_message", "message_id"): "messages",
    ("send_message", "ref_listing_id"): "listings",
    ("send_message", "ref_offer_id"): "offers_in",
}
"""Which list of choices an argument of a tool takes."""


def _choice(kind: str, row: Mapping[str, Any]) -> dict[str, Any]:
    numbers = ("qty", "asking_price", "offered_price", "owed", "payment_terms_days", "item_id", "due_day", "to")
    return {"label": _label(kind, row), **{key: row[key] for key in numbers if key in row}}


def _label(kind: str, row: Mapping[str, Any]) -> str:
    if kind == "message_id":
        return f"{row.get('from')}: {row['title']}"[:80]
    who = row.get("seller") or row.get("bidder") or row.get("to") or ""
    item = words.item_text(row["item_id"]) if row.get("item_id") else ""
    if kind == "invoice_id":
        return f"{who}, {words.usd_text(row['owed'])} USD due day {row.get('due_day')}"
    price = row.get("offered_price", row.get("asking_price", 0))
    return f"{who}, {words.number_text(row['qty'])} kg {item} at {price_text(price)}"
