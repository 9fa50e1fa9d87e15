"""The Market tab against a run of a few deals, small enough to reckon every figure in the head."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.exceptions import BadRequest
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.books import MOST_FIRMS_SHOWN
from dashboards.colours import style_of
from dashboards.figure_rows import rows_behind
from dashboards.figures import Figure, Frame
from dashboards.snapshot import firms_of
from dashboards.tabs import market
from dashboards.tabs.look import Look
from dashboards.tabs.market_figures import (
    CONSUMERS,
    GOODS,
    OTHERS,
    Flow,
    Scene,
    consumers_figure,
    flow_figure,
    links_of,
    mixed,
    point_size,
    price_figure,
    shelf_figure,
    x_of,
)
from dashboards.tabs.market_rows import DealRow, SaleRow, ShelfRow, Way
from dashboards.tabs.market_tables import Evening, Standing, shipment_standing
from marketplace.economy.money import micros
from marketplace.models import ConsumerSale, Deal, Firm, Invoice, Listing, Offer
from marketplace.rows import key_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.engine.scenario import scenario_from
from simulation.models import DayEnd, Run
from tests.small_runs import add_event, make_run

pytestmark = pytest.mark.django_db

FARMER_A, FARMER_B, ROASTER_A, ROASTER_B, RETAILER_A, RETAILER_B = range(1, 7)
GREEN, ROASTED = "green_coffee_kg", "roasted_coffee_kg"
GREEN_SPECIALTY, SPECIALTY = "green_specialty_kg", "roasted_specialty_kg"
SCRIPT = "<script>alert(1)</script>"
SESSION_AND_USER, RUN_AND_FIRMS = 2, 2


def at(day: int, hour: int = 10) -> int:
    """The minute of an hour of a day."""
    return day * MINUTES_PER_DAY + hour * 60


class SmallMarket:
    """Writes a run of ten days, of which seven have been played, with six deals.

    D1  Day 0 10:00  farmer_A  → roaster_A   30 kg green      at  3.00   90 USD  delivered Day 1, paid Day 4, due Day 2
    D2  Day 0 11:00  farmer_B  → roaster_A   10 kg green      at  5.00   50 USD  late by a day, delivered Day 2
    D3  Day 2 10:00  roaster_A → retailer_A   8 kg specialty  at 40.00  320 USD  delivered Day 3; 3 kg returned Day 5
    D4  Day 3 10:00  roaster_B → retailer_B  20 kg roasted    at  9.50  190 USD  lost Day 4
    D5  Day 6 10:00  roaster_A → retailer_A   5 kg roasted    at 10.00   50 USD  under way
    D6  Day 6 12:00  farmer_A  → roaster_A   10 kg green      at  4.00   40 USD  under way
    """

    def __init__(self) -> None:
        self.run = make_run(scenario=scenario_from({"days": 10}), day=6)
        self.firms = firms_of(self.run)
        self._write_listings()
        self._write_deals()
        self._write_shops()
        add_event(
            self.run,
            "shipment_returned",
            "retailer_A",
            "roaster_A",
            day=5,
            deal="D3",
            invoice="I3",
            item=SPECIALTY,
            quantity_kg=3,
            credit=120.0,
            reason=SCRIPT,
        )
        self.run.day = 6
        self.run.save()

    def key(self, number: int) -> int:
        return key_of(self.run.pk, number)

    def look(self, until: int = 6, after: int = -1, knower: int = 0, asked: str = "") -> Look:
        firm = self.firms[knower - 1] if knower else None
        return Look(run=self.run, firms=self.firms, until=until, after=after, knower=firm, asked=QueryDict(asked))

    def _write_listings(self) -> None:
        self._listing(1, FARMER_A, GREEN, 40, 3.2, at(0, 9), at(6, 12), "sold out")
        self._listing(2, FARMER_B, GREEN, 10, 5.0, at(0, 9), at(0, 11), "sold out")
        self._listing(3, ROASTER_A, SPECIALTY, 8, 42.0, at(2, 9), at(2), "sold out")
        self._listing(4, ROASTER_B, ROASTED, 20, 9.5, at(3, 9), at(3), "sold out")
        self._listing(5, ROASTER_A, ROASTED, 12, 10.0, at(5, 9), None, "open")
        self._listing(6, FARMER_B, GREEN, 7, 3.0, at(1, 9), None, "open")
        self._offer(1, 1, ROASTER_A, 30, 3.0, at(0, 9), at(0), "accepted")
        self._offer(2, 2, ROASTER_A, 10, 5.0, at(0, 9), at(0, 11), "accepted")
        self._offer(3, 3, RETAILER_A, 8, 40.0, at(2, 9), at(2), "accepted")
        self._offer(4, 4, RETAILER_B, 20, 9.5, at(3, 9), at(3), "accepted")
        self._offer(5, 5, RETAILER_A, 5, 10.0, at(5, 9), at(6), "accepted")
        self._offer(6, 1, ROASTER_A, 10, 4.0, at(5, 9), at(6, 12), "accepted")
        self._offer(7, 1, ROASTER_B, 5, 2.5, at(1, 9), at(4, 9), "withdrawn")

    def _listing(
        self,
        number: int,
        seller: int,
        item: str,
        quantity_kg: int,
        price: float,
        minute: int,
        closed_minute: int | None,
        status: str,
    ) -> None:
        Listing.objects.create(
            pk=self.key(number),
            run=self.run,
            seller_id=self.key(seller),
            item=item,
            quantity_kg=quantity_kg,
            remaining_kg=7 if closed_minute is None else 0,
            price_micros=micros(price),
            terms_days=30,
            minute=minute,
            turn_id=self.key(number),
            status=status,
            closed_minute=closed_minute,
        )

    def _offer(
        self,
        number: int,
        listing: int,
        bidder: int,
        quantity_kg: int,
        price: float,
        minute: int,
        closed_minute: int,
        status: str,
    ) -> None:
        Offer.objects.create(
            pk=self.key(number),
            run=self.run,
            listing_id=self.key(listing),
            bidder_id=self.key(bidder),
            quantity_kg=quantity_kg,
            price_micros=micros(price),
            terms_days=14,
            message=SCRIPT,
            minute=minute,
            turn_id=self.key(20 + number),
            status=status,
            closed_minute=closed_minute,
        )

    def _write_deals(self) -> None:
        self._deal(1, FARMER_A, ROASTER_A, GREEN, 30, 3.0, at(0), 1, "delivered", at(1, 9))
        self._deal(2, FARMER_B, ROASTER_A, GREEN, 10, 5.0, at(0, 11), 2, "delivered", at(2, 9), delays=1)
        self._deal(3, ROASTER_A, RETAILER_A, SPECIALTY, 8, 40.0, at(2), 3, "delivered", at(3, 9))
        self._deal(4, ROASTER_B, RETAILER_B, ROASTED, 20, 9.5, at(3), 4, "lost", at(4, 9))
        self._deal(5, ROASTER_A, RETAILER_A, ROASTED, 5, 10.0, at(6), 7, "travelling", None)
        self._deal(6, FARMER_A, ROASTER_A, GREEN, 10, 4.0, at(6, 12), 7, "travelling", None)
        self._invoice(1, FARMER_A, ROASTER_A, 90.0, 1, 2, "paid", at(4), paid=90.0)
        self._invoice(2, FARMER_B, ROASTER_A, 50.0, 2, 32, "open", None)
        self._invoice(3, ROASTER_A, RETAILER_A, 320.0, 3, 33, "open", None)

    def _deal(
        self,
        number: int,
        seller: int,
        buyer: int,
        item: str,
        quantity_kg: int,
        price: float,
        minute: int,
        due_day: int,
        status: str,
        settled_minute: int | None,
        delays: int = 0,
    ) -> None:
        Deal.objects.create(
            pk=self.key(number),
            run=self.run,
            offer_id=self.key(number),
            seller_id=self.key(seller),
            buyer_id=self.key(buyer),
            item=item,
            quantity_kg=quantity_kg,
            price_micros=micros(price),
            total_micros=micros(price * quantity_kg),
            cost_micros=1,
            terms_days=14,
            minute=minute,
            due_day=due_day,
            turn_id=self.key(40 + number),
            status=status,
            delays=delays,
            settled_minute=settled_minute,
        )

    def _invoice(
        self,
        number: int,
        issuer: int,
        debtor: int,
        principal: float,
        issued_day: int,
        due_day: int,
        status: str,
        settled_minute: int | None,
        paid: float = 0.0,
    ) -> None:
        Invoice.objects.create(
            pk=self.key(number),
            run=self.run,
            issuer_id=self.key(issuer),
            debtor_id=self.key(debtor),
            deal_id=self.key(number),
            principal_micros=micros(principal),
            issued_day=issued_day,
            due_day=due_day,
            fees_micros=0,
            credited_micros=0,
            paid_micros=micros(paid),
            returned_kg=0,
            returned_cost_micros=0,
            status=status,
            settled_minute=settled_minute,
        )

    def _write_shops(self) -> None:
        self._sale(1, RETAILER_A, 3, ROASTED, 4, 18.0)
        self._sale(2, RETAILER_B, 3, ROASTED, 6, 20.0)
        self._sale(3, RETAILER_A, 4, SPECIALTY, 2, 50.0)
        self._sale(4, RETAILER_B, 5, ROASTED, 1, 20.0)
        for day in range(6):
            self._evening(RETAILER_A, day, {ROASTED: 18.0, SPECIALTY: 50.0})
            self._evening(RETAILER_B, day, {ROASTED: 20.0} if day != 2 else {})

    def _sale(self, number: int, shop: int, day: int, item: str, quantity_kg: int, price: float) -> None:
        ConsumerSale.objects.create(
            pk=self.key(number),
            run=self.run,
            shop_id=self.key(shop),
            day=day,
            item=item,
            quantity_kg=quantity_kg,
            price_micros=micros(price),
            revenue_micros=micros(price * quantity_kg),
            cost_micros=1,
        )

    def _evening(self, shop: int, day: int, prices: dict[str, float]) -> None:
        sheet = [field.name for field in DayEnd._meta.concrete_fields if field.name.endswith("_micros")]
        DayEnd.objects.create(
            pk=self.key(day * 10 + shop),
            run=self.run,
            firm_id=self.key(shop),
            day=day,
            stock_kg={},
            prices=prices,
            **dict.fromkeys(sheet, 0),
        )


@pytest.fixture
def small() -> SmallMarket:
    return SmallMarket()


def added_up(figure: Figure, first: int, last: int) -> dict[tuple[str, ...], float]:
    """What a figure's table says of some days: seller, buyer and item, and what went between them."""
    _, *rows = rows_behind(figure, first, last)
    return {tuple(row[:3]): row[3] for row in rows}


