"""Where a run stands, in the words of its page: the same for the page that is rendered and for its socket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dashboards.figures import Band, Frame
from dashboards.words import days_text, moment_text, number_text
from simulation.engine.clock import MINUTES_PER_DAY
from simulation.models import Run

Status = Run.Status

# What a person may do to a run, by its status. `simulation.control` checks again, under the row's lock.
VERBS: Final[Mapping[str, tuple[str, ...]]] = {
    Status.DRAFT: ("start", "cancel"),
    Status.RUNNING: ("pause", "cancel"),
    Status.WAITING: ("pause", "cancel"),
    Status.PAUSED: ("resume", "cancel"),
    Status.FAILED: ("resume", "cancel"),
}

# What to do, where the status alone leaves one helpless.
ADVICE: Final[Mapping[str, str]] = {
    Status.DRAFT: "Not started yet.",
    Status.FAILED: "All it played until then is saved. Resume tries again from there; the worker’s log says more.",
}


def state_of(run: Run) -> dict[str, Any]:
    """Status and why, time and progress, who is waited for, and what may be done now."""
    return {
        "status": run.status,
        "label": run.get_status_display(),
        "reason": run.status_reason,
        "advice": ADVICE.get(run.status, ""),
        "waiting_for": waited_for(run),
        "since": run.status_since.isoformat(),
        "started": run.started_at.isoformat() if run.started_at else None,
        "ended": run.ended_at.isoformat() if run.ended_at else None,
        "day": day_text(run),
        "clock": moment_text(run.minute),
        "percent": percent_of(run),
        "events": run.events,
        "is_over": run.is_over,
        "pace": run.pace_seconds,
        "verbs": list(VERBS.get(run.status, ())),
    }


def day_text(run: Run) -> str:
    """How far it is: day 41 of 90, or all 90 days."""
    if run.status == Status.FINISHED:
        return f"all {days_text(run.days)}"
    return f"{number_text(run.day)} of {number_text(run.days)}"


def waited_for(run: Run) -> list[str]:
    """The firms whose answer is awaited, each with who plays it: `roaster_A (human)`."""
    labels = run.player_labels()
    return [f"{name} ({labels[name]})" if name in labels else name for name in run.waiting_for]


def percent_of(run: Run) -> float:
    """How much of the run's simulated time is over."""
    if run.status == Status.FINISHED:
        return 100.0
    return round(min(100.0, 100 * run.minute / (run.days * MINUTES_PER_DAY)), 1)


def frame_of(run: Run, firms: list[str]) -> Frame:
    """What charts of a run are drawn in."""
    return Frame(run.days, firms, run.evaluated, festival_of(run.scenario))


def festival_of(scenario: Mapping[str, Any]) -> Band | None:
    """The festival in a run's frozen scenario.

    Read as plain data: a run played under older rules must still open, even if its scenario would be refused today.
    """
    festival = scenario.get("festival")
    if not festival:
        return None
    return Band(str(festival["name"]), int(festival["first_day"]), int(festival["last_day"]))


def storage_cap_kg(scenario: Mapping[str, Any], name: str, role: str) -> int:
    """How much a firm can store under a run's frozen scenario; 0 if it does not say."""
    own = scenario.get("firms", {}).get(name, {}).get("storage_cap_kg")
    return int(own if own is not None else scenario.get("roles", {}).get(role, {}).get("storage_cap_kg", 0))
