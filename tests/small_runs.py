"""Runs of a few rows written by hand, for tests of pages: small enough to reckon every number in the head."""

from __future__ import annotations

from typing import Any

from marketplace.economy.economy import firm_names
from marketplace.economy.money import micros
from marketplace.models import Firm
from marketplace.rows import key_of
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.engine.scenario import Scenario, scenario_from
from simulation.models import DayEnd, Event, Run
from simulation.players.registry import kinds_for

MORNING, EVENING = 9 * 60, 19 * 60


def make_run(**fields: Any) -> Run:
    """A running run of the paper's scenario with its six firms at their opening cash, and no event yet."""
    scenario = fields.pop("scenario", None) or scenario_from({"days": fields.pop("days", 90)})
    run = Run.objects.create(
        **{
            "name": "Small run",
            "scenario": scenario.model_dump(mode="json"),
            "seed": 0,
            "days": scenario.days,
            "evaluated": scenario.evaluated,
            "rules_version": "1",
            "players": {name: kinds_for(role)[0] for name, role in firm_names(scenario)},
            "status": Run.Status.RUNNING,
            "minute": MORNING,
            **fields,
        }
    )
    Firm.objects.bulk_create(opening_firms(run, scenario))
    return run


def opening_firms(run: Run, scenario: Scenario) -> list[Firm]:
    """The firms of a new run."""
    return [
        Firm(
            pk=key_of(run.pk, seat),
            run=run,
            name=name,
            role=role,
            player=run.players[name],
            cash_micros=micros(15_000),
            equity_micros=micros(15_000),
            opening_equity_micros=micros(15_000),
            stock_kg={},
            prices={},
        )
        for seat, (name, role) in enumerate(firm_names(scenario), 1)
    ]


def add_event(
    run: Run, kind: str, firm: str = "", other: str = "", *, day: int = 0, minute: int = MORNING, **data: Any
) -> Event:
    """The next event of a run."""
    keys = {each.name: each.pk for each in Firm.objects.filter(run=run)}
    run.events += 1
    run.day = day
    run.minute = day * MINUTES_PER_DAY + minute
    run.save()
    return Event.objects.create(
        pk=key_of(run.pk, run.events),
        run=run,
        minute=run.minute,
        day=day,
        kind=kind,
        firm_id=keys.get(firm),
        other_id=keys.get(other),
        data=data,
    )


def add_events(run: Run, count: int) -> None:
    """Many events that say nothing much, quickly."""
    Event.objects.bulk_create(
        Event(
            pk=key_of(run.pk, run.events + index),
            run=run,
            minute=MORNING,
            day=0,
            kind="batch_landed",
            firm_id=key_of(run.pk, 1),
            data={"batch": f"B{index}", "item": "green_coffee_kg", "quantity_kg": 30},
        )
        for index in range(1, count + 1)
    )
    run.events += count
    run.save()


def books(net_income: float = 0.0, cash: float = 15_000.0, **more: float) -> dict[str, float]:
    """A firm's books as an evening's event holds them, in USD."""
    rest = dict.fromkeys(("revenue", "inventory", "receivables", "payables"), 0.0)
    return {"net_income": net_income, "cash": cash, "equity": cash, **rest, **more}


def end_day(run: Run, day: int, net_incomes: dict[str, float], **more: float) -> None:
    """An evening: the books of all firms, those named at some net income, and the event that tells of them."""
    firms = list(Firm.objects.filter(run=run).order_by("pk"))
    figures = {}
    for firm in firms:
        net_income = net_incomes.get(firm.name, 0.0)
        figures[firm.name] = books(net_income, 15_000 + net_income, **more)
        firm.net_income_micros = micros(net_income)
        firm.cash_micros = micros(15_000 + net_income)
        firm.save()
    DayEnd.objects.bulk_create(day_end(run, firm, day, figures[firm.name]) for firm in firms)
    add_event(run, "day_ended", day=day, minute=EVENING, firms=figures)


def day_end(run: Run, firm: Firm, day: int, figures: dict[str, float]) -> DayEnd:
    """The row of one firm's evening."""
    amounts = {f"{name}_micros": micros(amount) for name, amount in figures.items()}
    return DayEnd(
        pk=key_of(run.pk, day * 1000 + firm.number),
        run=run,
        firm=firm,
        day=day,
        work_in_progress_micros=0,
        goods_in_transit_micros=0,
        stock_kg={},
        prices={},
        **amounts,
    )
