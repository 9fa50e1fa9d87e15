"""What a scripted player is: it is given a view and answers with one decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View
from simulation.engine.tools import Result


class Player(Protocol):
    """Decides for one firm. It may remember what it was shown; it sees nothing else."""

    def decide(self, view: View) -> Decision:
        """The answer to one turn: one tool call, or none."""


def call(tool: str, **arguments: Any) -> Decision:
    """A decision to call a tool."""
    return Decision(tool, arguments)


class DayPlanner:
    """A script that goes down one list of calls a day, one call a turn, and waits when the list is done.

    Woken again the same day it goes on where it was. Subclasses write the list as a generator, `plan`, and take in
    what they read in `learn`.
    """

    def __init__(self) -> None:
        self.day = -1
        self.last_call = WAIT
        self._plan: Iterator[Decision] = iter(())

    def plan(self, view: View) -> Iterator[Decision]:
        """The day's calls, each worked out when its turn comes."""
        raise NotImplementedError

    def learn(self, call_made: Decision, result: Result) -> None:
        """Takes in the result of an accepted call."""

    def decide(self, view: View) -> Decision:
        """The next call of the day's list."""
        self.read(view)
        if view.day != self.day:
            self.day = view.day
            self._plan = self.plan(view)
        self.last_call = next(self._plan, WAIT)
        return self.last_call

    def read(self, view: View) -> None:
        """Takes in the result of the last call."""
        if view.result is not None and view.result["ok"]:
            self.learn(self.last_call, view.result)
