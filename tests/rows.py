"""A little run written straight into the tables: two firms, one sale from listing to payment, hostile words all over.

Its books balance and its figures are kept as the engine keeps them, so pages can be tested without playing a run. Sums
are made here by hand, one transfer after another, and not by the code under test.
"""

from __future__ import annotations

from typing import Any

from marketplace.economy import ledger, statements
from marketplace.economy.ledger import Balances
from marketplace.models import Batch, ConsumerSale, Deal, Firm, Invoice, Listing, Message, Offer, Transfer
from marketplace.rows import key_of
from simulation.models import DayEnd, Event, Run, Turn

ROASTER, RETAILER = 1, 2
NAMES = {ROASTER: "roaster_A", RETAILER: "retailer_A"}
ROASTED = "roasted_coffee_kg"
SCRIPT = "<script>alert('paid')</script>"
FORMULA = '=HYPERLINK("http://example.org","free beans")'
REVERSED = "\N{RIGHT-TO-LEFT OVERRIDE}dellecnac ecirp"
LAST_DAY = 1

# seat, day, minute of the day, debit, credit, micro-dollars, reason, kg, the ordinals of deal, invoice, batch, turn.
TRANSFERS = (
    (ROASTER, 0, 0, "cash", "opening_equity", 1_000_000_000, "opening cash", 0, 0, 0, 0, 0),
    (ROASTER, 0, 0, "inventory", "opening_equity", 176_400_000, "opening stock", 30, 0, 0, 0, 0),
    (RETAILER, 0, 0, "cash", "opening_equity", 2_000_000_000, "opening cash", 0, 0, 0, 0, 0),
    (ROASTER, 0, 540, "rent_and_utilities", "cash", 30_000_000, "daily operating cost", 0, 0, 0, 0, 0),
    (RETAILER, 0, 540, "rent_and_utilities", "cash", 50_000_000, "daily operating cost", 0, 0, 0, 0, 0),
    (ROASTER, 0, 600, "goods_in_transit", "inventory", 58_800_000, "goods shipped", 10, 1, 0, 0, 4),
    (ROASTER, 0, 630, "work_in_progress", "cash", 12_345_678, "roasting labour", 0, 0, 0, 1, 5),
    (ROASTER, 1, 540, "rent_and_utilities", "cash", 30_000_000, "daily operating cost", 0, 0, 0, 0, 0),
    (RETAILER, 1, 540, "rent_and_utilities", "cash", 50_000_000, "daily operating cost", 0, 0, 0, 0, 0),
    (ROASTER, 1, 540, "receivables", "revenue", 92_000_000, "delivery invoiced", 10, 1, 1, 0, 0),
    (ROASTER, 1, 540, "cost_of_goods_sold", "goods_in_transit", 58_800_000, "cost of delivery", 10, 1, 1, 0, 0),
    (RETAILER, 1, 540, "inventory", "payables", 92_000_000, "delivery received", 10, 1, 1, 0, 0),
    (RETAILER, 1, 600, "payables", "cash", 92_000_000, "invoice paid", 0, 1, 1, 0, 6),
    (ROASTER, 1, 600, "cash", "receivables", 92_000_000, "payment received", 0, 1, 1, 0, 6),
    (RETAILER, 1, 1140, "cash", "revenue", 72_000_000, "consumer sales", 4, 0, 0, 0, 0),
    (RETAILER, 1, 1140, "cost_of_goods_sold", "inventory", 36_800_000, "cost of consumer sales", 4, 0, 0, 0, 0),
)

