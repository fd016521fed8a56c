"""How wide words will be on a page, so that boxes can be made to fit them.

Measured in DejaVu Sans, the widest of the fonts that readers commonly have: what fits in it fits in
Segoe UI, Roboto or Liberation Sans, too.
"""

from __future__ import annotations

import unicodedata

#: Advance widths from space to tilde, in thousandths of the letters' height.
_NORMAL = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
    636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
    1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
    500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
    635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_BOLD = (
    348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365,
    696, 696, 696, 696, 696, 696, 696, 696, 696, 696, 400, 400, 838, 838, 838, 580,
    1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
    733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500,
    500, 675, 716, 593, 716, 678, 435, 716, 712, 343, 343, 665, 343, 1042, 712, 687,
    716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838,
)  # fmt: skip
#: Letters that are not listed: those of East Asia fill a square, others rarely more than this.
_OTHER, _SQUARE = 840, 1000
_FEWEST_LETTERS = 4


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Pixels that a line of text takes at this height of letters."""
    table = _BOLD if bold else _NORMAL
    return sum(_letter(character, table) for character in text) * size / 1000


def _letter(character: str, table: tuple[int, ...]) -> int:
    place = ord(character) - ord(" ")
    if 0 <= place < len(table):
        return table[place]
    if unicodedata.east_asian_width(character) in "WF" or character == "…":
        return _SQUARE
    return 0 if unicodedata.combining(character) else _OTHER


def cut(text: str, pixels: float, size: float = 12.0, *, bold: bool = False) -> str:
    """A name that fits: its middle is left out where it is too long."""
    if text_width(text, size, bold=bold) <= pixels:
        return text
    letters = len(text) - 1
    while letters > _FEWEST_LETTERS and text_width(_ends(text, letters), size, bold=bold) > pixels:
        letters -= 1
    return _ends(text, letters) if letters >= _FEWEST_LETTERS else text


def _ends(text: str, letters: int) -> str:
    """The first and the last letters, so many together."""
    tail = letters // 2
    return f"{text[: letters - tail]}…{text[len(text) - tail :]}"
