"""The admin site of time and players: runs, turns, the books of each evening, the tape, and talk with models."""

from simulation.admin import runs, talk, tape, turns

__all__ = ["runs", "talk", "tape", "turns"]
