"""The drawer of turns: what was decided, why, and everything it caused."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin

from marketplace.admin import columns, showing
from marketplace.admin.columns import Column
from marketplace.admin.drawer import Related, RunRowDrawer
from marketplace.admin.filters import DayFilter, Filter, FirmFilter, YesNoFilter
from marketplace.models import Batch, Deal, Firm, Invoice, Listing, Message, Offer, Transfer
from marketplace.rows import in_run
from simulation.models import Turn


def mentioned(turn: Turn) -> str:
    """The rows that a turn's arguments and result name."""
    return showing.mentions(turn.run_number, showing.json_value(turn.arguments), showing.json_value(turn.result))


@admin.register(Turn)
class TurnDrawer(RunRowDrawer):
    """Every answer of every firm."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "time"),
        columns.firm(),
        Column("tool", lambda turn: showing.short_words(turn.tool) if turn.tool else "no call"),
        Column("arguments", lambda turn: showing.short_json(showing.json_value(turn.arguments)), "words"),
        Column("answer", lambda turn: "accepted" if turn.accepted else "refused"),
        columns.written("rationale"),
        columns.text("decided_by", "by"),
    )
    list_select_related = ("firm",)
    search_help_text = "turn 57, 7:turn 57, a firm"
    filters = (FirmFilter("firm"), DayFilter("day"), Filter("tool"), YesNoFilter("accepted"))
    facts = (
        *list_display[1:4],
        list_display[5],
        list_display[7],
        columns.number("step"),
        Column("mentions", mentioned),
        columns.written_whole("rationale"),
        Column("arguments", lambda turn: showing.pretty_json(showing.json_value(turn.arguments)), "wide"),
        Column("result", lambda turn: showing.pretty_json(showing.json_value(turn.result)), "wide"),
    )

    def related(self, row: Turn) -> Iterable[Related]:
        """What it caused. Each table is entered by its index of firms: a large one costs no more than a small one."""
        firms = Firm.objects.filter(**in_run(row.run_number)).values("pk")
        booked = Transfer.objects.filter(firm__in=firms, day=row.day, turn=row.pk)
        yield Related("Transfers it caused", booked, {"turn": row.pk})
        others = (
            ("Listings", Listing.objects.filter(seller=row.firm_id)),
            ("Offers", Offer.objects.filter(bidder=row.firm_id)),
            ("Deals", Deal.objects.filter(seller=row.firm_id)),
            ("Batches", Batch.objects.filter(firm=row.firm_id)),
            ("Messages", Message.objects.filter(sender=row.firm_id)),
            ("Invoices", Invoice.objects.filter(issuer=row.firm_id)),
        )
        for caption, rows in others:
            yield Related(caption, rows.filter(turn=row.pk), {"turn": row.pk}, only_if_any=True)