def traces(figure: Figure) -> dict[str, dict[str, Any]]:
    """A figure's traces by their keys."""
    return {trace["meta"]["key"]: trace for trace in figure["data"]}


# Flows


def test_goods_flow_from_firm_to_firm_and_to_consumers_in_kilograms_less_returns(small: SmallMarket) -> None:
    figure = market.figures(small.look())["goods_flow"]
    assert added_up(figure, 0, 9) == {
        ("retailer_A", "consumers", "roasted coffee"): 4,
        ("retailer_A", "consumers", "◆ roasted specialty"): 2,
        ("retailer_B", "consumers", "roasted coffee"): 7,
        ("farmer_A", "roaster_A", "green coffee"): 30,
        ("farmer_B", "roaster_A", "green coffee"): 10,
        ("roaster_A", "retailer_A", "◆ roasted specialty"): 5,
    }


def test_a_flow_counts_the_days_of_its_span_alone(small: SmallMarket) -> None:
    figure = market.figures(small.look())["goods_flow"]
    assert added_up(figure, 2, 3) == {
        ("retailer_A", "consumers", "roasted coffee"): 4,
        ("retailer_B", "consumers", "roasted coffee"): 6,
        ("farmer_B", "roaster_A", "green coffee"): 10,
        ("roaster_A", "retailer_A", "◆ roasted specialty"): 8,
    }
    assert added_up(figure, 5, 5) == {
        ("retailer_B", "consumers", "roasted coffee"): 1,
        ("roaster_A", "retailer_A", "◆ roasted specialty"): -3,
    }