# seat, day, minute of the day, tool, arguments as JSON, rationale, whether it was accepted.
TURNS = (
    (ROASTER, 0, 540, "post_listing", '{"item_id": "roasted_coffee_kg", "qty": 10}', "Stock is money asleep.", True),
    (RETAILER, 0, 570, "make_offer", '{"listing_id": "L1", "offered_price": 9.2}', SCRIPT, True),
    (RETAILER, 0, 570, "send_message", '{"recipient": "roaster_A"}', FORMULA, True),
    (ROASTER, 0, 600, "accept_offer", '{"offer_id": "O1"}', "Nobody else has asked.", True),
    (ROASTER, 0, 630, "roast", '{"green_item_id": "green_coffee_kg", "note": "\\ud800 NaN"}', REVERSED, True),
    (RETAILER, 1, 600, "pay_invoice", '{"invoice_id": "I1"}', "Pay early, sleep well.", True),
    (RETAILER, 1, 630, SCRIPT, f'{{"qty": NaN, "note": "{"x" * 3000}"}}', "", False),
    (ROASTER, 1, 630, "", "[" * 5000, "", True),
)


class LittleRun:
    """Writes the run and holds what its tests ask about."""

    def __init__(self, run_id: int = 7) -> None:
        self.run = Run.objects.create(
            pk=run_id,
            name=f"little run {SCRIPT}",
            scenario={"items": {ROASTED: {}, "green_coffee_kg": {}}},
            seed=0,
            days=3,
            day=LAST_DAY,
            evaluated="roaster_A",
            rules_version="test",
            players=dict.fromkeys(NAMES.values(), "passive"),
            status=Run.Status.RUNNING,
        )
        self._write_firms()
        self._write_trade()
        self._write_transfers()
        self._write_turns()
        self._write_evenings()
        self._write_events()

    def key(self, number: int) -> int:
        """The key of the run's row with that number."""
        return key_of(self.run.pk, number)

    def link(self, number: int) -> int | None:
        """The key of a row, None for 0, which stands for nothing."""
        return self.key(number) if number else None

    def row(self, number: int, **values: Any) -> dict[str, Any]:
        """What every row has, and the values of one."""
        return {"id": self.key(number), "run": self.run, **values}

    def balances(self, seat: int, day: int = LAST_DAY) -> Balances:
        """A firm's accounts at the end of a day."""
        balances = ledger.opening_balances()
        for owner, its_day, _, debit, credit, amount_micros, *_ in TRANSFERS:
            if owner == seat and its_day <= day:
                balances[debit] += amount_micros
                balances[credit] -= amount_micros
        return balances

    def _write_firms(self) -> None:
        for seat, name in NAMES.items():
            balances = self.balances(seat)
            Firm.objects.create(
                **self.row(seat, name=name, role=name.split("_")[0], player="passive", stock_kg={ROASTED: 6}),
                cash_micros=balances[ledger.CASH],
                equity_micros=statements.equity(balances),
                opening_equity_micros=statements.opening_equity(balances),
                net_income_micros=statements.net_income(balances),
                revenue_micros=-balances[ledger.REVENUE],
            )

    def _write_trade(self) -> None:
        roaster, retailer = self.key(ROASTER), self.key(RETAILER)
        terms = {"terms_days": 30, "price_micros": 9_200_000}
        sold = {"item": ROASTED, "quantity_kg": 10}
        Listing.objects.create(
            **self.row(1, seller_id=roaster, remaining_kg=0, minute=540, turn_id=self.key(1), status="sold out"),
            **sold,
            **terms,
        )
        Offer.objects.create(
            **self.row(1, listing_id=self.key(1), bidder_id=retailer, quantity_kg=10, message=SCRIPT, minute=570),
            **terms,
            turn_id=self.key(2),
            status="accepted",
        )
        Deal.objects.create(
            **self.row(1, offer_id=self.key(1), seller_id=roaster, buyer_id=retailer, minute=600, due_day=1, delays=0),
            **sold,
            **terms,
            total_micros=92_000_000,
            cost_micros=58_800_000,
            turn_id=self.key(4),
            status="delivered",
            settled_minute=1980,
        )
        Invoice.objects.create(
            **self.row(1, issuer_id=roaster, debtor_id=retailer, deal_id=self.key(1), principal_micros=92_000_000),
            issued_day=1,
            due_day=31,
            **dict.fromkeys(("fees_micros", "credited_micros", "returned_kg", "returned_cost_micros"), 0),
            paid_micros=92_000_000,
            status="paid",
            settled_minute=2040,
        )
        Message.objects.create(
            **self.row(1, sender_id=retailer, recipient_id=roaster, title=FORMULA, body=f"{SCRIPT} {'word ' * 600}"),
            listing_id=self.key(1),
            minute=570,
            turn_id=self.key(3),
        )
        Batch.objects.create(
            **self.row(1, firm_id=roaster, kind="roast", input_item="green_coffee_kg", input_kg=10, item=ROASTED),
            quantity_kg=8,
            cost_micros=12_345_678,
            minute=630,
            due_day=2,
            turn_id=self.key(5),
            status="working",
        )
        ConsumerSale.objects.create(
            **self.row(1, shop_id=retailer, day=1, item=ROASTED, quantity_kg=4, price_micros=18_000_000),
            revenue_micros=72_000_000,
            cost_micros=36_800_000,
        )

    def _write_transfers(self) -> None:
        Transfer.objects.bulk_create(self._transfer(number, *values) for number, values in enumerate(TRANSFERS, 1))

    def _transfer(
        self,
        number: int,
        seat: int,
        day: int,
        minute_of_day: int,
        debit: str,
        credit: str,
        amount_micros: int,
        reason: str,
        quantity_kg: int,
        *links: int,
    ) -> Transfer:
        deal, invoice, batch, turn = map(self.link, links)
        return Transfer(
            **self.row(number, firm_id=self.key(seat), day=day, minute=day * 1440 + minute_of_day),
            debit=debit,
            credit=credit,
            amount_micros=amount_micros,
            reason=reason,
            item=ROASTED if quantity_kg else "",
            quantity_kg=quantity_kg,
            deal_id=deal,
            invoice_id=invoice,
            batch_id=batch,
            turn_id=turn,
        )

    def _write_turns(self) -> None:
        Turn.objects.bulk_create(
            Turn(
                **self.row(number, firm_id=self.key(seat), step=number, day=day, minute=day * 1440 + minute_of_day),
                tool=tool,
                arguments=arguments,
                rationale=rationale,
                accepted=accepted,
                result='{"ok": true}' if accepted else '{"ok": false, "error": "unknown tool"}',
                decided_by="script",
            )
            for number, (seat, day, minute_of_day, tool, arguments, rationale, accepted) in enumerate(TURNS, 1)
        )

    def _write_evenings(self) -> None:
        evenings = [(day, seat) for day in range(LAST_DAY + 1) for seat in NAMES]
        for number, (day, seat) in enumerate(evenings, 1):
            balances = self.balances(seat, day)
            sheet = statements.balance_sheet(balances)._asdict()
            DayEnd.objects.create(
                **self.row(number, firm_id=self.key(seat), day=day, stock_kg={ROASTED: 6}, prices={}),
                **{f"{name}_micros": amount_micros for name, amount_micros in sheet.items()},
                net_income_micros=statements.net_income(balances),
                revenue_micros=-balances[ledger.REVENUE],
            )

    def _write_events(self) -> None:
        made = {"deal": "D1", "offer": "O1", "item": ROASTED, "note": SCRIPT}
        sent = {"message": "M1", "title": FORMULA, "body": SCRIPT}
        letter = {"firm_id": self.key(RETAILER), "other_id": self.key(ROASTER), "data": sent}
        deal = {"firm_id": self.key(ROASTER), "other_id": self.key(RETAILER), "data": made}
        Event.objects.bulk_create(
            [
                Event(**self.row(1, minute=570, day=0, kind="message_sent", **letter)),
                Event(**self.row(2, minute=600, day=0, kind="deal_made", **deal)),
                Event(**self.row(3, minute=1140, day=0, kind="day_ended", data={"firms": {}})),
            ]
        )
