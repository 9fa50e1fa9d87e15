"""What the runs of an experiment come to together, as the paper tells it: mean ± standard deviation over seeds."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean, stdev

from marketplace.economy.money import usd
from simulation.models import Run


def net_incomes(runs: Iterable[Run]) -> dict[str, list[float]]:
    """Each firm's net income in USD, run by run, in seating order."""
    amounts: dict[str, list[float]] = {}
    for run in runs:
        for firm in run.firms.all():
            amounts.setdefault(firm.name, []).append(usd(firm.net_income_micros))
    return amounts


def summary_of(runs: Iterable[Run]) -> str:
    """A line a firm. The deviation is the sample's, as one says of three seeds drawn from many; one run has none."""
    amounts = net_incomes(runs)
    count = max(map(len, amounts.values()), default=0)
    title = f"Net income over {count} {'run' if count == 1 else 'runs'}, mean ± standard deviation, USD"
    width = max(map(len, amounts), default=0)
    lines = [f"{name.ljust(width)}  {fmean(each):>11,.2f} ± {deviation(each)}" for name, each in amounts.items()]
    return "\n".join([title, *lines])


def deviation(amounts: list[float]) -> str:
    """The sample's standard deviation, or a dash for a sample of one."""
    return f"{stdev(amounts):,.2f}" if len(amounts) > 1 else "–"