def test_the_last_day_of_a_span_may_be_asked_for(small: SmallMarket) -> None:
    figure = market.figures(small.look(asked="to=2"))["goods_flow"]
    assert {day for day, _, _ in figure["data"][0]["meta"]["sums"]} == {1, 2}


def test_money_flows_the_other_way_at_the_deals_totals(small: SmallMarket) -> None:
    figures = market.figures(small.look())
    goods, money = (figures[name]["data"][0]["link"] for name in ("goods_flow", "money_flow"))
    assert (money["source"], money["target"]) == (goods["target"], goods["source"])
    assert added_up(figures["money_flow"], 0, 9) == {
        ("retailer_A", "consumers", "roasted coffee"): 72,
        ("retailer_A", "consumers", "◆ roasted specialty"): 100,
        ("retailer_B", "consumers", "roasted coffee"): 140,
        ("farmer_A", "roaster_A", "green coffee"): 90,
        ("farmer_B", "roaster_A", "green coffee"): 50,
        ("roaster_A", "retailer_A", "◆ roasted specialty"): 200,
    }


def test_links_join_the_nodes_they_name(small: SmallMarket) -> None:
    trace = market.figures(small.look())["goods_flow"]["data"][0]
    names = trace["node"]["label"]
    ends = {
        (names[source], names[target])
        for source, target in zip(trace["link"]["source"], trace["link"]["target"], strict=True)
    }
    assert ("roaster_A", "retailer_A") in ends
    assert ("retailer_B", "consumers of<br>◆ roasted specialty") in ends
    assert len({len(values) for values in trace["link"].values() if isinstance(values, list)}) == 1
    assert len(trace["meta"]["labels"]) == len(trace["link"]["source"])


