"""Results and observations laid out for people: lists as tables, the rest as facts, and what can be done from a row.

It knows the words of today's tools; a key it does not know is shown under its own name, so nothing is ever left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from dashboards import words
from dashboards.seat.catalogue import figure_text, price_text

HEADERS: Final = {
    "listing_id": "Listing",
    "offer_id": "Offer",
    "deal_id": "Deal",
    "invoice_id": "Invoice",
    "message_id": "Message",
    "batch_id": "Batch",
    "item_id": "Item",
    "qty": "kg",
    "output_kg": "kg out",
    "asking_price": "Asked USD/kg",
    "offered_price": "Offered USD/kg",
    "price": "USD/kg",
    "average_cost": "Mean cost USD/kg",
    "payment_terms_days": "Days to pay",
    "owed": "Owed, USD",
    "of_which_late_fees": "Late fees, USD",
    "total_owed": "Owed in all, USD",
    "still_owed": "Still owed, USD",
    "late_fees": "Late fees, USD",
    "written_off": "Written off, USD",
    "issued_day": "Issued",
    "due_day": "Due",
    "lands_day": "Lands",
    "day": "Day",
    "days_overdue": "Days overdue",
    "total": "Total, USD",
    "revenue": "Revenue, USD",
    "cost": "Cost, USD",
    "cash": "Cash, USD",
    "paid": "Paid, USD",
    "credit": "Credit, USD",
    "calls_left_today": "Slots left",
    "deals_in_all": "Deals in all",
    "unread_in_all": "Unread in all",
    "cost_of_goods_sold": "Cost of goods sold",
    "other_operating": "Other operating costs",
    "work_in_progress": "Being made",
    "goods_in_transit": "Sold, on the way",
    "ref_listing_id": "About",
    "ref_offer_id": "About offer",
}
TITLES: Final = {
    "listings": "Open listings",
    "incoming": "Offers to you",
    "outgoing": "Your offers",
    "invoices": "Unpaid invoices",
    "consumer_sales": "Sold to consumers, all shops together",
    "sales": "Sold in your shop",
    "prices": "Shelf prices, USD/kg",
    "income_statement": "Income statement, USD",
    "balance_sheet": "Balance sheet, USD",
    "stock": "Stock",
    "letters": "Messages",
}
MONEY: Final = {
    *("owed", "of_which_late_fees", "total_owed", "still_owed", "late_fees", "written_off", "total", "revenue"),
    *("cost", "cash", "paid", "credit"),
}
PRICES: Final = {"asking_price", "offered_price", "price", "average_cost"}
DAYS: Final = {"issued_day", "due_day", "lands_day", "day", "bankrupt_day"}
STATEMENTS: Final = {"income_statement", "balance_sheet"}
ITEMS: Final = {"item_id"}
QUIET: Final = {"ok"}
LETTER: Final = {"title", "body"}
MOST_BESIDE_ACTS: Final = 6
NOTHING: Final[tuple[Any, ...]] = (None, "", False)


class Act(NamedTuple):
    """What a button in a row does: it sends a call, or only fills the form for one."""

    text: str
    tool: str
    arguments: str
    sends: bool


class Cell(NamedTuple):
    """A value as text; numbers stand at the right."""

    text: str
    is_number: bool = False


class Row(NamedTuple):
    """A row of a table, and what can be done from it."""

    cells: list[Cell]
    acts: list[Act]


class Table(NamedTuple):
    """A list of rows of one kind."""

    title: str
    headers: list[Cell]
    rows: list[Row]
    has_acts: bool

    @property
    def is_wide(self) -> bool:
        """Whether what can be done from a row stands below it, for want of room beside it."""
        return len(self.headers) > MOST_BESIDE_ACTS

    @property
    def width(self) -> int:
        """The number of columns of values."""
        return len(self.headers)


class Facts(NamedTuple):
    """Names and values."""

    title: str
    facts: list[tuple[str, Cell]]


class Letter(NamedTuple):
    """A message in full."""

    head: str
    title: str
    body: str
    acts: list[Act]


class Layout(NamedTuple):
    """A result or an observation, ready for a page."""

    facts: list[Facts]
    letters: list[Letter]
    tables: list[Table]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.facts or self.letters or self.tables)


def laid_out(result: Mapping[str, Any], firm: str) -> Layout:
    """Any result, for the firm that got it."""
    if result.keys() >= LETTER:
        return Layout([], [_letter(result, firm)], [])
    plain = {key: value for key, value in result.items() if key not in QUIET and not isinstance(value, dict | list)}
    layout = Layout([Facts("", _facts(plain))] if plain else [], [], [])
    for key, value in result.items():
        if isinstance(value, list):
            _add_list(layout, key, value, firm)
        elif isinstance(value, dict):
            _add_object(layout, key, value, firm)
    return layout


def _add_list(layout: Layout, key: str, values: list[Any], firm: str) -> None:
    rows = [value for value in values if isinstance(value, dict)]
    if key == "letters":
        layout.letters.extend(_letter(row, firm) for row in rows)
    elif rows or not values:
        layout.tables.append(table_of(title_of(key), rows, firm))
    else:
        layout.facts.append(Facts("", [(title_of(key), Cell(", ".join(map(str, values))))]))


def _add_object(layout: Layout, key: str, value: dict[str, Any], firm: str) -> None:
    if value and all(isinstance(one, dict) for one in value.values()):
        layout.tables.append(table_of(title_of(key), [{"item_id": item, **one} for item, one in value.items()], firm))
    elif key == "prices":
        rows = [{"item_id": item, "price": price} for item, price in value.items()]
        layout.tables.append(table_of("Your shelf prices", rows, firm))
    else:
        layout.facts.append(Facts(title_of(key), _facts(value, is_money=key in STATEMENTS)))


def table_of(title: str, rows: list[dict[str, Any]], firm: str) -> Table:
    """Rows as a table; a column in which no row has anything is left out."""
    keys = list(dict.fromkeys(key for row in rows for key in row))
    used = [key for key in keys if any(row.get(key) not in NOTHING for row in rows)]
    if "of_which_late_fees" in used and not any(row.get("of_which_late_fees") for row in rows):
        used.remove("of_which_late_fees")
    shown = [Row([cell_of(key, row.get(key)) for key in used], acts_of(row, firm)) for row in rows]
    numbers = {key: any(cell_of(key, row.get(key)).is_number for row in rows) for key in used}
    headers = [Cell(header_of(key), numbers[key]) for key in used]
    return Table(title, headers, shown, any(row.acts for row in shown))


def _facts(values: Mapping[str, Any], *, is_money: bool = False) -> list[tuple[str, Cell]]:
    return [
        (header_of(key), Cell(words.usd_text(value), True) if is_money else cell_of(key, value))
        for key, value in values.items()
    ]


def _letter(message: Mapping[str, Any], firm: str) -> Letter:
    about = " ".join(str(message[key]) for key in ("ref_listing_id", "ref_offer_id") if message.get(key))
    head = f"{message.get('message_id')} · {message.get('from')} to {message.get('to')} · Day {message.get('day')}"
    return Letter(
        f"{head} · about {about}" if about else head, message["title"], message["body"], acts_of(message, firm)
    )


def title_of(key: str) -> str:
    """What a list is called."""
    return TITLES.get(key, key.replace("_", " ").capitalize())


def header_of(key: str) -> str:
    """What a column or a fact is called, with its unit."""
    return HEADERS.get(key, key.replace("_", " ").capitalize())


def cell_of(key: str, value: Any) -> Cell:
    """A value as people read it; the key says what it is."""
    if value is None:
        return Cell("")
    if isinstance(value, bool):
        return Cell("yes" if value else "")
    if isinstance(value, int | float):
        return _number(key, value)
    if isinstance(value, dict | list):
        return Cell(json.dumps(value, ensure_ascii=False))
    return Cell(words.item_text(str(value)) if key in ITEMS else str(value))


def _number(key: str, value: float) -> Cell:
    if key in DAYS:
        return Cell(f"Day {value}", True)
    if key in PRICES:
        return Cell(price_text(value), True)
    return Cell(words.usd_text(value) if key in MONEY else figure_text(value), True)


# What can be done from a row.


def acts_of(row: Mapping[str, Any], firm: str) -> list[Act]:
    """The calls that a row of a result suggests to this firm."""
    acts: list[Act] = []
    if "invoice_id" in row and "to" in row:
        acts.append(_act(f"Pay {words.usd_text(row['owed'])}", "pay_invoice", invoice_id=row["invoice_id"]))
        if row.get("deal_id"):
            acts.append(_act("Send back…", "return_shipment", sends=False, invoice_id=row["invoice_id"]))
    elif "offer_id" in row and "bidder" in row:
        terms = f"{words.number_text(row['qty'])} kg at {price_text(row['offered_price'])}"
        acts.append(_act(f"Accept {terms}", "accept_offer", offer_id=row["offer_id"]))
    elif "offer_id" in row and "seller" in row:
        acts.append(_act("Withdraw", "withdraw_offer", offer_id=row["offer_id"]))
    elif "listing_id" in row and row.get("seller") not in (None, firm):
        acts.append(_bid(row))
    elif "message_id" in row and "body" in row and row.get("from") != firm:
        title = str(row["title"])
        title = title if title.startswith("Re: ") else f"Re: {title}"[:80]
        acts.append(_act("Answer…", "send_message", sends=False, recipient=row["from"], title=title))
    elif "message_id" in row and "title" in row and "body" not in row:
        acts.append(_act("Read", "read_message", message_id=row["message_id"]))
    return acts


def drop_acts(tables: Iterable[Table], calls: Iterable[Mapping[str, Any]]) -> None:
    """Takes away the buttons for what the firm has done since it was shown the row: accepted, paid, read."""
    spent = {(call["tool"], json.dumps(call["arguments"])) for call in calls}
    for table in tables:
        for row in table.rows:
            row.acts[:] = [act for act in row.acts if not act.sends or (act.tool, act.arguments) not in spent]


def _bid(listing: Mapping[str, Any]) -> Act:
    return _act(
        "Bid…",
        "make_offer",
        sends=False,
        listing_id=listing["listing_id"],
        offered_price=listing["asking_price"],
        qty=listing["qty"],
        payment_terms_days=listing["payment_terms_days"],
    )


def _act(text: str, tool: str, *, sends: bool = True, **arguments: Any) -> Act:
    return Act(text, tool, json.dumps(arguments), sends)


def summary_of(result: Mapping[str, Any]) -> str:
    """A result in a few words, for a line that is folded."""
    if not result.get("ok", True):
        return str(result.get("error", ""))
    if result.get("waiting"):
        return "rested"
    counts = [f"{len(value)} {title_of(key).lower()}" for key, value in result.items() if isinstance(value, list)]
    if counts:
        return ", ".join(counts)
    if "prices" in result:
        return "your shelf prices now"
    return ", ".join(_short(key, value) for key, value in result.items() if key not in QUIET and _is_short(value))


def _is_short(value: Any) -> bool:
    return not isinstance(value, dict | list) and len(str(value)) <= 40


def _short(key: str, value: Any) -> str:
    text = cell_of(key, value).text
    name, _, unit = header_of(key).partition(", ")
    return text if key in ITEMS else f"{name.lower()} {text} {unit}".strip()


def each_dict(value: Any) -> Iterable[dict[str, Any]]:
    """Every object inside a JSON value, outermost first."""
    if isinstance(value, dict):
        yield value
        for one in value.values():
            yield from each_dict(one)
    elif isinstance(value, list):
        for one in value:
            yield from each_dict(one)
