"""The tabs of a run's page: one file a tab, each a function from a `Look` to what its template and charts need.

A new tab is a file beside these, a template of its name, and an entry below.
"""

from __future__ import annotations

from typing import Final

from dashboards.tabs import behaviour, books, market, messages, overview, tape
from dashboards.tabs.look import Tab

TABS: Final[dict[str, Tab]] = {
    tab.name: tab for tab in (overview.TAB, market.TAB, messages.TAB, behaviour.TAB, books.TAB, tape.TAB)
}