def test_a_link_has_its_sellers_colour_pale_for_a_commodity_and_strong_for_a_specialty(small: SmallMarket) -> None:
    trace = market.figures(small.look())["goods_flow"]["data"][0]
    colours = dict(zip(map(tuple, trace["meta"]["labels"]), trace["meta"]["light"]["link.color"], strict=True))
    full = style_of("roaster_A").light
    assert colours["roaster_A", "retailer_A", "◆ roasted specialty"] == mixed(full, "#FFFFFF", 0.72)
    assert colours["roaster_A", "retailer_A", "roasted coffee"] == mixed(full, "#FFFFFF", 0.38)
    nodes = dict(zip(trace["node"]["label"], trace["meta"]["dark"]["node.color"], strict=True))
    assert nodes["roaster_A"] == style_of("roaster_A").dark


def test_colours_are_mixed_channel_by_channel() -> None:
    assert mixed("#000000", "#FFFFFF", 0.4) == "#999999"
    assert mixed("#FF8000", "#FFFFFF", 1) == "#FF8000"
    assert mixed("#FF8000", "#102030", 0) == "#102030"


@pytest.mark.parametrize("after", [0, 1, 2, 3, 4, 5, 6])
def test_what_a_page_appends_after_any_day_makes_the_whole(small: SmallMarket, after: int) -> None:
    whole, news = market.figures(small.look()), market.figures(small.look(after=after))
    for name in ("goods_flow", "money_flow"):
        before = [each for each in whole[name]["data"][0]["meta"]["sums"] if each[0] <= after]
        assert sorted(before + news[name]["data"][0]["meta"]["sums"]) == sorted(whole[name]["data"][0]["meta"]["sums"])
        assert news[name]["data"][0]["link"] == whole[name]["data"][0]["link"]
    for name in ("b2b_prices", "shelf_prices", "consumer_sales_1", "consumer_sales_2"):
        old, new = traces(whole[name]), traces(news[name])
        for key, trace in old.items():
            later = [day for day in trace["meta"].get("days", []) if day > after]
            assert (new[key]["meta"].get("days", []) if key in new else []) == later, (name, key)


def test_a_link_keeps_its_place_when_others_begin_to_trade(small: SmallMarket) -> None:
    before = market.figures(small.look())["goods_flow"]["data"][0]["meta"]["labels"]
    small._deal(7, FARMER_B, ROASTER_B, GREEN, 1, 1.0, at(6, 13), 7, "travelling", None)
    after = market.figures(small.look())["goods_flow"]["data"][0]["meta"]["labels"]
    assert after == [*before, ["farmer_B", "roaster_B", "green coffee"]]


def test_firms_that_are_not_drawn_flow_together_and_not_among_themselves() -> None:
    names = {number: f"farmer_{number}" for number in range(1, 5)}
    scene = Scene(Frame(10, [], "", None), names, [1, 2], [GREEN], {}, {})
    ways = [Way(1, 3, GREEN), Way(1, 4, GREEN), Way(3, 4, GREEN), Way(4, CONSUMERS, GREEN)]
    assert links_of(ways, scene) == [Way(1, OTHERS, GREEN), Way(OTHERS, CONSUMERS, GREEN)]
    flows = [Flow(0, way, 10, 0) for way in ways]
    trace = flow_figure(flows, ways, scene, GOODS)["data"][0]
    assert trace["meta"]["sums"] == [[0, 0, 10], [0, 0, 10], [0, 1, 10]]
    assert trace["node"]["label"] == ["farmer_1", "farmer_2", "other firms", "consumers of<br>green coffee"]


# Prices between firms


def test_a_deal_is_a_point_at_its_minute_and_price_in_the_panel_of_its_item(small: SmallMarket) -> None:
    figure = market.figures(small.look())["b2b_prices"]
    green, specialty = (traces(figure)[key] for key in (f"farmer_A {GREEN}", f"roaster_A {SPECIALTY}"))
    assert (green["x"], green["y"]) == ([x_of(at(0)), x_of(at(6, 12))], [3.0, 4.0])
    assert (green["meta"]["days"], green["marker"]["symbol"], green["yaxis"]) == ([0, 6], "circle", "y")
    assert (specialty["y"], specialty["marker"]["symbol"], specialty["yaxis"]) == ([40.0], "diamond", "y4")
    assert specialty["customdata"] == [["D3", "Day 2 · Wed 10:00", "retailer_A", 8, "14 days"]]


