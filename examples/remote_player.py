"""Plays a roaster over HTTP, from its first turn to its last: SEAT_TOKEN=… python remote_player.py http://127.0.0.1:8000

It remembers nothing: every turn is decided from what that turn shows, so it may be killed and started again any time.
"""

import json
import os
import sys
import time
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

GREEN, ROASTED = "green_coffee_kg", "roasted_coffee_kg"
LOOKS = {"09:00": "view_listings", "10:00": "view_trial_balance", "11:00": "view_trial_balance", "12:00": "view_offers"}


def decide(turn: dict[str, Any]) -> dict[str, Any]:
    """The call of the half hour: look and buy, look and roast, look and list, look and sell, pay, then wait."""
    seen, clock, call = turn["result"] or {}, turn["time"]["clock"], {}
    stock = {item: held["qty"] for item, held in seen.get("stock", {}).items()}
    green = [listing for listing in seen.get("listings", []) if listing["item_id"] == GREEN]
    tool = LOOKS.get(clock, "view_payables" if clock < "14:00" else "wait_for_next_day")
    if clock == "09:30" and green:
        best = min(green, key=lambda listing: listing["asking_price"])
        tool, call = "make_offer", {"listing_id": best["listing_id"], "qty": min(30, best["qty"])}
        call["offered_price"] = best["asking_price"]
    elif clock == "10:30" and stock.get(GREEN):
        tool, call = "roast", {"green_item_id": GREEN, "qty_kg": min(50, stock[GREEN])}
    elif clock == "11:30" and stock.get(ROASTED):
        tool, call = "post_listing", {"item_id": ROASTED, "qty": stock[ROASTED], "asking_price": 8.8}
    elif clock == "12:30" and seen.get("incoming"):
        tool, call = "accept_offer", {"offer_id": seen["incoming"][0]["offer_id"]}
    elif clock == "13:30" and seen.get("invoices"):
        tool, call = "pay_invoice", {"invoice_id": seen["invoices"][0]["invoice_id"]}
    return {"tool": tool, "arguments": call, "rationale": f"What I do at {clock}."}


def ask(path: str, body: dict[str, Any] | None = None) -> Any:
    """What the seat answers; None where it says to look again. Goes on trying while the site cannot be reached."""
    headers = {"Authorization": f"Bearer {os.environ['SEAT_TOKEN']}", "Content-Type": "application/json"}
    request = Request(f"{sys.argv[1]}/api/seat/{path}", json.dumps(body).encode() if body else None, headers)  # noqa: S310
    while True:
        try:
            return json.load(urlopen(request, timeout=90))  # noqa: S310 - the address is its user's own
        except (OSError, ValueError) as error:
            if isinstance(error, HTTPError) and error.code < 500 and error.code != 429:
                return None if error.code in (404, 409) else sys.exit(error.read().decode())
            time.sleep(1)


done = 0
while __name__ == "__main__" and not (state := ask(f"?wait=30&after={done}"))["is_over"]:
    if state["may_take_back"]:
        ask("take-back/", {"back": True})
    turn = ask("turn/") if state["status"] == "your_turn" else None
    if turn and ask(f"turn/{turn['turn']}/", decide(turn)):
        done = turn["turn"]
