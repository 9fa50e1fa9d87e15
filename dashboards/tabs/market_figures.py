"""The charts of the Market tab: pure functions from rows to figures, in kg, USD and USD per kg.

A firm has its colour everywhere. A commodity is drawn plain and as a circle, a specialty strong or hatched and as a
diamond. Days are drawn from half a day before noon's whole number to half a day after, as the festival's band is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from typing import Any, Final, NamedTuple

from dashboards.colours import GREY, style_of
from dashboards.figures import Figure, Frame, Measure, label, layout
from dashboards.tabs.market_rows import DealRow, ReturnRow, SaleRow, ShelfRow, Way
from dashboards.words import days_text, item_text, moment_text
from marketplace.economy.money import usd
from marketplace.rows import number_of
from simulation.engine.clock import MINUTES_PER_DAY

CONSUMERS: Final = 0
"""Stands for all consumers where a buyer's key is wanted; no firm has it."""
OTHERS: Final = -1
"""Stands for the firms of a large run that are not drawn by themselves."""

PANELS: Final = ("#FFFFFF", "#1F1A16")
"""What charts lie on in the light and in the dark theme; links are mixed with it, so that names stay readable."""
COMMODITY_STRENGTH: Final = 0.38
SPECIALTY_STRENGTH: Final = 0.72
SMALLEST_POINT_PX: Final = 5.0
LARGEST_POINT_PX: Final = 16.0
MOST_LABELS: Final = 8
MOST_DIAMONDS: Final = 30
TICK_PX: Final = 7.0
USUAL_DAYS: Final = 90
MOST_PANELS: Final = 6
PANEL_GAP: Final = 0.065
NEVER: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Scene:
    """Who and what is drawn: the days, the firms' names by key, those drawn by themselves, and the items in order."""

    frame: Frame
    names: Mapping[int, str]
    shown: Sequence[int]
    items: Sequence[str]
    reservation_prices: Mapping[str, float]
    bankrupt_days: Mapping[int, int]

    def drawn(self, firm_id: int) -> int:
        """The firm, or what stands for it where it is not drawn."""
        return firm_id if firm_id == CONSUMERS or firm_id in self.shown else OTHERS

    def name(self, firm_id: int) -> str:
        """A firm's name, for plotly.js."""
        return label(self.names.get(firm_id, "other firms"))


class Flow(NamedTuple):
    """Goods that changed hands on a day, and the money owed or paid for them; less than nothing for a return."""

    day: int
    way: Way
    quantity_kg: int
    amount_micros: int


class FlowMeasure(NamedTuple):
    """What a chart of flows adds up, and which way it runs."""

    name: str
    title: str
    unit: str
    number: str
    runs_to_seller: bool


GOODS: Final = FlowMeasure("goods_flow", "Goods delivered, kg", "kg", ",.0f", runs_to_seller=False)
MONEY: Final = FlowMeasure("money_flow", "Paid or owed for goods delivered, USD", "USD", ",.2f", runs_to_seller=True)
FLOWS: Final = (GOODS, MONEY)


def is_specialty(item: str) -> bool:
    """Whether an item is drawn as a specialty; as `dashboards.words.item_text` has it."""
    return "specialty" in item


def symbol_of(item: str) -> str:
    """The marker of an item."""
    return "diamond" if is_specialty(item) else "circle"


def item_label(item: str) -> str:
    """An item's name, for plotly.js."""
    return label(item_text(item))


