"""The kinds of argument a tool can take, with what is allowed for each (RULES.md section 12.1)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, Strict

MOST_BODY = 10_000


def whole(value: Any) -> Any:
    """JSON knows no difference between 30 and 30.0; neither do we. 30.5, "30" and true stay what they are: refused."""
    return int(value) if type(value) is float and value.is_integer() and abs(value) < 1e15 else value


def at_most_four_decimals(price: float) -> float:
    """Prices are kept to the hundredth of a cent; nothing is rounded silently."""
    if round(price, 4) != price:
        raise ValueError("must have at most 4 decimals")
    return price


def nought_or_a_cent(price: float) -> float:
    """A shelf price is a price like any other, or 0."""
    if 0 < price < 0.01:
        raise ValueError("must be 0 or at least 0.01")
    return price


def clean_text(text: str) -> str:
    """Refuses what no table, page or model should be handed."""
    if "\0" in text:
        raise ValueError("must not contain a null byte")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("must not contain half a surrogate pair")
    return text


def not_blank(text: str) -> str:
    """Refuses text of nothing but spaces."""
    if not text.strip():
        raise ValueError("must not be empty")
    return text


# The bounds stand before the validator: after it, pydantic would not know them for an integer's in the JSON schema.
Whole = BeforeValidator(whole)
Kilograms = Annotated[int, Strict(), Field(ge=1, le=1_000_000, description="whole kilograms"), Whole]
Price = Annotated[
    float,
    Strict(),
    Field(ge=0.01, le=100_000, allow_inf_nan=False, description="USD per kg, at most 4 decimals"),
    AfterValidator(at_most_four_decimals),
]
ShelfPrice = Annotated[
    float,
    Strict(),
    Field(ge=0, le=100_000, allow_inf_nan=False, description="USD per kg, at most 4 decimals; 0: off the shelf"),
    AfterValidator(nought_or_a_cent),
    AfterValidator(at_most_four_decimals),
]
TermsDays = Annotated[int, Strict(), Field(ge=0, le=365, description="days to pay after delivery"), Whole]
Day = Annotated[int, Strict(), Field(ge=0, le=100_000, description="a day of the run, counted from 0"), Whole]
DaysBack = Annotated[int, Strict(), Field(ge=1, le=365, description="how many evenings to look back"), Whole]
Limit = Annotated[int, Strict(), Field(ge=1, le=100, description="at most so many rows"), Whole]
Flag = Annotated[bool, Strict()]

# `values` is filled in with what the run's scenario has, when a schema is made for a player.
ItemId = Annotated[str, Strict(), Field(max_length=60, json_schema_extra={"values": "items"})]
GreenItemId = Annotated[str, Strict(), Field(max_length=60, json_schema_extra={"values": "greens"})]
ProducedItemId = Annotated[str, Strict(), Field(max_length=60, json_schema_extra={"values": "produced"})]
ConsumerItemId = Annotated[str, Strict(), Field(max_length=60, json_schema_extra={"values": "consumed"})]
OtherFirm = Annotated[str, Strict(), Field(max_length=60, json_schema_extra={"values": "others"})]

RowId = Annotated[str, Strict(), Field(min_length=2, max_length=20)]
ListingId = Annotated[RowId, Field(description="a listing, as L12")]
OfferId = Annotated[RowId, Field(description="an offer, as O7")]
InvoiceId = Annotated[RowId, Field(description="an invoice, as I3")]
MessageId = Annotated[RowId, Field(description="a message, as M40")]

Title = Annotated[
    str, Strict(), Field(min_length=1, max_length=80), AfterValidator(clean_text), AfterValidator(not_blank)
]
Body = Annotated[
    str, Strict(), Field(min_length=1, max_length=MOST_BODY), AfterValidator(clean_text), AfterValidator(not_blank)
]
Note = Annotated[str, Strict(), Field(max_length=MOST_BODY), AfterValidator(clean_text)]
