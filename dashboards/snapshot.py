"""All that a run's page shows when it is opened, and the number of the event it stands at.

Read in four queries, and in seven where models play.

The run's row is read first. What is committed after it may show in the later reads: the page's script takes an evening
it has already for the same evening, so it does no harm that the socket then tells it again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dashboards.alarms import NO_FLAGS, flags_by_firm
from dashboards.books import Evening, evenings_of, last_evenings, shown_firms
from dashboards.cards import Debts, Standing, debts_of, evenings_on_cards, standing_of
from dashboards.colours import FirmStyle, style_of
from dashboards.live import live_state_of
from dashboards.tape import Filter, Line, last_actions, lines_of, rows_before
from marketplace.models import Firm
from marketplace.rows import in_run
from simulation.models import Run


@dataclass(frozen=True, slots=True)
class Card:
    """One firm as the page opens with it."""

    firm: Firm
    is_evaluated: bool
    style: FirmStyle
    standing: Standing
    debts: Debts
    last: Line | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one event."""

    run: Run
    state: dict[str, Any]
    firms: list[Firm]
    cards: list[Card]
    evenings: list[Evening]
    lines: list[Line]
    styles: dict[str, FirmStyle]

    @property
    def for_script(self) -> dict[str, Any]:
        """What the page's script goes on from."""
        shown = [card.firm for card in self.cards]
        return {
            "run": self.run.pk,
            "since": self.run.events,
            "state": self.state,
            "styles": {name: style._asdict() for name, style in self.styles.items()},
            "evenings": evenings_on_cards(shown, self.evenings),
            "standings": {card.firm.name: asdict(card.standing) for card in self.cards},
            "lasts": {card.firm.name: asdict(card.last) for card in self.cards if card.last},
        }


def firms_of(run: Run) -> list[Firm]:
    """A run's firms in seating order. One query."""
    return list(Firm.objects.filter(**in_run(run.pk)).order_by("pk"))


def snapshot_of(run: Run) -> Snapshot:
    """Read a run for its page."""
    firms = firms_of(run)
    shown = shown_firms(firms, run.evaluated)
    rows = rows_before(run.pk, run.events + 1, Filter())
    lines = lines_of(rows, {firm.pk: firm.name for firm in firms})
    evenings = evenings_of(run, shown, rows[0] if rows else None)
    return Snapshot(
        run=run,
        state=live_state_of(run),
        firms=firms,
        cards=cards_of(run, shown, evenings, lines),
        evenings=evenings,
        lines=lines,
        styles={firm.name: style_of(firm.name) for firm in firms},
    )


def cards_of(run: Run, firms: list[Firm], evenings: list[Evening], lines: list[Line]) -> list[Card]:
    """The cards of the firms that the page shows."""
    last_evening, last_action, flags = last_evenings(evenings), last_actions(lines), flags_by_firm(run)
    return [
        Card(
            firm=firm,
            is_evaluated=firm.name == run.evaluated,
            style=style_of(firm.name),
            standing=standing_of(firm, run, flags.get(firm.pk, NO_FLAGS)),
            debts=debts_of(last_evening.get(firm.name)),
            last=last_action.get(firm.name),
        )
        for firm in firms
    ]
