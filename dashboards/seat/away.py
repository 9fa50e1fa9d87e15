"""What being away means, in words for whoever is about to play."""

from __future__ import annotations

from typing import Final

from simulation.models import Seat

Absence = Seat.Absence

BACK: Final = "The same link, here or on another device, brings you back"
INSTEAD: Final[dict[str, str]] = {
    Absence.DEFAULT: "your firm waits for the next day",
    Absence.SCRIPT: "a script plays your firm until you are back",
    Absence.MODEL: "a language model plays your firm until you are back",
}


def away_text(absence: str, minutes: int) -> str:
    """What a seat's rule for absence means for its person."""
    if absence == Absence.WAIT:
        return f"You may close the page at any time. {BACK} to the same moment."
    lasts = "a minute" if minutes == 1 else f"{minutes:,} minutes"
    return f"{BACK}. If you do nothing for {lasts} while it is your turn, {INSTEAD[absence]}."
