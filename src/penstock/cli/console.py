"""What a terminal shows: documents, tables and text, with colour and bars where it has them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType

from penstock.report.page import Document
from penstock.report.page.terminal import renderable

#: Without a terminal there is no width to fit into; tables must not be cut.
_PIPE_WIDTH = 10_000


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to ``main``, which knows that ``| head`` is no failure."""
        raise BrokenPipeError


def print_results(results: Iterable[RenderableType | Document], *, is_terminal: bool) -> None:
    """Print them; names of the user's own are no markup and no emoji codes."""
    width = None if is_terminal else _PIPE_WIDTH
    console = _Console(width=width, highlight=False, emoji=False)
    for result in results:
        if isinstance(result, Document):
            console.print(renderable(result, bars=is_terminal), markup=False)
        else:
            console.print(result, soft_wrap=isinstance(result, str), markup=False)
