"""What firms wrote to each other, in the order of the run: letters, and the texts that came with offers and returns.

All three are in the event log, so a thread is one stretch of it. A letter's row adds when it was read and what it
refers to; an offer's, what became of it. Nothing that happened after the evening that is looked at is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from django.db.models import Count, Max, Min, Q, QuerySet

from dashboards.colours import FirmStyle, style_of
from dashboards.tabs.look import Look
from dashboards.tape import BODIES, EventRow, rows_of
from dashboards.words import days_text, item_text, moment_text, number_text, sendable, usd_text
from marketplace.economy.money import usd
from marketplace.models import Message, Offer
from marketplace.rows import in_run, key_of, number_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Event

LETTER, OFFER, RETURN = "message_sent", "offer_made", "shipment_returned"
HAS_TEXT: Final = (
    Q(kind=LETTER)
    | (Q(kind=OFFER, data__message__isnull=False) & ~Q(data__message=""))
    | (Q(kind=RETURN, data__reason__isnull=False) & ~Q(data__reason=""))
)
PAGE: Final = 50
LONG_CHARACTERS: Final = 1200
NOT_READ: Final = "Not read by then: of its text nothing was known."
NOT_TOLD: Final = "The seller is not told the reason."

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Thread:
    """What two firms, in seating order, have written to each other by then; `first` and `last` number its events."""

    pair: Pair
    letters: int = 0
    notes: int = 0
    unread: int = 0
    first: int = 0
    last: int = 0
    last_minute: int = 0

    @property
    def length(self) -> int:
        """How many texts it has."""
        return self.letters + self.notes

    @property
    def key(self) -> str:
        """Its name in an address."""
        return ",".join(self.pair)

    @property
    def last_moment(self) -> str:
        """When the newest of them was written."""
        return moment_text(self.last_minute)

    @property
    def styles(self) -> list[tuple[str, FirmStyle]]:
        """Both firms, each with its style."""
        return [(name, style_of(name)) for name in self.pair]


@dataclass(frozen=True, slots=True)
class Text:
    """One text as it is shown. Where `hidden` says why, the firm as which one looks did not know the body."""

    event: int
    kind: str
    row: str
    moment: str
    sender: str
    recipient: str
    pair_key: str
    title: str
    body: str
    about: str = ""
    became: str = ""
    is_unread: bool = False
    hidden: str = ""

    @property
    def style(self) -> FirmStyle:
        """The sender's."""
        return style_of(self.sender)

    @property
    def other_style(self) -> FirmStyle:
        """The recipient's."""
        return style_of(self.recipient)

    @property
    def is_letter(self) -> bool:
        """Whether it is a letter, and not what came with an offer or a return."""
        return self.kind == LETTER

    @property
    def is_long(self) -> bool:
        """Whether it gets a box of its own to scroll in."""
        return len(self.body) > LONG_CHARACTERS


class LetterRow(NamedTuple):
    """What the row of a letter adds to its event."""

    is_read: bool
    read_minute: int
    about: str


