"""Making goods: farmers produce, roasters roast; paid at once, on hand some mornings later (RULES.md section 2)."""

from __future__ import annotations

from dataclasses import dataclass

from marketplace.economy import ledger
from marketplace.economy.economy import Economy, Refused
from marketplace.economy.firm import Firm
from marketplace.economy.money import micros, usd

PRODUCE, ROAST = "produce", "roast"
WORKING, LANDED, WRITTEN_OFF = "working", "landed", "written off"


@dataclass(slots=True, eq=False)
class Batch:
    """Goods in the making. `cost_micros` is all that was put into it: what it stands at, now and when it lands."""

    number: int
    firm: Firm
    kind: str
    input_item: str
    input_kg: int
    item: str
    quantity_kg: int
    cost_micros: int
    minute: int
    due_day: int
    turn: int
    status: str = WORKING
    settled_minute: int | None = None

    @property
    def id(self) -> str:
        return f"B{self.number}"


def produce_item(economy: Economy, firm: Firm, item: str, quantity_kg: int) -> Batch:
    """Starts a batch of green: refused over the day's cap, without the cash, or without the room."""
    production = economy.rules.items[item].production
    if production is None:
        able = ", ".join(name for name, rules in economy.rules.items.items() if rules.production)
        raise Refused(f"item_id {item} is not grown; produce_item makes {able}")
    made_kg = firm.made_today_kg.get(item, 0)
    left_kg = production.daily_cap_kg - made_kg
    if quantity_kg > left_kg:
        raise Refused(
            f"quantity {quantity_kg} exceeds the {left_kg} kg left today of the {production.daily_cap_kg} kg a day "
            f"of {item}"
        )
    cost_micros = micros(production.cost) * quantity_kg
    _check_cash(firm, cost_micros)
    _check_room(firm, firm.committed_kg, quantity_kg)
    firm.made_today_kg[item] = made_kg + quantity_kg
    batch = _start(economy, firm, PRODUCE, "", 0, item, quantity_kg, cost_micros, production.lag_days)
    economy.post(
        firm,
        ledger.WORK_IN_PROGRESS,
        ledger.CASH,
        cost_micros,
        "production paid",
        item=item,
        quantity_kg=quantity_kg,
        batch=batch.number,
    )
    return batch


def roast(economy: Economy, firm: Firm, green_item: str, quantity_kg: int) -> Batch:
    """Starts a roast of green on hand: refused over the day's cap, without green, cash or room."""
    item = _roasted_from(economy, green_item)
    roasting = economy.rules.items[item].roasting
    assert roasting is not None
    cap_kg = economy.rules.roast_daily_cap_kg
    left_kg = cap_kg - firm.roasted_today_kg
    if quantity_kg > left_kg:
        raise Refused(f"qty_kg {quantity_kg} exceeds the {left_kg} kg left today of the {cap_kg} kg of green a day")
    if quantity_kg > firm.on_hand(green_item):
        raise Refused(f"qty_kg {quantity_kg} exceeds the {firm.on_hand(green_item)} kg of {green_item} on hand")
    labour_micros = micros(roasting.labour) * quantity_kg
    _check_cash(firm, labour_micros)
    output_kg = round(quantity_kg * roasting.output_per_input)
    if output_kg == 0:
        raise Refused(f"{quantity_kg} kg of {green_item} give less than half a kilogram of {item}: roast more at once")
    _check_room(firm, firm.committed_kg - quantity_kg, output_kg)
    green_micros = firm.stock_out(green_item, quantity_kg)
    firm.roasted_today_kg += quantity_kg
    batch = _start(
        economy,
        firm,
        ROAST,
        green_item,
        quantity_kg,
        item,
        output_kg,
        green_micros + labour_micros,
        roasting.lag_days,
    )
    post, number = economy.post, batch.number
    post(
        firm,
        ledger.WORK_IN_PROGRESS,
        ledger.INVENTORY,
        green_micros,
        "green put to roast",
        item=green_item,
        quantity_kg=quantity_kg,
        batch=number,
    )
    post(firm, ledger.WORK_IN_PROGRESS, ledger.CASH, labour_micros, "roasting labour", item=item, batch=number)
    return batch


