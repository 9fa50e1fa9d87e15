"""Which scripts and styles of their own the tabs have: a file of the tab's name is enough."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from django.contrib.staticfiles import finders
from django.templatetags.static import static

from dashboards.tabs import TABS

MODULES: Final = (
    "alarms",
    "bars",
    "cards",
    "dress",
    "figure_data",
    "header",
    "labels",
    "live_rows",
    "look",
    "margins",
    "plot",
    "reload",
    "slots",
    "tabs",
    "tape",
    "theme_colours",
    "time",
)


class TabParts(NamedTuple):
    """A tab, and the addresses of its own script and style; None where it has none."""

    name: str
    title: str
    script: str | None
    style: str | None


@cache
def tab_parts() -> tuple[TabParts, ...]:
    """All tabs, in their order."""
    return tuple(
        TabParts(
            name=tab.name,
            title=tab.title,
            script=address_of(f"js/run/tab_{tab.name}.js"),
            style=address_of(f"css/tab-{tab.name}.css"),
        )
        for tab in TABS.values()
    )


@cache
def modules() -> tuple[str, ...]:
    """The addresses of all scripts of the run's page, so that a browser need not find them one behind the other."""
    names = ("socket", *(f"run/{name}" for name in MODULES))
    return tuple(static(f"js/{name}.js") for name in names)


def address_of(file: str) -> str | None:
    """The address of a static file, if there is one."""
    return static(file) if finders.find(file) else None
