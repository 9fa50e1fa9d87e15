"""The admin site of time and players: runs, turns, the books of each evening, and the tape."""

from simulation.admin import runs, tape, turns

__all__ = ["runs", "tape", "turns"]
