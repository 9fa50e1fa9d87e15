"""PassiveRoaster of the paper, for any role: it always waits."""

from __future__ import annotations

from simulation.engine.decision import WAIT, Decision
from simulation.engine.observation import View


class Passive:
    """Waits for the next day, every time it is asked."""

    def decide(self, view: View) -> Decision:
        """Wait."""
        return WAIT
