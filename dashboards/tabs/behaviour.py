"""The tab Behaviour of a run's page: what firms do with their calls and their stock, and alarms about how they play."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dashboards.colours import style_of
from dashboards.figures import Figure
from dashboards.state import frame_of
from dashboards.tabs import behaviour_figures as charts
from dashboards.tabs.alarms_of_play import RECENT_DAYS, Play, alarms_of
from dashboards.tabs.behaviour_merit import PROLONGED_IDLE_DAYS, Standing, merits_of
from dashboards.tabs.behaviour_rows import SHOP_COST, SHOP_REVENUE, SPOILAGE, Evening, Rows, firms_looked_at, seats_of
from dashboards.tabs.look import Look, Tab

FIGURES: Final = (
    "calls_by_tool",
    "calls_by_day",
    "idle_days",
    "days_since_useful",
    "stock",
    "spoilage",
    "messages_by_day",
)


def context(look: Look) -> dict[str, Any]:
    """Alarms and figures of merit as they stood. Five queries, six where models play."""
    rows = Rows(look, look.until)
    play = play_of(look, rows)
    merits = merits_of(play, standings_of(look, play.evenings), rows.spend_micros(), look.run.model_settings)
    return {
        "alarms": [(alarm, style_of(alarm.firm)) for alarm in alarms_of(play)],
        "merits": [(merit, style_of(merit.seat.name)) for merit in merits],
        "has_models": any(merit.spend_micros is not None for merit in merits),
        "prolonged_days": PROLONGED_IDLE_DAYS,
        "recent_days": RECENT_DAYS,
    }


def play_of(look: Look, rows: Rows) -> Play:
    """What alarms and figures of merit are made of. Five queries."""
    return Play(
        until=look.until,
        seats=seats_of(look.run, firms_looked_at(look), look.until),
        acts=rows.acts(texts_after=look.until - RECENT_DAYS),
        evenings=rows.evenings(),
        debts=rows.debts(),
        trades=rows.trades(),
        outflows=rows.outflows(SPOILAGE, SHOP_REVENUE, SHOP_COST),
    )


def standings_of(look: Look, evenings: Sequence[Evening]) -> Mapping[str, Standing]:
    """Net income and revenue of each firm: as it stands now, or after the last evening that is looked at."""
    if look.is_live or (look.run.is_over and look.until >= look.run.day):
        return {firm.name: Standing(firm.net_income_micros, firm.revenue_micros) for firm in look.firms}
    return {each.firm: Standing(each.net_income_micros, each.revenue_micros) for each in evenings}


def figures(look: Look) -> dict[str, Figure]:
    """The tab's charts by name, of every day after one. Five queries."""
    run, firms = look.run, firms_looked_at(look)
    rows = Rows(look, run.days)
    seats, frame = seats_of(run, firms, run.days), frame_of(run, [firm.name for firm in firms])
    acts, evenings = rows.acts(), rows.evenings()
    outflows, batches, trades = rows.outflows(SPOILAGE), rows.batches(), rows.trades()
    after = look.after
    drawn = (
        charts.calls_by_tool(acts, frame, after),
        charts.calls_by_day(acts, frame, after),
        charts.idle_strip(acts, evenings, seats, frame, after),
        charts.days_since_useful(acts, evenings, seats, frame, after),
        charts.stock_against_cap(evenings, batches, trades, seats, frame, after),
        charts.spoilage_by_day(outflows, frame, after),
        charts.messages_by_day(acts, frame, after),
    )
    return dict(zip(FIGURES, drawn, strict=True))


TAB = Tab("behaviour", "Behaviour", context, figures)
