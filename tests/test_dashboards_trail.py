"""The trail of a transfer: from the number to the turn, or the rule, that caused it."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from django.contrib.auth.models import User
from django.db.models import Q
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from dashboards.trail import LINKED, trail_of
from dashboards.trail_steps import BY_A_TURN, RULES, Step
from marketplace.models import Firm, Invoice, Message, Transfer
from marketplace.rows import key_of
from simulation.models import Event, Run, Turn
from tests.rows import SCRIPT, LittleRun
from tests.seat_play import played_by_scripts
from tests.wild_runs import wild_run

pytestmark = pytest.mark.django_db

SESSION_AND_USER = 2
MOST_QUERIES = 10

# The tool of the turn that a transfer goes back to first, by its reason; none where a rule books what nobody began.
BEGUN_BY = {
    "opening cash": "",
    "opening stock": "",
    "daily operating cost": "",
    "spoilage": "",
    "batch landed": "produce_item roast",
    "batch written off": "produce_item roast",
    "production paid": "produce_item",
    "green put to roast": "roast",
    "roasting labour": "roast",
    "goods shipped": "accept_offer",
    "delivery invoiced": "accept_offer",
    "cost of delivery": "accept_offer",
    "delivery received": "accept_offer",
    "shipment lost": "accept_offer",
    "shipment turned back": "accept_offer",
    "late fee": "accept_offer return_shipment",
    "bad debt": "accept_offer return_shipment",
    "invoice paid": "pay_invoice",
    "payment received": "pay_invoice",
    "goods returned": "return_shipment",
    "credit for return": "return_shipment",
    "gain on return": "return_shipment",
    "return credited": "return_shipment",
    "loss on return": "return_shipment",
    "consumer sales": "set_retail_price",
    "cost of consumer sales": "set_retail_price",
}


def trail(run: Run, number: int) -> list[Step]:
    return trail_of(Transfer.objects.select_related(*LINKED).get(pk=key_of(run.pk, number)))


def kinds(steps: list[Step]) -> list[str]:
    return [step.kind for step in steps]


def turns(steps: list[Step]) -> list[int]:
    """The numbers of the turns on a trail, from the transfer back."""
    return [step.decided.told.number for step in steps if step.decided]


def tools(steps: list[Step]) -> list[str]:
    return [step.decided.told.tool for step in steps if step.decided]


# A little run, by hand


def test_a_payment_goes_back_over_invoice_deal_offer_and_listing_to_the_letters() -> None:
    run = LittleRun().run
    steps = trail(run, 13)
    assert kinds(steps) == ["transfer", "invoice", "deal", "offer", "listing", "messages"]
    assert turns(steps) == [6, 4, 2, 1]
    transfer, invoice, deal, offer, _, messages = steps
    assert transfer.title == "92.00 USD"
    assert transfer.decided
    assert transfer.decided.told.rationale == "Pay early, sleep well."
    assert [(one.number, one.reason) for one in transfer.booked] == [(14, "payment received")]
    assert ("principal", "92.00 USD") in invoice.facts
    assert ("sold", "10 kg roasted coffee") in deal.facts
    assert [name for name, _ in deal.firms] == ["roaster_A", "retailer_A"]
    assert offer.words == SCRIPT
    assert [(one.label, one.sender, one.refers_to, one.turn) for one in messages.letters] == [
        ("M1", "retailer_A", "L1", 3)
    ]


def test_a_delivery_is_a_rule_that_follows_from_a_deal() -> None:
    steps = trail(LittleRun().run, 10)
    assert kinds(steps)[:3] == ["transfer", "rule", "invoice"]
    assert steps[1].title.endswith("RULES 6")
    assert [one.number for one in steps[0].booked] == [11, 12]
    assert turns(steps) == [4, 2, 1]


def test_an_operating_cost_ends_at_the_rule_that_charges_it() -> None:
    steps = trail(LittleRun().run, 4)
    assert kinds(steps) == ["transfer", "rule"]
    assert steps[1].title == "A rule of the environment: RULES 3"
    assert steps[1].text == "Operating cost, charged every morning at 09:00 to every live firm."


def test_a_batch_goes_back_to_the_turn_that_began_it() -> None:
    steps = trail(LittleRun().run, 7)
    assert kinds(steps) == ["transfer", "batch"]
    assert turns(steps) == [5]


def test_a_reason_that_no_rule_is_stated_for_yet_says_so() -> None:
    run = LittleRun().run
    Transfer.objects.filter(pk=key_of(run.pk, 4)).update(reason="licence")
    assert trail(run, 4)[1].text == "Booked by the environment: licence."


def test_letters_that_name_the_offer_come_before_later_ones_and_none_after_the_deal() -> None:
    little = LittleRun()
    sent = {"run": little.run, "sender_id": little.key(1), "recipient_id": little.key(2), "turn_id": little.key(1)}
    Message.objects.bulk_create(
        Message(pk=little.key(number), title=f"{number}", body="b", minute=580 if number < 20 else 601, **sent)
        for number in range(2, 22)
    )
    (letters,) = [step.letters for step in trail(little.run, 13) if step.letters]
    assert [one.label for one in letters] == ["M1", *(f"M{number}" for number in range(13, 20))]


# Played runs: every reason


@pytest.fixture
def run() -> Run:
    return wild_run()


def some_of_each_reason(run: Run, most: int = 12) -> dict[str, list[Transfer]]:
    """Transfers by reason, spread over the run."""
    found: dict[str, list[Transfer]] = defaultdict(list)
    for transfer in Transfer.objects.filter(run=run).select_related(*LINKED).order_by("pk"):
        found[transfer.reason].append(transfer)
    return {reason: rows[:: max(1, len(rows) // most)] for reason, rows in found.items()}


def test_every_reason_of_the_ledger_ends_at_a_turn_or_at_a_stated_rule(run: Run) -> None:
    found = some_of_each_reason(run)
    assert set(found) == RULES.keys() | BY_A_TURN == set(BEGUN_BY)
    for reason, transfers in found.items():
        for transfer in transfers:
            steps = trail_of(transfer)
            assert steps[0].kind == "transfer"
            causes = [step for step in steps if step.is_cause]
            assert causes, f"{transfer} of {reason} ends nowhere"
            assert ("rule" in kinds(steps)) == (reason in RULES)
            if reason in RULES:
                assert RULES[reason].text in [step.text for step in steps]
            tool = next(iter(tools(steps)), "")
            sold_at_the_opening_price = BEGUN_BY[reason] == "set_retail_price" and not tool
            assert sold_at_the_opening_price or tool in BEGUN_BY[reason].split() or tool == BEGUN_BY[reason]
            assert len(set(turns(steps))) == len(turns(steps)), "a turn is told once"


def test_what_a_deal_caused_goes_back_to_its_listing(run: Run) -> None:
    for transfers in some_of_each_reason(run, most=4).values():
        for transfer in transfers:
            if transfer.deal_id or transfer.invoice_id:
                assert {"deal", "offer", "listing"} <= set(kinds(trail_of(transfer)))


def test_the_turns_of_a_trail_are_those_of_the_rows(run: Run) -> None:
    for transfer in some_of_each_reason(run, most=6)["goods shipped"]:
        deal = transfer.deal
        assert deal
        steps = trail_of(transfer)
        expected = [deal.turn_id, deal.offer.turn_id, deal.offer.listing.turn_id]
        assert [key_of(run.pk, number) for number in turns(steps)] == expected


def test_a_refund_goes_back_over_the_return_to_the_deal_whose_goods_came_back(run: Run) -> None:
    refunds = Invoice.objects.filter(run=run, deal=None)
    transfers = Transfer.objects.filter(invoice__in=refunds).select_related(*LINKED)
    assert transfers
    for transfer in transfers:
        steps = trail_of(transfer)
        refund, first = [step for step in steps if step.kind == "invoice"]
        assert refund.title.startswith("Refund")
        assert first.title.startswith("Invoice")
        assert refund.decided
        assert refund.decided.told.tool == "return_shipment"
        assert any(f'"{first.title.split()[1]}"' in argument.value or argument.value == first.title.split()[1]
                   for argument in refund.decided.told.arguments)  # fmt: skip
        assert kinds(steps)[-2:] == ["offer", "listing"] or kinds(steps)[-1] == "messages"


def test_bad_debt_names_the_firm_that_went_bankrupt(run: Run) -> None:
    for reason in ("bad debt", "shipment turned back", "batch written off"):
        for transfer in some_of_each_reason(run)[reason]:
            (step,) = [step for step in trail_of(transfer) if step.kind == "bankruptcy"]
            firm = Firm.objects.get(run=run, name=step.books_of)
            assert firm.bankrupt_day == step.books_day == transfer.day


def test_a_sale_goes_back_to_the_turn_that_last_set_its_price() -> None:
    run = played_by_scripts(days=8)
    priced = 0
    for transfer in Transfer.objects.filter(run=run, reason="consumer sales").select_related(*LINKED):
        events = Event.objects.filter(run=run, kind="price_set", firm=transfer.firm_id, minute__lte=transfer.minute)
        last = [event for event in events.order_by("pk") if event.data["item"] == transfer.item][-1:]
        steps = trail_of(transfer)
        assert kinds(steps)[:3] == ["transfer", "rule", "sale"]
        assert [one.reason for one in steps[0].booked] == ["cost of consumer sales"]
        if not last:
            assert steps[-1].text.startswith("Nobody has changed it")
            continue
        (number,) = turns(steps)
        turn = Turn.objects.get(pk=key_of(run.pk, number))
        assert (turn.firm_id, turn.minute, turn.tool) == (transfer.firm_id, last[0].minute, "set_retail_price")
        assert transfer.item in turn.arguments
        priced += 1
    assert priced > 3


# The page


def test_the_page_links_to_turns_and_records_and_back_to_the_books(staff: Client) -> None:
    html = staff.get(f"/runs/{LittleRun().run.pk}/transfers/13/").content.decode()
    for number in (6, 4, 2, 1, 3):
        assert f'href="/runs/7/turns/{number}/"' in html
    for record in (
        "transfer/7000000013",
        "invoice/7000000001",
        "deal/7000000001",
        "offer/7000000001",
        "listing/7000000001",
    ):
        assert f'href="/admin/marketplace/{record}/change/"' in html
    assert 'href="/runs/7/?tab=books&amp;firm=retailer_A&amp;day=1"' in html
    assert 'href="/runs/7/transfers/14/"' in html


def test_hostile_words_are_text_on_the_trail(staff: Client) -> None:
    little = LittleRun()
    Transfer.objects.filter(pk=little.key(4)).update(reason=SCRIPT[:30], item=SCRIPT)
    for number in (4, 7, 13):
        html = staff.get(f"/runs/7/transfers/{number}/").content.decode()
        assert SCRIPT not in html
        assert SCRIPT[:30] not in html
        assert "&lt;script&gt;" in html
        assert not re.search(r"<[^>]+ on[a-z]+=", html)


def test_a_trail_costs_few_queries_whatever_it_is_of(
    staff: Client, run: Run, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    shown = [transfers[0] for transfers in some_of_each_reason(run).values()]
    shown += Transfer.objects.filter(Q(invoice__deal=None) & Q(invoice__isnull=False), run=run)[:2]
    for transfer in shown:
        with django_assert_max_num_queries(SESSION_AND_USER + MOST_QUERIES):
            assert staff.get(f"/runs/{run.pk}/transfers/{transfer.number}/").status_code == 200


def test_as_a_firm_knew_it_the_trail_shows_its_own_turns_bookings_and_costs_alone(staff: Client, run: Run) -> None:
    own = {turn.number for turn in Turn.objects.filter(run=run, firm__name="roaster_A")}
    led = 0
    for transfers in some_of_each_reason(run, most=30).values():
        for transfer in [each for each in transfers if each.firm.name == "roaster_A"][:2]:
            html = staff.get(f"/runs/{run.pk}/transfers/{transfer.number}/?as=roaster_A").content.decode()
            linked = {int(number) for number in re.findall(rf"/runs/{run.pk}/turns/(\d+)/", html)}
            assert linked <= own
            assert "/admin/marketplace/" not in html
            led += len(linked)
            for number in re.findall(r">T(\d+)</a>", html):
                assert Transfer.objects.get(pk=key_of(run.pk, int(number))).firm.name == "roaster_A"
            is_buyer = transfer.deal is not None and transfer.deal.buyer.name == "roaster_A"
            assert not (is_buyer and "cost to the seller" in html)
            assert staff.get(f"/runs/{run.pk}/transfers/{transfer.number}/?as=roaster_B").status_code == 404
    assert led > 5


def test_a_transfer_that_is_not_there_is_not_found(staff: Client) -> None:
    run = LittleRun().run
    assert staff.get(f"/runs/{run.pk}/transfers/999/").status_code == 404
    assert staff.get("/runs/99/transfers/1/").status_code == 404


def test_strangers_are_sent_to_sign_in_and_nothing_is_written(client: Client) -> None:
    run = LittleRun().run
    assert client.get(f"/runs/{run.pk}/transfers/1/").status_code == 302
    client.force_login(User.objects.create_user("sam"))
    assert client.get(f"/runs/{run.pk}/transfers/1/").status_code == 403
    client.force_login(User.objects.create_user("rosa", is_staff=True))
    assert client.post(f"/runs/{run.pk}/transfers/1/").status_code == 405
