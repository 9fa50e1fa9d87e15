"""The admin site of time and players: runs, seats, turns, the books of each evening, the tape, and talk with models."""

from simulation.admin import runs, seats, talk, tape, turns

__all__ = ["runs", "seats", "talk", "tape", "turns"]
