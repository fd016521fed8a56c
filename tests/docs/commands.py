"""What the documentation shows: its code blocks, and the commands in them and in its text."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "formats").glob("*.md")),
)
#: Done from top to bottom, in :mod:`tests.docs.test_tutorials`.
TUTORIALS = tuple(sorted((ROOT / "docs" / "tutorials").glob("*.md")))
#: The languages of blocks that hold commands; blocks without a language do, too.
_SHELL = ("", "sh", "bash", "console")
_FENCE = re.compile(r"^\s*```(\w*)")
_IN_TEXT = re.compile(r"(?<!`)`(penstock [^`]+)`(?!`)")
_OUTPUT_OF = re.compile(r"<!-- output of: (penstock .*?) -->")
#: ``penstock`` writes down its arguments, ``sleep`` does not, and files are written under $HOME.
_RECORDER = """\
penstock() {
    if [ "$*" = "lab status --address" ]; then echo "$LAB"; return; fi
    printf '%s\\0' "$@" >&3
    printf '\\n\\0' >&3
}
sleep() { :; }
"""


@dataclass(frozen=True)
class Command:
    """A line of shell as a page shows it, without prompt; continuation lines are joined."""

    page: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Block:
    """A fenced code block: its language, the number of its first line, its lines."""

    language: str
    begins: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in order."""
    found: list[Block] = []
    language, begins, lines = None, 0, []
    for number, line in _numbered(page):
        fence = _FENCE.match(line)
        if fence is None:
            lines.append(line)
        elif language is None:
            language, begins, lines = fence.group(1), number + 1, []
        else:
            found.append(Block(language, begins, tuple(lines)))
            language = None
    return found


def block_with(page: str, words: str) -> str:
    """The one code block of a page that has these words."""
    (found,) = (block.text for block in blocks(ROOT / page) if words in block.text)
    return found


def shown(program: str) -> list[Command]:
    """The lines of all pages' code blocks that run ``program``."""
    runs = re.compile(rf"(^|[;&|]\s*){program} ")
    return [
        Command(_name(page), number, line)
        for page in PAGES
        for block in blocks(page)
        if block.language in _SHELL
        for number, line in _logical_lines(block)
        if runs.search(line)
    ]


def printed() -> list[Command]:
    """The commands whose output ``make docs`` prints into a page."""
    return _matches(_OUTPUT_OF)


def in_text() -> list[Command]:
    """The commands that stand in the text, between backticks."""
    return _matches(_IN_TEXT)


def arguments_of(command: Command, folder: Path, lab: str = "") -> list[list[str]]:
    """What a shell hands to ``penstock`` when it runs this line in ``folder``.

    The shell takes care of comments, quotes, patterns, redirections and several commands in a line.
    ``lab`` is what ``$(penstock lab status --address)`` says.
    """
    target = folder / ".arguments"
    shell = ["sh", "-c", f"{_RECORDER}{{ {command.text}\n}} 3>{target.name}"]
    environment = {"HOME": str(folder), "LAB": lab, "PATH": ""}
    subprocess.run(["/bin/" + shell[0], *shell[1:]], cwd=folder, env=environment, check=True)
    calls = target.read_text(encoding="utf-8").split("\n\0")[:-1]
    return [call.split("\0")[:-1] for call in calls]


def _matches(pattern: re.Pattern[str]) -> list[Command]:
    return [
        Command(_name(page), number, text)
        for page in (*PAGES, *TUTORIALS)
        for number, line in _numbered(page)
        for text in pattern.findall(line)
    ]


def _logical_lines(block: Block) -> list[tuple[int, str]]:
    """Lines with their numbers and without prompts; a backslash at the end joins the next."""
    found: list[tuple[int, str]] = []
    goes_on = False
    for number, line in enumerate(block.lines, start=block.begins):
        first, begun = found.pop() if goes_on else (number, "")
        goes_on = line.endswith("\\")
        found.append((first, begun + line.strip().removeprefix("$ ").removesuffix("\\")))
    return found


def _numbered(page: Path) -> list[tuple[int, str]]:
    return list(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()
