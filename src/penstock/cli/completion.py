"""``penstock completion``: what a shell needs to complete verbs, options and names.

A script is written out once from the parser, with everything it offers in it: a shell that asked
``penstock`` at every press of Tab would wait for Python to start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated, Any, get_type_hints

import typer

from penstock.cli.output import write_text
from penstock.errors import EXIT_DONE
from penstock.files import examples
from penstock.model.terms import Least
from penstock.schedulers import registered


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def _schedulers() -> Sequence[str]:
    return [name for name, entry in registered().items() if entry.scheduler is not None]


#: What an option takes, by its parameter's name; of the others, a list of choices or files.
_VALUES: dict[str, Callable[[], Sequence[str]]] = {
    "scheduler": _schedulers,
    "schedulers": _schedulers,
    "counts_from": _schedulers,
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
    context: typer.Context, shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]
) -> int:
    """Print what a shell needs to complete verbs, options, names of schedulers and examples.

    Or with eval "$(penstock completion zsh)" in ~/.zshrc, after compinit; alike in ~/.bashrc.

    \b
    penstock completion bash > ~/.local/share/bash-completion/completions/penstock

    penstock completion fish > ~/.config/fish/completions/penstock.fish
    """
    root: Any = context.find_root().command
    verbs = list(_verbs(root, ()))
    write_text({Shell.BASH: bash, Shell.ZSH: zsh, Shell.FISH: fish}[shell](verbs))
    return EXIT_DONE


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
    if isinstance(hint, type) and issubclass(hint, Enum):
        return tuple(str(choice.value) for choice in hint)
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
