"""``penstock completion``: what a shell needs to complete verbs, options and names.

A script is written out once from the parser, with everything it offers in it: a shell that asked
``penstock`` at every press of Tab would wait for Python to start.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, get_args, get_type_hints

import typer

from penstock.cli.output import make_folder, say, write_file, write_text
from penstock.engines import registry as engines
from penstock.engines.base import Ability
from penstock.errors import EXIT_DONE, Finding, InputError, UsageError
from penstock.files import examples
from penstock.model.terms import Least
from penstock.schedulers import SCHEDULERS


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def _schedulers() -> Sequence[str]:
    return SCHEDULERS.names()


#: What an option takes, by its parameter's name; of the others, a list of choices or files.
_VALUES: dict[str, Callable[[], Sequence[str]]] = {
    "scheduler": _schedulers,
    "schedulers": _schedulers,
    "counts_from": _schedulers,
    "engine": engines.names,
    "taken_from": lambda: engines.able(Ability.SNAPSHOT),
    "example": examples.topology_names,
    "cluster": examples.cluster_names,
    "profile": examples.profile_names,
    "minimize": lambda: [goal.value for goal in Least],
}


@dataclass(frozen=True)
class Option:
    """One option of a verb: how it is written, what it says, what it takes."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]


@dataclass(frozen=True)
class VerbOptions:
    """A verb or a group of them, by the words that are typed; the program itself has none."""

    path: tuple[str, ...]
    help: str
    options: tuple[Option, ...]
    #: The verbs below it, or what its first argument takes.
    words: tuple[str, ...]

    @property
    def typed(self) -> str:
        return " ".join(self.path)


