"""One colour and one line style a firm, the same on every page and in every chart.

The role gives the hue; A is full and solid, B lighter and dashed; later firms continue the series by turning the hue a
little and taking the next dash, so that any two neighbours differ in more than colour.
"""

from __future__ import annotations

import colorsys
from functools import lru_cache
from typing import Final, NamedTuple


class FirmStyle(NamedTuple):
    """A firm's colour on light and on dark ground, and its line in Plotly's words."""

    light: str
    dark: str
    dash: str


class Ground(NamedTuple):
    """A role's colours on one ground: of its firm A, and of its firm B."""

    full: str
    pale: str


LIGHT: Final = {
    "farmer": Ground("#1B7F4B", "#66B98A"),
    "roaster": Ground("#A4501C", "#DE955A"),
    "retailer": Ground("#1F5FA8", "#72A9E4"),
}
DARK: Final = {
    "farmer": Ground("#3FBF7F", "#9ADDB8"),
    "roaster": Ground("#EB8B47", "#F6C79E"),
    "retailer": Ground("#5CA2F2", "#B3D4F9"),
}
GREY: Final = Ground("#6B6660", "#9A958E")
DASHES: Final = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
TURN_DEGREES: Final = 14


@lru_cache(maxsize=2048)
def style_of(firm: str) -> FirmStyle:
    """The style of a firm by its name, `roaster_A`; a name of no known role is grey."""
    role, _, letters = firm.rpartition("_")
    index = letter_index(letters)
    return FirmStyle(
        light=shade(LIGHT.get(role, GREY), index),
        dark=shade(DARK.get(role, GREY), index),
        dash=DASHES[index % len(DASHES)],
    )


def letter_index(letters: str) -> int:
    """0 for A, 25 for Z, 26 for AA: the reverse of how firms are lettered; 0 for anything else."""
    index = 0
    for letter in letters:
        if not "A" <= letter <= "Z":
            return 0
        index = index * 26 + ord(letter) - ord("A") + 1
    return max(index - 1, 0)


def shade(ground: Ground, index: int) -> str:
    """The role's colour for its index-th firm: full and pale in turn, each further pair turned in hue."""
    colour = ground.pale if index % 2 else ground.full
    pair = index // 2
    degrees = (pair + 1) // 2 * TURN_DEGREES * (1 if pair % 2 else -1)
    return turned(colour, degrees)


def turned(colour: str, degrees: float) -> str:
    """A `#rrggbb` colour with its hue turned."""
    if not degrees:
        return colour
    red, green, blue = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    parts = colorsys.hls_to_rgb((hue + degrees / 360) % 1, lightness, saturation)
    return "#" + "".join(f"{round(part * 255):02X}" for part in parts)
