"""The drawers of goods made, and sold to consumers."""

from __future__ import annotations

from collections.abc import Iterable

from django.contrib import admin

from marketplace.admin import columns
from marketplace.admin.drawer import Related, RunRowDrawer
from marketplace.admin.filters import ChoiceFilter, DayFilter, FirmFilter, ItemFilter, ReferenceFilter
from marketplace.admin.question import Total
from marketplace.admin.trade import transfers_about
from marketplace.economy.economy import MINUTES_PER_DAY
from marketplace.models import Batch, ConsumerSale, Transfer


@admin.register(Batch)
class BatchDrawer(RunRowDrawer):
    """Goods in the making."""

    list_display = (
        columns.own_label(),
        columns.moment("minute", "started"),
        columns.firm(),
        columns.text("kind"),
        columns.text("input_item", "from"),
        columns.kilograms("input_kg", "in"),
        columns.text("item", "makes"),
        columns.kilograms("quantity_kg", "out"),
        columns.usd("cost_micros", "cost"),
        columns.number("due_day", "due, day"),
        columns.text("status"),
        columns.moment("settled_minute", "settled"),
        columns.linked("turn"),
    )
    list_select_related = ("firm",)
    list_totals = (Total("in, kg", "input_kg"), Total("out, kg", "quantity_kg"), Total("cost, USD", "cost_micros"))
    filters = (
        FirmFilter("firm"),
        DayFilter("day", ("minute",)),
        ItemFilter("item", ("item", "input_item")),
        ChoiceFilter("kind"),
        ChoiceFilter("status"),
        ReferenceFilter("turn"),
    )
    facts = list_display[1:]
    causes = (("started it", "turn"),)

    def related(self, row: Batch) -> Iterable[Related]:
        about = transfers_about([row.firm_id], row.minute // MINUTES_PER_DAY, batch=row.pk)
        yield Related("Transfers", about, {"batch": row.pk})


@admin.register(ConsumerSale)
class ConsumerSaleDrawer(RunRowDrawer):
    """What shops sold in an evening."""

    list_display = (
        columns.own_label(),
        columns.number("day"),
        columns.firm("shop"),
        columns.text("item"),
        columns.kilograms(),
        columns.usd_per_kg(),
        columns.usd("revenue_micros", "revenue"),
        columns.usd("cost_micros", "cost"),
    )
    list_select_related = ("shop",)
    list_totals = (
        Total("sold, kg", "quantity_kg"),
        Total("revenue, USD", "revenue_micros"),
        Total("cost, USD", "cost_micros"),
    )
    filters = (FirmFilter("firm", ("shop",)), DayFilter("day"), ItemFilter("item"))
    facts = list_display[1:]

    def related(self, row: ConsumerSale) -> Iterable[Related]:
        evening = Transfer.objects.filter(firm=row.shop_id, day=row.day, item=row.item, turn=None)
        filters = {"run": row.run_number, "firm": row.shop.name, "day": row.day, "item": row.item}
        yield Related("What the clock booked with the shop that day in that item", evening, filters)