def test_panels_lie_below_each_other_and_the_days_below_the_last(small: SmallMarket) -> None:
    layout = market.figures(small.look())["b2b_prices"]["layout"]
    domains = [layout[axis]["domain"] for axis in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    assert [bottom for bottom, _ in domains] == [0.75, 0.5, 0.25, 0]
    assert all(bottom < top for bottom, top in domains)
    assert layout["xaxis"]["anchor"] == "y4"
    assert [note["text"] for note in layout["annotations"]] == [
        "<b>green coffee</b>",
        "<b>roasted coffee</b>",
        "<b>◆ green specialty</b>",
        "<b>◆ roasted specialty</b>",
    ]


def test_noon_lies_on_the_days_number() -> None:
    assert x_of(at(4, 12)) == 4.0
    assert x_of(at(4, 0)) == 3.5


def test_a_point_grows_with_its_kilograms_within_bounds() -> None:
    assert [point_size(kg) for kg in (1, 25, 1_000_000)] == [5.0, 12.0, 16.0]


def test_the_mean_price_of_a_day_is_weighted_by_kilograms(small: SmallMarket) -> None:
    mean = traces(market.figures(small.look())["b2b_prices"])[f"mean price of {GREEN}"]
    assert mean["x"] == [0, 6]
    assert mean["y"] == [(30 * 3.0 + 10 * 5.0) / 40, 4.0]
    assert mean["customdata"] == [40, 10]


# Shops


def test_a_shelf_price_is_a_step_line_broken_where_the_shop_has_none(small: SmallMarket) -> None:
    lines = traces(market.figures(small.look())["shelf_prices"])
    assert lines[f"retailer_B {ROASTED}"]["y"] == [20.0, 20.0, None, 20.0, 20.0, 20.0]
    assert lines[f"retailer_B {ROASTED}"]["x"] == [0, 1, 2, 3, 4, 5]
    assert lines[f"retailer_B {ROASTED}"]["line"]["shape"] == "hvh"
    assert lines[f"retailer_A {SPECIALTY}"]["mode"] == "lines+markers"
    assert lines[f"reservation price of {ROASTED}"]["y"] == [30.0, 30.0]
    assert lines[f"reservation price of {SPECIALTY}"]["y"] == [80.0, 80.0]


def test_the_shelf_of_a_bankrupt_shop_is_empty(small: SmallMarket) -> None:
    small.firms[RETAILER_B - 1].bankrupt_day = 4
    lines = traces(market.figures(small.look())["shelf_prices"])
    assert lines[f"retailer_B {ROASTED}"]["y"] == [20.0, 20.0, None, 20.0, None, None]


def test_consumers_have_a_bar_for_each_shop_and_a_tick_for_the_market(small: SmallMarket) -> None:
    figures = market.figures(small.look())
    bars = traces(figures["consumer_sales_1"])
    assert (bars[f"retailer_A {ROASTED}"]["x"], bars[f"retailer_A {ROASTED}"]["y"]) == ([3], [4])
    assert (bars[f"retailer_B {ROASTED}"]["x"], bars[f"retailer_B {ROASTED}"]["y"]) == ([3, 5], [6, 1])
    assert (bars[f"all shops {ROASTED}"]["x"], bars[f"all shops {ROASTED}"]["y"]) == ([3, 5], [10, 1])
    assert bars[f"retailer_A {ROASTED}"]["marker"]["pattern"]["shape"] == ""
    specialty = traces(figures["consumer_sales_2"])[f"retailer_A {SPECIALTY}"]
    assert (specialty["y"], specialty["customdata"]) == ([2], [50.0])
    assert specialty["marker"]["pattern"]["shape"] == "/"


# Sums


def test_sums_count_what_was_made_delivered_returned_and_bought_in_the_span(small: SmallMarket) -> None:
    totals = market.context(small.look())["totals"]
    assert (totals.deals, totals.agreed_kg, totals.agreed) == (6, 83, 740.0)
    assert (totals.delivered_kg, totals.delivered) == (48, 460.0)
    assert (totals.returned_kg, totals.credited) == (3, 120.0)
    assert (totals.bought_kg, totals.bought) == (13, 312.0)
    some = market.context(small.look(asked="from=2&to=3"))["totals"]
    assert (some.deals, some.delivered_kg, some.returned_kg, some.bought_kg) == (2, 18, 0, 10)


def test_the_price_realised_is_weighted_and_less_returns(small: SmallMarket) -> None:
    traded = {each.item: each for each in market.context(small.look())["traded"]}
    assert traded["green coffee"].price == 140 / 40
    assert traded["◆ roasted specialty"].price == 200 / 5
    assert traded["roasted coffee"].price is None, "its only delivery was lost, the other is under way"
    assert traded["roasted coffee"].shelf_price == 212 / 11
    assert traded["◆ green specialty"].price is None


def test_a_span_that_ends_before_it_begins_says_so(staff: Client, small: SmallMarket) -> None:
    page = staff.get(f"/runs/{small.run.pk}/tabs/market/?from=5&to=2").content.decode()
    assert "Day 5 comes after Day 2" in page


# Tables as they stood


def standings(small: SmallMarket, until: int) -> dict[int, tuple[str, str | None]]:
    """Shipment and invoice of each deal as the table of an evening has them."""
    lines = market.context(small.look(until=until))["page"].rows
    return {line.number: (line.shipment.words, line.invoice.words if line.invoice else None) for line in lines}


def test_deals_stand_as_they_stood_on_that_evening(small: SmallMarket) -> None:
    assert standings(small, 0) == {2: ("under way, due Day 1", None), 1: ("under way, due Day 1", None)}
    assert standings(small, 1) == {2: ("1 day late, due Day 2", None), 1: ("delivered Day 1", "due Day 2")}
    assert standings(small, 2)[1] == ("delivered Day 1", "due Day 2")
    assert standings(small, 3)[1] == ("delivered Day 1", "overdue, was due Day 2")
    assert standings(small, 4)[1] == ("delivered Day 1", "paid Day 4")
    assert standings(small, 3)[4] == ("under way, due Day 4", None)
    assert standings(small, 6)[4] == ("lost Day 4", None)


def test_a_return_shows_from_its_day_on(small: SmallMarket) -> None:
    returned = {until: market.context(small.look(until=until))["page"].rows for until in (4, 5)}
    assert [line.returned_kg for line in returned[4] if line.number == 3] == [0]
    assert [line.returned_kg for line in returned[5] if line.number == 3] == [3]


@pytest.mark.parametrize(
    ("day", "standing"),
    [
        (2, Standing("under way, due Day 3", "")),
        (3, Standing("1 day late, due Day 4", "bad")),
        (4, Standing("2 days late, due Day 5", "bad")),
        (5, Standing("turned back Day 5", "bad")),
    ],
)
def test_a_shipment_is_late_by_as_many_days_as_had_passed(day: int, standing: Standing) -> None:
    deal = DealRow(1, 1, 2, GREEN, 1, 1, 1, 30, at(2), 5, 2, "turned back", at(5, 12), 1)
    assert shipment_standing(deal, Evening(day, {})) == standing


def test_a_shipment_that_was_put_off_after_the_last_evening_is_late_at_the_end() -> None:
    deal = DealRow(1, 1, 2, GREEN, 1, 1, 1, 30, at(89), 91, 1, "travelling", None, 1)
    assert shipment_standing(deal, Evening(89, {}, is_now=True)) == Standing("1 day late, due Day 91", "bad")
    assert shipment_standing(deal, Evening(89, {})) == Standing("under way, due Day 90", "")


def test_the_board_shows_what_was_left_and_which_offers_waited(small: SmallMarket) -> None:
    (green,) = market.context(small.look(until=1))["stalls"]
    assert [(each.number, each.remaining_kg, each.age) for each in green.listings] == [
        (6, 7, "today"),
        (1, 10, "1 day"),
    ]
    assert [[(offer.number, offer.bidder.name) for offer in each.offers] for each in green.listings] == [
        [],
        [(7, "roaster_B")],
    ]
    (green,) = market.context(small.look(until=4))["stalls"]
    assert [each.offers for each in green.listings] == [[], []]
    green, roasted = market.context(small.look(until=5))["stalls"]
    assert [(each.number, each.remaining_kg, [offer.number for offer in each.offers]) for each in green.listings] == [
        (6, 7, []),
        (1, 10, [6]),
    ], "that offer is accepted on the next day"
    assert [(each.remaining_kg, each.offers[0].number) for each in roasted.listings] == [(12, 5)]
    last = market.context(small.look(until=6))["stalls"]
    assert [(stall.item, stall.remaining_kg) for stall in last] == [("green coffee", 7), ("roasted coffee", 7)]


def test_deals_come_a_page_at_a_time_both_ways(small: SmallMarket) -> None:
    for number in range(7, 121):
        small._deal(number, FARMER_A, ROASTER_A, GREEN, 1, 1.0, at(6, 13), 7, "travelling", None)
    first = market.context(small.look())["page"]
    assert ([line.number for line in first.rows], first.earlier, first.is_first) == (
        list(range(120, 70, -1)),
        71,
        True,
    )
    second = market.context(small.look(asked=f"before={first.earlier}"))["page"]
    assert ([line.number for line in second.rows], second.later) == (list(range(70, 20, -1)), 70)
    back = market.context(small.look(asked=f"since={second.later}"))["page"]
    assert [line.number for line in back.rows] == list(range(120, 70, -1))
    last = market.context(small.look(asked="before=21"))["page"]
    assert ([line.number for line in last.rows], last.earlier) == (list(range(20, 0, -1)), 0)


# As a firm knew it


def test_a_firm_knows_its_own_deals_and_flows_alone(small: SmallMarket) -> None:
    look = small.look(knower=RETAILER_A)
    assert [line.number for line in market.context(look)["page"].rows] == [5, 3]
    figures = market.figures(look)
    assert added_up(figures["goods_flow"], 0, 9) == {
        ("retailer_A", "consumers", "roasted coffee"): 4,
        ("retailer_A", "consumers", "◆ roasted specialty"): 2,
        ("roaster_A", "retailer_A", "◆ roasted specialty"): 5,
    }
    points = traces(figures["b2b_prices"])
    assert {key: points[key]["y"] for key in points if not key.startswith("mean")} == {
        f"roaster_A {SPECIALTY}": [40.0],
        f"roaster_A {ROASTED}": [10.0],
    }
    assert points[f"mean price of {GREEN}"]["y"] == []
    assert market.context(look)["totals"].deals == 2


def test_a_shop_knows_its_own_prices_and_sales_and_the_sum_of_all(small: SmallMarket) -> None:
    figures = market.figures(small.look(knower=RETAILER_A))
    assert not any("retailer_B" in key for key in traces(figures["shelf_prices"]))
    bars = traces(figures["consumer_sales_1"])
    assert set(bars) == {f"retailer_A {ROASTED}", f"all shops {ROASTED}"}
    assert bars[f"all shops {ROASTED}"]["y"] == [10, 1]


def test_a_farmer_knows_no_shelf_and_the_sum_that_consumers_bought(small: SmallMarket) -> None:
    look = small.look(knower=FARMER_B)
    assert set(traces(market.figures(look)["shelf_prices"])) == {
        f"reservation price of {ROASTED}",
        f"reservation price of {SPECIALTY}",
    }
    assert market.context(look)["totals"].bought_kg == 13


def test_a_firm_sees_every_listing_but_only_offers_it_made_or_received(small: SmallMarket) -> None:
    def offers_seen(knower: int) -> list[int]:
        (green,) = market.context(small.look(until=1, knower=knower))["stalls"]
        assert [(each.number, each.remaining_kg) for each in green.listings] == [(6, 7), (1, 10)], "public"
        return [offer.number for each in green.listings for offer in each.offers]

    assert offers_seen(ROASTER_B) == [7], "its bidder"
    assert offers_seen(FARMER_A) == [7], "the listing's seller"
    assert offers_seen(ROASTER_A) == offers_seen(FARMER_B) == []


def test_nothing_of_others_is_on_the_page_of_a_firm(staff: Client, small: SmallMarket) -> None:
    fragment = staff.get(f"/runs/{small.run.pk}/tabs/market/?as=farmer_B").content.decode()
    figures = staff.get(f"/runs/{small.run.pk}/tabs/market/figures.json?as=farmer_B").json()
    assert ">D2<" in fragment
    assert not [deal for deal in ("D1", "D3", "D4", "D5", "D6") if f">{deal}<" in fragment]
    told = json.dumps([trace for figure in figures.values() for trace in figure["data"] if trace["meta"].get("days")])
    assert "D2" in told
    assert not [deal for deal in ("D1", "D3", "D4", "D5", "D6") if f'"{deal}"' in told]


# Asking


def test_the_tables_take_six_queries_and_the_figures_five(
    staff: Client, small: SmallMarket, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    address = f"/runs/{small.run.pk}/tabs/market/"
    with django_assert_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + 6):
        assert staff.get(address).status_code == 200
    with django_assert_num_queries(SESSION_AND_USER + RUN_AND_FIRMS + 5):
        assert staff.get(f"{address}figures.json").status_code == 200


@pytest.mark.parametrize("asked", ["from=x", "to=-1", "to=1e3", "flow=tea", "before=٣", "since=1;2", "from=1234567890"])
def test_what_makes_no_sense_is_refused(staff: Client, small: SmallMarket, asked: str) -> None:
    assert staff.get(f"/runs/{small.run.pk}/tabs/market/?{asked}").status_code == 400


def test_an_unknown_flow_is_named_in_the_refusal(small: SmallMarket) -> None:
    with pytest.raises(BadRequest, match="flow is none of goods, money"):
        market.context(small.look(asked="flow=tea"))


def test_a_deal_leads_to_its_turn_and_its_record(staff: Client, small: SmallMarket) -> None:
    page = staff.get(f"/runs/{small.run.pk}/tabs/market/").content.decode()
    assert f'href="/runs/{small.run.pk}/turns/43/"' in page
    assert f'href="/admin/marketplace/deal/{small.key(3)}/change/"' in page


def test_a_run_in_which_nothing_has_happened_says_what_will_fill_the_page(staff: Client) -> None:
    run = make_run()
    page = staff.get(f"/runs/{run.pk}/tabs/market/").content.decode()
    assert "No deals yet" in page
    assert "No listing is open" in page
    figures = staff.get(f"/runs/{run.pk}/tabs/market/figures.json").json()
    assert figures["goods_flow"]["data"][0]["meta"]["sums"] == []


def test_a_scenario_that_names_no_items_still_opens(staff: Client, small: SmallMarket) -> None:
    Run.objects.filter(pk=small.run.pk).update(scenario={})
    assert staff.get(f"/runs/{small.run.pk}/tabs/market/").status_code == 200
    assert staff.get(f"/runs/{small.run.pk}/tabs/market/figures.json").status_code == 200


# Hostile texts


def test_what_players_wrote_is_nowhere_markup(staff: Client, small: SmallMarket) -> None:
    for address in ("", "figures.json", "goods_flow.csv", "b2b_prices/table/"):
        answer = staff.get(f"/runs/{small.run.pk}/tabs/market/{address}")
        assert answer.status_code == 200
        assert SCRIPT not in answer.content.decode()


def test_names_with_markup_are_text_in_every_label() -> None:
    item = f"{SCRIPT}_kg"
    scene = Scene(Frame(10, [], "", None), {1: SCRIPT, 2: "<b>2</b>"}, [1, 2], [item], {item: 30.0}, {})
    deal = DealRow(1, 1, 2, item, 10, 10, 100, 30, at(0), 1, 0, "delivered", at(1), 1)
    figures = [
        flow_figure([Flow(0, Way(1, 2, item), 1, 1)], [Way(1, 2, item)], scene, GOODS),
        price_figure([deal], scene, -1),
        shelf_figure([ShelfRow(1, 0, {item: 3.0})], [1], scene),
        consumers_figure(item, [SaleRow(1, 0, item, 1, 1, 1)], [1], scene),
    ]
    for figure in figures:
        for text in texts_drawn(figure):
            assert "<script" not in text
            assert "<b>2" not in text


def texts_drawn(value: Any, name: str = "") -> list[str]:
    """Every text of a figure that plotly.js may draw: all but the names by which a page finds traces again."""
    if isinstance(value, dict):
        return [text for key, each in value.items() if key not in ("key", "firm") for text in texts_drawn(each, key)]
    if isinstance(value, list):
        return [text for each in value for text in texts_drawn(each, name)]
    return [value] if isinstance(value, str) else []


def test_of_a_large_run_only_some_firms_are_drawn_and_all_are_counted(staff: Client) -> None:
    roles = {"farmer": {"firms": 20}, "retailer": {"firms": 20}}
    run = make_run(scenario=scenario_from({"roles": roles, "days": 5}), day=2)
    firms = list(Firm.objects.filter(run=run).order_by("pk"))
    look = Look(run=run, firms=firms, until=2, after=-1, knower=None, asked=QueryDict())
    Deal.objects.create(
        pk=key_of(run.pk, 1),
        run=run,
        offer_id=key_of(run.pk, 1),
        seller=firms[0],
        buyer=firms[-1],
        item=GREEN,
        quantity_kg=9,
        price_micros=micros(2),
        total_micros=micros(18),
        cost_micros=1,
        terms_days=0,
        minute=at(0),
        due_day=1,
        turn_id=key_of(run.pk, 1),
        status="delivered",
        delays=0,
        settled_minute=at(1, 9),
    )
    ConsumerSale.objects.create(
        pk=key_of(run.pk, 1),
        run=run,
        shop=firms[-1],
        day=1,
        item=ROASTED,
        quantity_kg=4,
        price_micros=micros(18),
        revenue_micros=micros(72),
        cost_micros=1,
    )
    figures = market.figures(look)
    drawn = figures["goods_flow"]["data"][0]["node"]["label"]
    assert len(drawn) == MOST_FIRMS_SHOWN + len(["other firms"]) + len(run.scenario["items"])
    assert added_up(figures["goods_flow"], 0, 9) == {
        ("farmer_A", "other firms", "green coffee"): 9,
        ("other firms", "consumers", "roasted coffee"): 4,
    }
    assert market.context(look)["totals"].delivered == 18.0
    page = staff.get(f"/runs/{run.pk}/tabs/market/").content.decode()
    assert f"The charts draw {MOST_FIRMS_SHOWN} of 42 firms" in page