@dataclass(frozen=True, slots=True)
class Mail:
    """Reads what was written in a run by an evening, as it was or as one firm knew it."""

    look: Look

    def keys_of(self, pair: Pair) -> list[int]:
        """The keys of two firms."""
        return [firm.pk for firm in self.look.firms if firm.name in pair]

    def events(self) -> QuerySet[Event]:
        """The events with a text, of everybody or of the firm as which one looks."""
        known = self.look.of_knower("firm", "other")
        return Event.objects.filter(HAS_TEXT, known, **in_run(self.look.run.pk), minute__lt=self.look.end_minute)

    def letters(self) -> QuerySet[Message]:
        """The letters, of everybody or of the firm as which one looks."""
        known = self.look.of_knower("sender", "recipient")
        return Message.objects.filter(known, **in_run(self.look.run.pk), minute__lt=self.look.end_minute)

    def threads(self) -> list[Thread]:
        """Every pair that has written, the one with the newest text first. Two queries."""
        rows = self.events().order_by().values_list("firm_id", "other_id", "kind")
        found: dict[Pair, Thread] = {}
        counts = rows.annotate(Count("pk"), Min("pk"), Max("pk"), Max("minute"))
        for sender, recipient, kind, count, first, last, minute in counts:
            pair = self.pair_of(sender, recipient)
            old = found.get(pair, Thread(pair))
            is_letter = kind == LETTER
            found[pair] = replace(
                old,
                letters=old.letters + count * is_letter,
                notes=old.notes + count * (not is_letter),
                first=min(old.first or number_of(first), number_of(first)),
                last=max(old.last, number_of(last)),
                last_minute=max(old.last_minute, minute),
            )
        for pair, unread in self.unread().items():
            if pair in found:
                found[pair] = replace(found[pair], unread=unread)
        return sorted(found.values(), key=lambda thread: -thread.last)

    def pair_of(self, one: int, other: int) -> Pair:
        """Two firms by their keys, in seating order."""
        names = self.look.names
        return names[min(one, other)], names[max(one, other)]

    def unread(self) -> dict[Pair, int]:
        """How many letters of each pair were unread; a firm knows that only of those it got. One query."""
        unread = self.letters().exclude(read_minute__lt=self.look.end_minute).order_by()
        if self.look.knower:
            unread = unread.filter(recipient=self.look.knower)
        counts: dict[Pair, int] = {}
        for sender, recipient, count in unread.values_list("sender_id", "recipient_id").annotate(Count("pk")):
            pair = self.pair_of(sender, recipient)
            counts[pair] = counts.get(pair, 0) + count
        return counts

    def thread(self, pair: Pair, start: int, end: int) -> list[Text]:
        """Some texts of a pair by their places in the thread, oldest first. Three queries, one where there are none."""
        keys = self.keys_of(pair)
        events = self.events().filter(firm__in=keys, other__in=keys).order_by("pk")
        return self.texts_of(rows_of(events[start:end]))

    def texts_of(self, rows: Sequence[EventRow]) -> list[Text]:
        """The texts of some events. Two queries, none for no event."""
        if not rows:
            return []
        letters, offers = self.letter_rows(rows), self.offers_became(rows)
        return [self.text_of(row, letters, offers) for row in rows]

    def letter_rows(self, rows: Iterable[EventRow]) -> dict[str, LetterRow]:
        """What their rows add to some letters, by M40. One query."""
        keys = self.keys_in(rows, LETTER, "message")
        columns = ("pk", "read_minute", "listing_id", "offer_id")
        terms = ("listing__item", "listing__quantity_kg", "listing__price_micros", "listing__terms_days")
        bid = ("offer__quantity_kg", "offer__price_micros", "offer__terms_days", "offer__listing__item")
        found = {}
        for key, read, listing, offer, *more in Message.objects.filter(pk__in=keys).values_list(*columns, *terms, *bid):
            about = [
                *([f"L{number_of(listing)}: {terms_text(*more[:4])}"] if listing else []),
                *([f"O{number_of(offer)}: {terms_text(more[7], *more[4:7])}"] if offer else []),
            ]
            is_read = read is not None and read < self.look.end_minute
            found[f"M{number_of(key)}"] = LetterRow(is_read, read or 0, " · ".join(about))
        return found

    def offers_became(self, rows: Iterable[EventRow]) -> dict[str, str]:
        """What had become of some offers by then, by O7. One query."""
        keys = self.keys_in(rows, OFFER, "offer")
        values = Offer.objects.filter(pk__in=keys).values_list("pk", "status", "closed_minute")
        return {
            f"O{number_of(key)}": "pending"
            if closed is None or closed >= self.look.end_minute
            else f"{status} {moment_text(closed)}"
            for key, status, closed in values
        }

    def keys_in(self, rows: Iterable[EventRow], kind: str, name: str) -> list[int]:
        """The keys of the letters or offers that events of a kind name."""
        labels = (str(row.data.get(name, "")) for row in rows if row.kind == kind)
        return [key_of(self.look.run.pk, int(label[1:])) for label in labels if label[1:].isdecimal()]

    def text_of(self, row: EventRow, letters: Mapping[str, LetterRow], offers: Mapping[str, str]) -> Text:
        """One event's text, with what the firm as which one looks cannot have known left out."""
        data, names = row.data, self.look.names
        pair = self.pair_of(row.firm_id or 0, row.other_id or 0)
        text = Text(
            event=number_of(row.pk),
            kind=row.kind,
            row=str(data.get({LETTER: "message", OFFER: "offer", RETURN: "invoice"}[row.kind], "")),
            moment=moment_text(row.minute),
            sender=names.get(row.firm_id or 0, ""),
            recipient=names.get(row.other_id or 0, ""),
            pair_key=",".join(pair),
            title=sendable(str(data.get("title", ""))),
            body=sendable(str(data.get(BODIES[row.kind], ""))),
        )
        if row.kind == LETTER:
            return self.letter(text, letters.get(text.row, LetterRow(is_read=False, read_minute=0, about="")))
        if row.kind == OFFER:
            return replace(text, about=offer_about(data), became=offers.get(text.row, ""))
        is_hidden = self.is_knower(text.recipient)
        about = return_about(data)
        return replace(text, about=about, hidden=NOT_TOLD, body="") if is_hidden else replace(text, about=about)

    def letter(self, text: Text, row: LetterRow) -> Text:
        """A letter: whether it was read is known to its recipient alone, and before that its body to its sender."""
        text = replace(text, about=row.about)
        if self.is_knower(text.sender):
            return text
        if row.is_read:
            return replace(text, became=f"read {moment_text(row.read_minute)}")
        text = replace(text, became="unread", is_unread=True)
        return replace(text, hidden=NOT_READ, body="") if self.is_knower(text.recipient) else text

    def is_knower(self, name: str) -> bool:
        """Whether that is the firm as which one looks."""
        return self.look.knower is not None and self.look.knower.name == name

    def found(self, words: str, before: int) -> tuple[list[Text], int]:
        """The newest texts before an event that hold some words, and before which event to go on; 0: there is no more.

        Three queries. In a text that the firm as which one looks had not read nothing is found.
        """
        pattern = pattern_of(words)
        events = self.events().filter(holding(words))
        if before:
            events = events.filter(pk__lt=key_of(self.look.run.pk, before))
        rows = rows_of(events.order_by("-pk")[:PAGE])
        texts = [text for text in self.texts_of(rows) if not text.hidden or pattern.search(text.title)]
        return texts, number_of(rows[-1].pk) if len(rows) == PAGE else 0

    def letters_by_day(self) -> list[tuple[int, str, str]]:
        """The day, sender and recipient of every letter in order. One query."""
        names = self.look.names
        rows = self.letters().order_by("pk").values_list("minute", "sender_id", "recipient_id")
        return [(minute // MINUTES_PER_DAY, names[sender], names[recipient]) for minute, sender, recipient in rows]


def terms_text(item: str, quantity_kg: int, price_micros: int, terms_days: int) -> str:
    """What a listing or an offer says: 30 kg green coffee at 2.10 USD/kg, 30 days to pay."""
    return trade_text(item, quantity_kg, usd(price_micros), terms_days)


def trade_text(item: str, quantity_kg: float, price_usd: float, terms_days: int) -> str:
    """Kilograms of an item at a price, and the days to pay."""
    kilograms = number_text(quantity_kg)
    return f"{kilograms} kg {item_text(item)} at {usd_text(price_usd)} USD/kg, {days_text(terms_days)} to pay"


def offer_about(data: Mapping[str, Any]) -> str:
    """What an offer's event says it is for."""
    terms = trade_text(
        str(data.get("item", "")), data.get("quantity_kg", 0), data.get("price", 0), data.get("terms_days", 0)
    )
    return f"on {data.get('listing', '')}: {terms}"


def return_about(data: Mapping[str, Any]) -> str:
    """What a return's event says came back."""
    item, credit = item_text(str(data.get("item", ""))), usd_text(data.get("credit", 0))
    return f"{number_text(data.get('quantity_kg', 0))} kg {item} of {data.get('deal', '')} for {credit} USD"


def pattern_of(words: str) -> re.Pattern[str]:
    """Some words as they stand, in capitals or not: for marking them in what the database found."""
    return re.compile(re.escape(words), re.IGNORECASE)


def holding(words: str) -> Q:
    """The events in whose title or text some words are found, in capitals or not.

    SQLite's LIKE, which is ten times as fast as its regular expressions, knows the capitals of ASCII alone.
    """
    lookup, value = ("icontains", words) if words.isascii() else ("iregex", re.escape(words))

    def has(name: str) -> Q:
        return Q(**{f"data__{name}__{lookup}": value})

    return (
        Q(kind=LETTER) & (has("title") | has("body")) | Q(kind=OFFER) & has("message") | Q(kind=RETURN) & has("reason")
    )