def mixed(colour: str, ground: str, strength: float) -> str:
    """A `#rrggbb` colour laid on another: wholly at strength 1, not at all at 0."""
    parts = [(int(colour[at : at + 2], 16), int(ground[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(over * strength + under * (1 - strength)):02X}" for over, under in parts)


# Flows


def flows_of(
    deals: Iterable[DealRow], returns: Iterable[ReturnRow], sales: Iterable[SaleRow], after: int
) -> list[Flow]:
    """What changed hands after a day: deliveries between firms, returns, and what consumers bought."""
    return [
        *(delivery_of(deal) for deal in deals if (deal.delivered_day or 0) > after and deal.delivered_day is not None),
        *(
            Flow(back.day, Way(back.seller_id, back.buyer_id, back.item), -back.quantity_kg, -back.credit_micros)
            for back in returns
        ),
        *(
            Flow(sale.day, Way(sale.shop_id, CONSUMERS, sale.item), sale.quantity_kg, sale.revenue_micros)
            for sale in sales
        ),
    ]


def delivery_of(deal: DealRow) -> Flow:
    """The delivery of a deal's goods, at the deal's total."""
    assert deal.delivered_day is not None, "only what has arrived has changed hands"
    way = Way(deal.seller_id, deal.buyer_id, deal.item)
    return Flow(deal.delivered_day, way, deal.quantity_kg, deal.total_micros)


def flow_figure(flows: Iterable[Flow], ways: Iterable[Way], scene: Scene, measure: FlowMeasure) -> Figure:
    """A Sankey diagram of goods from seller to buyer, or of the money from buyer to seller.

    `ways` are its links, in an order to which later ones only add. Its sums are by link; what comes to nothing or less
    on the days added up, plotly.js leaves out.
    """
    links = links_of(ways, scene)
    index_of = {way: index for index, way in enumerate(links)}
    nodes = nodes_of(scene)
    sums = [[flow.day, index_of[way], amount_of(flow, measure)] for flow, way in drawn_flows(flows, scene, index_of)]
    ends = [(nodes.index(seller_node(way)), nodes.index(buyer_node(way))) for way in links]
    sources, targets = zip(*ends, strict=True) if ends else ((), ())
    if measure.runs_to_seller:
        sources, targets = targets, sources
    return {
        "data": [
            {
                "type": "sankey",
                "arrangement": "snap",
                "valueformat": measure.number,
                "valuesuffix": f" {measure.unit}",
                "node": {
                    "label": [node_label(node, scene) for node in nodes],
                    "color": node_colours(nodes, scene, 0),
                    "pad": 18,
                    "thickness": 16,
                    "line": {"width": 0},
                    "hovertemplate": f"%{{label}}: %{{value:{measure.number}}} {measure.unit}<extra></extra>",
                },
                "link": {
                    "source": list(sources),
                    "target": list(targets),
                    "value": [0] * len(links),
                    "color": link_colours(links, scene, 0),
                    "customdata": [link_words(way, scene, measure) for way in links],
                    "hovertemplate": f"%{{customdata}}: %{{value:{measure.number}}} {measure.unit}<extra></extra>",
                },
                "meta": {
                    "key": measure.name,
                    "sums": sums,
                    "into": "link.value",
                    "labels": [link_labels(way, scene) for way in links],
                    "titles": ["Seller", "Buyer", "Item"],
                    "value": measure.unit,
                    "light": flow_colours(nodes, links, scene, 0),
                    "dark": flow_colours(nodes, links, scene, 1),
                },
            }
        ],
        "layout": {
            "title": {"text": measure.title},
            "margin": {"l": 8, "r": 8, "t": 12, "b": 12},
            # Axes belong to no flow; plotly.js would draw some where nothing flows.
            "xaxis": {"visible": False},
            "yaxis": {"visible": False},
        },
    }


def links_of(ways: Iterable[Way], scene: Scene) -> list[Way]:
    """The links that are drawn: firms that are not drawn by themselves are one, and what is among them is left out."""
    drawn = (drawn_way(way, scene) for way in ways)
    return list(dict.fromkeys(way for way in drawn if way.seller_id != way.buyer_id))


def drawn_way(way: Way, scene: Scene) -> Way:
    """The link that stands for a way."""
    return Way(scene.drawn(way.seller_id), scene.drawn(way.buyer_id), way.item)


def drawn_flows(flows: Iterable[Flow], scene: Scene, links: Mapping[Way, int]) -> Iterator[tuple[Flow, Way]]:
    """Each flow with the link that stands for it, if one does."""
    for flow in flows:
        way = drawn_way(flow.way, scene)
        if way in links:
            yield flow, way


def amount_of(flow: Flow, measure: FlowMeasure) -> float:
    """What a flow counts for."""
    return usd(flow.amount_micros) if measure.runs_to_seller else flow.quantity_kg


Node = tuple[int, str]
"""A firm's key and nothing, or CONSUMERS and what they buy."""


def nodes_of(scene: Scene) -> list[Node]:
    """The firms in seating order, all others as one, and the consumers of each item."""
    others = [(OTHERS, "")] if len(scene.shown) < len(scene.names) else []
    return [*((firm_id, "") for firm_id in scene.shown), *others, *((CONSUMERS, item) for item in scene.items)]


def seller_node(way: Way) -> Node:
    """Where goods come from."""
    return way.seller_id, ""


def buyer_node(way: Way) -> Node:
    """Where goods go to."""
    return way.buyer_id, way.item if way.buyer_id == CONSUMERS else ""


def node_label(node: Node, scene: Scene) -> str:
    """A node's name."""
    firm_id, item = node
    return f"consumers of<br>{item_label(item)}" if firm_id == CONSUMERS else scene.name(firm_id)


def link_labels(way: Way, scene: Scene) -> list[str]:
    """What names a link in a table: who sells what to whom."""
    buyer = "consumers" if way.buyer_id == CONSUMERS else scene.name(way.buyer_id)
    return [scene.name(way.seller_id), buyer, item_label(way.item)]


def link_words(way: Way, scene: Scene, measure: FlowMeasure) -> str:
    """What is said of a link when one points at it: from whom, to whom, and for what."""
    seller, buyer, item = link_labels(way, scene)
    ends = f"{buyer} → {seller}" if measure.runs_to_seller else f"{seller} → {buyer}"
    return f"{ends}<br>{item}"


def colour_of(firm_id: int, scene: Scene, theme: int) -> str:
    """A firm's colour in the light theme (0) or the dark one (1); grey for consumers and for the others."""
    name = scene.names.get(firm_id)
    return style_of(name)[theme] if name else GREY[theme]


def node_colours(nodes: Sequence[Node], scene: Scene, theme: int) -> list[str]:
    """The nodes' colours in a theme."""
    return [colour_of(firm_id, scene, theme) for firm_id, _ in nodes]


def link_colours(links: Sequence[Way], scene: Scene, theme: int) -> list[str]:
    """The links' colours in a theme: the seller's, pale for a commodity, strong for a specialty."""
    return [
        mixed(
            colour_of(way.seller_id, scene, theme),
            PANELS[theme],
            SPECIALTY_STRENGTH if is_specialty(way.item) else COMMODITY_STRENGTH,
        )
        for way in links
    ]


def flow_colours(nodes: Sequence[Node], links: Sequence[Way], scene: Scene, theme: int) -> dict[str, list[str]]:
    """All colours of a chart of flows in a theme, by their place in the trace."""
    return {"node.color": node_colours(nodes, scene, theme), "link.color": link_colours(links, scene, theme)}


# Charts over the days


def over_days(scene: Scene, title: str, unit: str, **more: Any) -> dict[str, Any]:
    """The layout of a chart over whole days, with an axis of its own unit."""
    base = layout(scene.frame, Measure("", title, ""))
    return {
        **base,
        "meta": {**base["meta"], "labels": more.pop("labels", False), "unit": unit},
        "xaxis": {**base["xaxis"], "range": [-0.5, scene.frame.days - 0.5]},
        "yaxis": {"title": {"text": unit}, "rangemode": "tozero", "zeroline": True, "zerolinewidth": 1.5},
        **more,
    }


def x_of(minute: int) -> float:
    """Where a minute lies on an axis on which a day reaches from half before its number to half after."""
    return round(minute / MINUTES_PER_DAY - 0.5, 4)


def price_figure(deals: Iterable[DealRow], scene: Scene, after: int) -> Figure:
    """A point for each deal made after a day in its seller's colour, and each item's mean price a day, by quantity.

    Each item has a panel of its own over the same days: their prices lie a factor of twenty apart.
    """
    panels = panels_of(scene.items)
    made = [deal for deal in deals if deal.day > after and deal.item in panels]
    points = [
        points_of(seller_id, item, made, scene, axis) for seller_id in scene.shown for item, (axis, _) in panels.items()
    ]
    base = over_days(scene, "Prices agreed between firms, USD per kg", "USD/kg", hovermode="closest")
    return {
        "data": [*mean_lines(made, panels), *(trace for trace in points if trace["x"])],
        "layout": {**base, **panel_axes(base, panels), "annotations": panel_titles(panels)},
    }


Panels = dict[str, tuple[str, list[float]]]
"""For each item the name of its axis, and the part of the chart's height that is its own: from, to."""


def panels_of(items: Sequence[str]) -> Panels:
    """A panel for each of the first items, one below the other."""
    shown = items[:MOST_PANELS]
    height = 1 / max(len(shown), 1)
    gap = PANEL_GAP if len(shown) > 1 else 0
    panels: Panels = {}
    for place, item in enumerate(shown):
        top = 1 - place * height
        panels[item] = (f"y{place + 1}" if place else "y", [round(max(top - height, 0), 4), round(top - gap, 4)])
    return panels


def panel_axes(base: dict[str, Any], panels: Panels) -> dict[str, Any]:
    """The panels' price axes; the days stand below the last."""
    axes = {
        axis.replace("y", "yaxis"): {
            "title": {"text": "USD/kg" if axis == "y" else ""},
            "domain": domain,
            "rangemode": "tozero",
            "zeroline": False,
            "nticks": 5,
        }
        for axis, domain in panels.values()
    }
    last = next(reversed(panels.values()), ("y", []))[0]
    return {**axes, "xaxis": {**base["xaxis"], "anchor": last}}


def panel_titles(panels: Panels) -> list[dict[str, Any]]:
    """Each panel's item, above its left edge."""
    return [
        {
            "text": f"<b>{item_label(item)}</b>",
            "xref": "paper",
            "x": 0,
            "xanchor": "left",
            "yref": "paper",
            "y": domain[1],
            "yanchor": "bottom",
            "showarrow": False,
        }
        for item, (_, domain) in panels.items()
    ]


def points_of(seller_id: int, item: str, made: Iterable[DealRow], scene: Scene, axis: str) -> dict[str, Any]:
    """The deals of one seller in one item: circles or, for a specialty, diamonds, larger for more kilograms."""
    deals = [deal for deal in made if deal.seller_id == seller_id and deal.item == item]
    style = style_of(scene.names[seller_id])
    name = scene.name(seller_id)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{name} {item_label(item)}",
        "yaxis": axis,
        "x": [x_of(deal.minute) for deal in deals],
        "y": [usd(deal.price_micros) for deal in deals],
        "customdata": [deal_words(deal, scene) for deal in deals],
        "marker": {
            "color": style.light,
            "symbol": symbol_of(item),
            "size": [point_size(deal.quantity_kg) for deal in deals],
            "opacity": 0.75,
            "line": {"width": 0},
        },
        "hovertemplate": (
            "<b>%{customdata[0]}</b> · %{customdata[1]}<br>"
            f"{name} → %{{customdata[2]}}<br>"
            f"%{{customdata[3]}} kg {item_label(item)} at %{{y:,.2f}} USD/kg<br>"
            "%{customdata[4]} to pay<extra></extra>"
        ),
        "meta": {
            "key": f"{scene.names[seller_id]} {item}",
            "firm": scene.names[seller_id],
            "days": [deal.day for deal in deals],
            "light": style.light,
            "dark": style.dark,
            "titles": ["Deal", "Made", "Buyer", "kg", "Terms"],
        },
    }


def deal_words(deal: DealRow, scene: Scene) -> list[Any]:
    """What is said of a deal when one points at it."""
    return [
        f"D{number_of(deal.pk)}",
        moment_text(deal.minute),
        scene.name(deal.buyer_id),
        deal.quantity_kg,
        days_text(deal.terms_days),
    ]


def point_size(quantity_kg: int) -> float:
    """The diameter of a deal's point in pixels."""
    return round(min(max(2.4 * sqrt(quantity_kg), SMALLEST_POINT_PX), LARGEST_POINT_PX), 1)


def mean_lines(made: Iterable[DealRow], panels: Panels) -> Iterator[dict[str, Any]]:
    """A thin line for each item: the mean of the prices of a day's deals, weighted by their kilograms."""
    kg: dict[tuple[str, int], int] = defaultdict(int)
    micros: dict[tuple[str, int], int] = defaultdict(int)
    for deal in made:
        kg[deal.item, deal.day] += deal.quantity_kg
        micros[deal.item, deal.day] += deal.quantity_kg * deal.price_micros
    for item, (axis, _) in panels.items():
        days = sorted(day for its_item, day in kg if its_item == item)
        yield {
            **grey_line(item, "mean price of"),
            "yaxis": axis,
            "x": days,
            "y": [round(usd(micros[item, day]) / kg[item, day], 4) for day in days],
            "customdata": [kg[item, day] for day in days],
            "hovertemplate": (
                f"Day %{{x}}: %{{customdata:,}} kg {item_label(item)}<br>%{{y:,.2f}} USD/kg on average<extra></extra>"
            ),
            "meta": {**grey_meta(item, "mean price of"), "days": days, "titles": ["kg"]},
        }


def grey_line(item: str, what: str) -> dict[str, Any]:
    """A thin grey line that belongs to an item, dotted for a specialty."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{what} {item_label(item)}",
        "line": {"color": GREY.full, "width": 1.25, "dash": "dot" if is_specialty(item) else "solid"},
    }


def grey_meta(item: str, what: str) -> dict[str, Any]:
    """Its name, its colours, and what stands at its end."""
    return {"key": f"{what} {item}", "light": GREY.full, "dark": GREY.pale, "label": item_label(item)}


def shelf_figure(shelves: Iterable[ShelfRow], shops: Sequence[int], scene: Scene) -> Figure:
    """A step line for each shop and consumer item: the price on the shelf that evening; and what no consumer pays."""
    rows = list(shelves)
    items = list(scene.reservation_prices)
    lines = [shelf_line(shop_id, item, rows, scene) for shop_id in shops for item in items]
    title = "Shelf prices by shop, and the reservation price, USD per kg"
    return {
        "data": [*(reservation_line(item, scene) for item in items), *lines],
        "layout": over_days(scene, title, "USD/kg", labels=len(lines) <= MOST_LABELS),
    }


def shelf_line(shop_id: int, item: str, rows: Iterable[ShelfRow], scene: Scene) -> dict[str, Any]:
    """One shop's price of one item; broken where it is not on the shelf, and once the shop is bankrupt."""
    style, name = style_of(scene.names[shop_id]), scene.name(shop_id)
    own = [row for row in rows if row.shop_id == shop_id]
    days = [row.day for row in own]
    closed_day = scene.bankrupt_days.get(shop_id, NEVER)
    return {
        "type": "scatter",
        "mode": "lines+markers" if is_specialty(item) else "lines",
        "name": f"{name} {item_label(item)}",
        "x": days,
        "y": [row.prices.get(item) or None if row.day < closed_day else None for row in own],
        "line": {"color": style.light, "dash": style.dash, "width": 1.75, "shape": "hvh"},
        "marker": {"color": style.light, "symbol": "diamond", "size": 5, "maxdisplayed": MOST_DIAMONDS},
        "hovertemplate": "%{y:,.2f} USD/kg",
        "meta": {
            "key": f"{scene.names[shop_id]} {item}",
            "firm": scene.names[shop_id],
            "days": days,
            "light": style.light,
            "dark": style.dark,
            "label": f"{name} ◆" if is_specialty(item) else name,
        },
    }


def reservation_line(item: str, scene: Scene) -> dict[str, Any]:
    """The price at which consumers want nothing of an item: a thin grey line over all days."""
    price = scene.reservation_prices[item]
    return {
        **grey_line(item, "reservation price of"),
        "x": [-0.5, scene.frame.days - 0.5],
        "y": [price, price],
        "hoverinfo": "skip",
        "meta": {
            **grey_meta(item, "reservation price of"),
            "reference": True,
            "label": "reservation ◆" if is_specialty(item) else "reservation",
        },
    }


def consumers_figure(item: str, sales: Iterable[SaleRow], shops: Sequence[int], scene: Scene) -> Figure:
    """What consumers bought of an item: a stacked bar a day of the drawn shops, and a tick for all shops together."""
    of_item = [sale for sale in sales if sale.item == item]
    return {
        "data": [*(sales_bars(shop_id, item, of_item, scene) for shop_id in shops), market_ticks(item, of_item, scene)],
        "layout": over_days(
            scene, f"Bought by consumers: {item_text(item)}, kg a day", "kg", barmode="stack", bargap=0.15
        ),
    }


def sales_bars(shop_id: int, item: str, of_item: Iterable[SaleRow], scene: Scene) -> dict[str, Any]:
    """One shop's sales of an item."""
    style, name = style_of(scene.names[shop_id]), scene.name(shop_id)
    own = [sale for sale in of_item if sale.shop_id == shop_id]
    days = [sale.day for sale in own]
    return {
        "type": "bar",
        "name": name,
        "x": days,
        "y": [sale.quantity_kg for sale in own],
        "customdata": [usd(sale.price_micros) for sale in own],
        "marker": {"color": style.light, "pattern": {"shape": "/" if is_specialty(item) else "", "size": 5}},
        "hovertemplate": "%{y:,} kg at %{customdata:,.2f} USD/kg",
        "meta": {
            "key": f"{scene.names[shop_id]} {item}",
            "firm": scene.names[shop_id],
            "days": days,
            "light": style.light,
            "dark": style.dark,
            "titles": ["USD/kg"],
        },
    }


def market_ticks(item: str, of_item: Iterable[SaleRow], scene: Scene) -> dict[str, Any]:
    """What all shops together sold of an item, on each evening on which one did: known to every firm."""
    kg: dict[int, int] = defaultdict(int)
    for sale in of_item:
        kg[sale.day] += sale.quantity_kg
    days = sorted(kg)
    size = round(min(TICK_PX, TICK_PX * USUAL_DAYS / max(scene.frame.days, 1)), 1)
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "all shops",
        "x": days,
        "y": [kg[day] for day in days],
        "marker": {"color": GREY.full, "symbol": "line-ew-open", "size": size, "line": {"width": 1.5}},
        "hovertemplate": "%{y:,} kg",
        "meta": {**grey_meta(item, "all shops"), "days": days},
    }


def consumer_ways(shops: Iterable[int], items: Iterable[str]) -> list[Way]:
    """The ways from each shop to the consumers of each item."""
    kinds = list(items)
    return list(chain.from_iterable([Way(shop_id, CONSUMERS, item) for item in kinds] for shop_id in shops))
