"""The tab Market of a run's page: who trades what with whom, at what price, and what is on offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from dashboards.asked import choice_asked, number_asked, number_in
from dashboards.books import shown_firms
from dashboards.figures import Figure
from dashboards.state import frame_of
from dashboards.tabs.look import Look, Tab
from dashboards.tabs.market_figures import (
    FLOWS,
    Flow,
    Scene,
    consumer_ways,
    consumers_figure,
    flow_figure,
    flows_of,
    price_figure,
    shelf_figure,
)
from dashboards.tabs.market_rows import (
    MOST_LISTINGS_SHOWN,
    DealRow,
    ReturnRow,
    bought_in,
    deals_after,
    deals_until,
    invoices_of,
    listings_open_on,
    offers_on,
    returns_of,
    sales_after,
    shelves_of,
    ways_of,
)
from dashboards.tabs.market_tables import Evening, deal_lines, has_arrived, stalls_of, totals_of, traded_of, within
from dashboards.tabs.pages import ROWS_PER_PAGE, Page, page_between
from dashboards.words import item_text
from marketplace.models import Firm
from marketplace.rows import number_of

FLOW_TITLES: Final = {"goods": "Goods, kg", "money": "Money, USD"}
MOST_ITEMS_CHARTED: Final = 6


class Span(NamedTuple):
    """The days over which flows are added up; none of them where `last` comes before `first`."""

    first: int
    last: int


class ConsumerChart(NamedTuple):
    """The chart of what consumers bought of an item: its name among the figures, and what it shows, in words."""

    figure: str
    item: str
    title: str


def context(look: Look) -> dict[str, Any]:
    """What the template needs. Six queries."""
    span, evening = span_of(look, look.until), Evening(look.until, look.names, is_now=look.until == look.run.day)
    deals = deals_until(look)
    returns = returns_of(look, 0, look.until)
    bought = bought_in(look, *span)
    page = page_of_deals(deals, look)
    listings = listings_open_on(look)
    items = items_of(look)
    knower = look.knower.pk if look.knower else None
    return {
        "span": span,
        "asked_first": look.asked.get("from", ""),
        "asked_last": look.asked.get("to", ""),
        "flow": flow_asked(look),
        "flow_titles": FLOW_TITLES,
        "totals": totals_of(deals, returns, bought, *span),
        "traded": traded_of(flows_between(deals, returns, span), bought, items),
        "consumer_charts": consumer_charts_of(look),
        "drawn_firms": len(shown_firms(look.firms, look.run.evaluated)),
        "sees_a_shop": bool(shops_of(look)),
        "stalls": stalls_of(listings, offers_on(look, listings), evening, items, knower),
        "most_listings": MOST_LISTINGS_SHOWN if len(listings) == MOST_LISTINGS_SHOWN else 0,
        "page": page.of(deal_lines(page.rows, invoices_of(look, page.rows), returns, evening)),
    }


def figures(look: Look) -> dict[str, Figure]:
    """The tab's charts by name. Five queries."""
    scene, shops, span = scene_of(look), shops_of(look), span_of(look, look.run.day)
    drawn = [shop.pk for shop in shops if shop.pk in scene.shown]
    deals, sales = deals_after(look), sales_after(look)
    # Sales of shops that the look may not see have no way, and so are in no flow.
    ways = [*consumer_ways([shop.pk for shop in shops], scene.items), *ways_of(look)]
    flows = flows_of(deals, returns_of(look, look.after + 1, span.last), sales, look.after)
    flows = [flow for flow in flows if flow.day <= span.last]
    return {
        **{measure.name: flow_figure(flows, ways, scene, measure) for measure in FLOWS},
        "b2b_prices": price_figure(deals, scene, look.after),
        "shelf_prices": shelf_figure(shelves_of(look, drawn), drawn, scene),
        **{chart.figure: consumers_figure(chart.item, sales, drawn, scene) for chart in consumer_charts_of(look)},
    }


def span_of(look: Look, last_day: int) -> Span:
    """The days asked for, up to the last that counts; all up to that one if none are."""
    last = number_asked(look.asked, "to")
    return Span(number_in(look.asked, "from"), last_day if last is None else min(last, last_day))


def flow_asked(look: Look) -> str:
    """Whether the flow of goods or that of money is asked for."""
    return choice_asked(look.asked, "flow", FLOW_TITLES) or "goods"


def catalogue_of(look: Look) -> Mapping[str, Any]:
    """The items of the run's frozen scenario, read as plain data: runs under older rules open as well."""
    items: Mapping[str, Any] = look.run.scenario.get("items") or {}
    return items


def items_of(look: Look) -> list[str]:
    """The items in catalogue order."""
    return list(catalogue_of(look))


def reservation_prices_of(look: Look) -> dict[str, float]:
    """What consumers pay at most for a kg of each item that they buy, in USD."""
    consumers = {item: (rules or {}).get("consumers") for item, rules in catalogue_of(look).items()}
    return {item: float(demand["reservation_price"]) for item, demand in consumers.items() if demand}


def consumer_charts_of(look: Look) -> list[ConsumerChart]:
    """A chart for each of the first items that consumers buy."""
    items = list(reservation_prices_of(look))[:MOST_ITEMS_CHARTED]
    return [ConsumerChart(f"consumer_sales_{place}", item, item_text(item)) for place, item in enumerate(items, 1)]


def scene_of(look: Look) -> Scene:
    """Who and what is drawn."""
    shown = shown_firms(look.firms, look.run.evaluated)
    return Scene(
        frame=frame_of(look.run, [firm.name for firm in shown]),
        names=look.names,
        shown=[firm.pk for firm in shown],
        items=items_of(look),
        reservation_prices=reservation_prices_of(look),
        bankrupt_days={firm.pk: firm.bankrupt_day for firm in look.firms if firm.bankrupt_day is not None},
    )


def shops_of(look: Look) -> list[Firm]:
    """The shops whose prices and sales the look may see: a firm knows those of its own alone."""
    return [firm for firm in look.firms if firm.role == "retailer" and look.knower in (None, firm)]


def flows_between(deals: Sequence[DealRow], returns: Sequence[ReturnRow], span: Span) -> list[Flow]:
    """What went from firm to firm in a span, less what went back."""
    arrived = [deal for deal in deals if has_arrived(deal, *span)]
    return flows_of(arrived, [back for back in returns if within(back.day, *span)], [], after=-1)


def page_of_deals(deals: Sequence[DealRow], look: Look) -> Page[DealRow]:
    """The page of deals that is asked for, newest first."""
    before, since = number_in(look.asked, "before"), number_in(look.asked, "since")
    if since and not before:
        newer = [deal for deal in deals if number_of(deal.pk) > since]
        rows, has_earlier, has_later = newer[:ROWS_PER_PAGE], True, len(newer) > ROWS_PER_PAGE
    else:
        older = [deal for deal in deals if not before or number_of(deal.pk) < before]
        rows, has_earlier, has_later = older[-ROWS_PER_PAGE:], len(older) > ROWS_PER_PAGE, bool(before)
    newest_first = rows[::-1]
    numbers = [number_of(deal.pk) for deal in newest_first]
    return page_between(newest_first, numbers, has_earlier=has_earlier, has_later=has_later)


TAB = Tab("market", "Market", context, figures)