def _roasted_from(economy: Economy, green_item: str) -> str:
    greens = []
    for item, rules in economy.rules.items.items():
        if rules.roasting:
            greens.append(rules.roasting.green_item)
            if rules.roasting.green_item == green_item:
                return item
    raise Refused(f"green_item_id {green_item} cannot be roasted; roast takes {', '.join(greens)}")


def _check_cash(firm: Firm, cost_micros: int) -> None:
    if firm.cash_micros < cost_micros:
        raise Refused(f"this costs {usd(cost_micros)} USD at once, but cash is {usd(firm.cash_micros)} USD")


def _check_room(firm: Firm, committed_kg: int, output_kg: int) -> None:
    room_kg = firm.storage_cap_kg - committed_kg
    if output_kg > room_kg:
        raise Refused(
            f"{output_kg} kg would come out, but storage has room for {max(0, room_kg)} kg more "
            f"(cap {firm.storage_cap_kg} kg, on hand and on the way counted)"
        )


def _start(
    economy: Economy,
    firm: Firm,
    kind: str,
    input_item: str,
    input_kg: int,
    item: str,
    quantity_kg: int,
    cost_micros: int,
    lag_days: int,
) -> Batch:
    batch = Batch(
        len(economy.batches) + 1,
        firm,
        kind,
        input_item,
        input_kg,
        item,
        quantity_kg,
        cost_micros,
        economy.minute,
        economy.day + lag_days,
        economy.turn,
    )
    economy.batches.append(batch)
    economy.working[batch] = firm.batches[batch] = None
    firm.incoming_kg += quantity_kg
    economy.changed[batch] = None
    economy.tell(
        "batch_started",
        firm,
        batch=batch.id,
        making=kind,
        input_item=input_item,
        input_kg=input_kg,
        item=item,
        quantity_kg=quantity_kg,
        cost=usd(cost_micros),
        due_day=batch.due_day,
    )
    return batch


def land_due_batches(economy: Economy, today: int, kind: str) -> None:
    """What was started long enough ago comes into the store, in the order in which it was started; wakes its maker."""
    for batch in [batch for batch in economy.working if batch.kind == kind and batch.due_day <= today]:
        _settle(economy, batch, LANDED)
        batch.firm.stock_in(batch.item, batch.quantity_kg, batch.cost_micros)
        _post_end(economy, batch, ledger.INVENTORY, "batch landed")
        economy.tell("batch_landed", batch.firm, batch=batch.id, item=batch.item, quantity_kg=batch.quantity_kg)
        economy.wake(batch.firm, f"batch {batch.id} landed: {batch.quantity_kg} kg {batch.item}")


def write_off_batches_of(economy: Economy, firm: Firm) -> None:
    """A bankrupt firm's work in progress is lost (section 9)."""
    for batch in list(firm.batches):
        _settle(economy, batch, WRITTEN_OFF)
        _post_end(economy, batch, ledger.OTHER_OPERATING, "batch written off")


def _settle(economy: Economy, batch: Batch, status: str) -> None:
    batch.status = status
    batch.settled_minute = economy.minute
    batch.firm.incoming_kg -= batch.quantity_kg
    del economy.working[batch]
    del batch.firm.batches[batch]
    economy.changed[batch] = None


def _post_end(economy: Economy, batch: Batch, debit: str, reason: str) -> None:
    economy.post(
        batch.firm,
        debit,
        ledger.WORK_IN_PROGRESS,
        batch.cost_micros,
        reason,
        item=batch.item,
        quantity_kg=batch.quantity_kg,
        batch=batch.number,
    )
