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
    Status.DRAFT: ("start", "step", "cancel", "delete"),
    Status.RUNNING: ("pause", "cancel"),
    Status.WAITING: ("pause", "cancel"),
    Status.PAUSED: ("resume", "step", "cancel", "delete"),
    Status.FINISHED: ("delete",),
    Status.STOPPED: ("delete",),
    Status.FAILED: ("resume", "cancel", "delete"),
}

# What to do, where the status alone leaves one helpless.
ADVICE: Final[Mapping[str, str]] = {
    Status.DRAFT: "Not started yet.",
    Status.FAILED: "All it played until then is saved. Resume tries again from there; the worker’s log says more.",
}
# How the reason of a pause begins → the option of `manage.py set_budget` that helps.
RAISES: Final[Mapping[str, str]] = {"the run's budget": "--run ", "the budget of day": "--day "}
LATER_ADVICE: Final = "Nothing is lost. It tries again by itself; Resume tries at once."
# A word of a provider's error → what cures it. Waiting does not: Resume is for when it is done.
CURES: Final[Mapping[str, str]] = {
    "environment variable": "Set the variable where the workers are started, start them again, then Resume.",
    "AuthenticationError": "Check the key in the workers’ environment, start them again, then Resume.",
    "PermissionDenied": "Check what the key is allowed to use at the provider, then Resume.",
    "NotFound": "Check the model’s name and address. They belong to the run: if they are wrong, start another.",
    "quota": "Check the account’s limits and credit at the provider, then Resume.",
    "credit": "Check the account’s limits and credit at the provider, then Resume.",
}
PROVIDER_ADVICE: Final = "Waiting does not cure this. See what the provider says, then Resume: nothing is lost."


def state_of(run: Run) -> dict[str, Any]:
    """Status and why, time and progress, who is waited for, and what may be done now."""
    awaited = waited_for(run) if run.is_moving else []
    return {
        "status": run.status,
        "label": run.get_status_display(),
        "reason": run.status_reason,
        "advice": advice_of(run),
        "again": run.resume_at.isoformat() if run.resume_at and run.status == Status.PAUSED else None,
        "waiting_for": waited_for(run),
        "waiting": [{"who": who, "since": run.status_since.isoformat()} for who in awaited],
        "spend": None,
        "started": run.started_at.isoformat() if run.started_at else None,
        "ended": run.ended_at.isoformat() if run.ended_at else None,
        "day": day_text(run),
        "today": today_of(run),
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


def today_of(run: Run) -> int:
    """The day that the page shows when it shows the present; a run that is over stays on its last."""
    return min(run.day, run.days - 1)


def advice_of(run: Run) -> str:
    """What a person can do about where it stands."""
    if not run.is_held_up:
        return ADVICE.get(run.status, "")
    if run.paused_by == Run.PausedBy.BUDGET:
        return budget_advice(run)
    if run.resume_at:
        return LATER_ADVICE
    return next((cure for word, cure in CURES.items() if word in run.status_reason), PROVIDER_ADVICE)


def budget_advice(run: Run) -> str:
    """How a run that a budget paused can go on."""
    reason = run.status_reason
    firm, _, _ = reason.partition("'s budget")
    option = next((option for start, option in RAISES.items() if reason.startswith(start)), f"--firm {firm}=")
    command = f"manage.py set_budget {run.pk} {option}USD"
    return f"Nothing is lost. Raise the budget under Spend, or with “{command}”, then Resume."


def waited_for(run: Run) -> list[str]:
    """The firms whose answer is awaited, each with who plays it."""
    return [with_player(run, name) for name in run.waiting_for]


def with_player(run: Run, firm: str) -> str:
    """A firm and who plays it: `roaster_A (human)`."""
    label = run.player_labels().get(firm)
    return f"{firm} ({label})" if label else firm


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
