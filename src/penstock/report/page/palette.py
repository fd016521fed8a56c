"""The one palette: colours by role, on light, on dark and on paper, and series of colours."""

from __future__ import annotations

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "ground": "#ffffff",
    "ink": "#16191d",
    "faint": "#57606a",
    "line": "#d0d7de",
    "soft": "#f3f5f7",
    "stream": "#848d97",
    "shade": "#8c959faa",
    "blue": "#0072B2",
    "good": "#00664b",
    "fair": "#7a5200",
    "bad": "#a33c00",
}
DARK: Mapping[str, str] = {
    "ground": "#14171a",
    "ink": "#e8eaed",
    "faint": "#a2abb5",
    "line": "#3a424b",
    "soft": "#1e2328",
    "stream": "#7d8590",
    "shade": "#7d8590aa",
    "blue": "#56B4E9",
    "good": "#3fcf9f",
    "fair": "#e9b44c",
    "bad": "#ff9a5c",
}
PAPER: Mapping[str, str] = {
    "ground": "#ffffff",
    "ink": "#000000",
    "faint": "#444444",
    "line": "#bbbbbb",
    "soft": "#f3f3f3",
    "stream": "#777777",
    "shade": "transparent",
    "blue": "#005a8c",
    "good": "#00664b",
    "fair": "#7a5200",
    "bad": "#a33c00",
}
#: Okabe and Ito's palette, which people with any colour vision can tell apart.
SERIES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999")
#: More than full.
OVER = "#D55E00"


def css_variables(colours: Mapping[str, str]) -> str:
    """``--ink: #16191d; …``: what pages and pictures take their colours from."""
    return " ".join(f"--{role}: {colour};" for role, colour in colours.items())


def on_white(svg: str) -> str:
    """A picture with the light colours in place, where no page gives them."""
    for role, colour in LIGHT.items():
        svg = svg.replace(f"var(--{role})", colour)
    return svg
