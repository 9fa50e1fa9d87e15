"""The seats of a run as lines of text, with the links that open them: for those who start runs from a terminal."""

from __future__ import annotations

from coffeebench_site.environment import read_environment
from coffeebench_site.place import page_address
from simulation.models import Run, Seat
from simulation.players.registry import REMOTE
from simulation.seats.links import path_of, token_of


def lines_of_seats(run: Run, address: str = "") -> list[str]:
    """A line for each seat: its firm, who plays it, and a person's link or a program's token.

    `address` is where the site is; by default where it stands on this machine.
    """
    address = (address or page_address(read_environment())).rstrip("/")
    return [_line(seat, address) for seat in run.seats.select_related("firm")]


def _line(seat: Seat, address: str) -> str:
    who = f"  {seat.firm.name}, {seat.firm.player}: "
    if seat.is_revoked:
        return f"{who}its link is revoked; --reissue {seat.firm.name} makes another"
    return f"{who}SEAT_TOKEN={token_of(seat)}" if seat.firm.player == REMOTE else f"{who}{address}{path_of(seat)}"
