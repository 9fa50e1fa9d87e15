"""What a firm did, counted as it does it: the figures of merit that are no part of its books (RULES.md section 13)."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Activity:
    """Counts over a firm's turns. A day is idle when the firm lived through it and did nothing but wait."""

    calls: int = 0
    refused_calls: int = 0
    turns_without_call: int = 0
    calls_by_tool: dict[str, int] = field(default_factory=dict)
    messages_to: dict[str, int] = field(default_factory=dict)
    busy_today: bool = False
    idle_days: int = 0

    @property
    def messages_sent(self) -> int:
        """To whomever."""
        return sum(self.messages_to.values())

    def count_call(self, tool: str, *, accepted: bool, waits: bool) -> None:
        """One tool call, refused ones included."""
        self.calls += 1
        self.calls_by_tool[tool] = self.calls_by_tool.get(tool, 0) + 1
        self.refused_calls += not accepted
        self.busy_today |= not waits

    def end_day(self) -> None:
        """Called on the evening of each day the firm lived through."""
        self.idle_days += not self.busy_today
        self.busy_today = False