def command(
    context: typer.Context,
    shell: Annotated[
        Shell | None, typer.Argument(help="bash, zsh or fish. Default: that of $SHELL.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="Put the script where the shell looks for it.")
    ] = False,
) -> int:
    """Complete verbs, options and names of schedulers and examples in a shell.

    penstock completion --install

    penstock completion zsh > completion.zsh
    """
    root: Any = context.find_root().command
    shell = shell or _own_shell(os.environ)
    script = {Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}[shell](list(_verbs(root, ())))
    if install:
        _install(shell, script, os.environ)
    else:
        write_text(script)
    return EXIT_DONE


def _own_shell(environment: Mapping[str, str]) -> Shell:
    name = Path(environment.get("SHELL", "")).name
    if name not in list(Shell):
        raise UsageError(f"name a shell: {', '.join(Shell)} ($SHELL is none of them)")
    return Shell(name)


def _install(shell: Shell, script: str, environment: Mapping[str, str]) -> None:
    """Write the script; zsh has no folder of the user's own, so its start file reads it."""
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    settings = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    path = {
        Shell.BASH: data / "bash-completion" / "completions" / "penstock",
        Shell.ZSH: data / "penstock" / "completion.zsh",
        Shell.FISH: settings / "fish" / "completions" / "penstock.fish",
    }[shell]
    make_folder(path.parent)
    write_file(path, script)
    say(f"wrote {path}")
    if shell is Shell.ZSH:
        _add_line(Path(environment.get("ZDOTDIR") or home) / ".zshrc", f"source {quote(str(path))}")
    say(f"{shell} completes penstock from its next start; run this again after an upgrade")


def _add_line(path: Path, line: str) -> None:
    """Add a line to the end of a file, unless the file has it."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if line in text.splitlines():
            return
        with path.open("a", encoding="utf-8") as file:
            file.write(("" if not text or text.endswith("\n") else "\n") + line + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Finding(f"cannot add the line {line}: {error}", str(path))) from None
    say(f"added to {path}: {line}")


def _verbs(command: Any, path: tuple[str, ...]) -> Iterator[VerbOptions]:
    below = getattr(command, "commands", {})
    hints = get_type_hints(command.callback) if command.callback else {}
    options, arguments = [], []
    for parameter in command.params:
        values = _values(parameter.name, hints.get(parameter.name))
        if parameter.param_type_name == "argument":
            arguments.append(values)
        else:
            names = (*parameter.opts, *parameter.secondary_opts)
            takes_value = not parameter.is_flag
            options.append(Option(names, parameter.help or "", takes_value, values))
    words = tuple(below) or (arguments[0] if arguments else ())
    help_line = command.short_help or (command.help or "").partition("\n")[0]
    yield VerbOptions(path, help_line, tuple(options), words)
    for name, one in below.items():
        yield from _verbs(one, (*path, name))


def _values(name: str, hint: object) -> tuple[str, ...]:
    for kind in (hint, *get_args(hint)):
        if isinstance(kind, type) and issubclass(kind, Enum):
            return tuple(str(choice.value) for choice in kind)
    return tuple(_VALUES[name]()) if name in _VALUES else ()


_BASH = """\
_penstock() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
  local verb="" words="" i=1
  while [ "$i" -lt "$COMP_CWORD" ]; do
    case "$verb ${{COMP_WORDS[i]}}" in
      {paths}) verb="${{verb:+$verb }}${{COMP_WORDS[i]}}" ;;
    esac
    i=$((i + 1))
  done
  case "$verb:$prev" in
{values}
    *)
      case "$verb:$cur" in
{words}
      esac ;;
  esac
  COMPREPLY=( $(compgen -W "$words" -- "$cur") )
}}
complete -o default -F _penstock penstock
"""


def bash(verbs: Sequence[VerbOptions]) -> str:
    """A function for bash. Where it offers nothing, bash offers files."""
    paths = "|".join(f'"{" ".join(verb.path[:-1])} {verb.path[-1]}"' for verb in verbs if verb.path)
    values = []
    for verb in verbs:
        for option in verb.options:
            if option.takes_value:
                places = "|".join(f'"{verb.typed}:{name}"' for name in option.names)
                values.append(f'    {places}) words="{" ".join(option.values)}" ;;')
    words = []
    for verb in verbs:
        names = " ".join(name for option in verb.options for name in option.names)
        words.append(f'        "{verb.typed}":-*) words="{names} --help" ;;')
        words.append(f'        "{verb.typed}":*) words="{" ".join(verb.words)}" ;;')
    return _BASH.format(paths=paths, values="\n".join(values), words="\n".join(words))


def zsh(verbs: Sequence[VerbOptions]) -> str:
    """zsh runs bash's function."""
    return f"autoload -U +X bashcompinit && bashcompinit\n{bash(verbs)}"


def fish(verbs: Sequence[VerbOptions]) -> str:
    """One line for each verb and each option."""
    lines = []
    for verb in verbs:
        below = [other for other in verbs if other.path[:-1] == verb.path and other.path]
        here = _fish_condition(verb, below)
        for other in below:
            lines.append(f"{here} -f -a {other.path[-1]} -d {_quoted(other.help)}")
        if verb.words and not below:
            lines.append(f"{here} -a {_quoted(' '.join(verb.words))}")
        lines += [f"{here} {_fish_option(option)}" for option in verb.options]
    return "\n".join(lines) + "\n"


def _fish_condition(verb: VerbOptions, below: Sequence[VerbOptions]) -> str:
    seen = [f"__fish_seen_subcommand_from {word}" for word in verb.path]
    if below:
        names = " ".join(other.path[-1] for other in below)
        seen.append(f"not __fish_seen_subcommand_from {names}")
    return f"complete -c penstock -n {_quoted('; and '.join(seen))}"


def _fish_option(option: Option) -> str:
    words = [f"-l {name[2:]}" for name in option.names if name.startswith("--")]
    words += [f"-s {name[1:]}" for name in option.names if not name.startswith("--")]
    if option.takes_value:
        words.append("-r")
    if option.values:
        words.append(f"-f -a {_quoted(' '.join(option.values))}")
    return " ".join([*words, f"-d {_quoted(option.help)}"])


def _quoted(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
