"""Text and what marks a control stand out from their ground in either theme: reckoned from the colours as written."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path
from string import ascii_uppercase
from typing import Final

import pytest
from django.conf import settings

from dashboards.colours import GREY, style_of
from dashboards.tabs.market_figures import mixed
from marketplace.economy.rules import ROLES

STATIC: Final = Path(settings.BASE_DIR) / "static"
COLOURS: Final = {
    name: (light, dark)
    for name, light, dark in re.findall(
        r"--(\w[\w-]*): light-dark\((#\w{6}), (#\w{6})\)", (STATIC / "css/site.css").read_text()
    )
}
TEXT, MARK = 4.5, 3.0
GROUNDS: Final = ("ground", "panel", "raised", "band")
LEAST: Final = {
    **dict.fromkeys(("ink", "soft", "loss", "running", "waiting", "paused"), TEXT),
    **dict.fromkeys(("edge", "focus"), MARK),
}


def luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
@pytest.mark.parametrize(("name", "ground"), list(product(LEAST, GROUNDS)))
def test_every_colour_of_text_and_controls_stands_out(name: str, ground: str, theme: int) -> None:
    assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= LEAST[name]


@pytest.mark.parametrize("theme", [0, 1])
def test_the_name_at_the_end_of_any_firms_line_can_be_read(theme: int) -> None:
    script = (STATIC / "js/run/theme_colours.js").read_text()
    share = float(re.findall(r"LINE_IN_TEXT = ([\d.]+)", script)[0])
    ink, panel = COLOURS["ink"][theme], COLOURS["panel"][theme]
    lines = [style_of(f"{role}_{letter}")[theme] for role, letter in product(ROLES, ascii_uppercase)]
    assert min(contrast(mixed(line, ink, share), panel) for line in [*lines, GREY[theme]]) >= TEXT


def test_no_text_is_in_the_colour_of_a_firm() -> None:
    styles = {path.name: path.read_text() for path in (STATIC / "css").glob("*.css")}
    assert [name for name, style in styles.items() if re.search(r"[{; ]color: var\(--firm\)", style)] == []
