"""Who may open a participant's pages: whoever holds their link, while it is valid."""

from __future__ import annotations

from dashboards.keyed import opened_by
from simulation.studies.links import participant_of

with_participant = opened_by(participant_of, template="study/no_study.html", script="room")
"""Gives a view the participant whom the link in its address opens."""
