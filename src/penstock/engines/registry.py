"""Engines by name: what is built in, and what other packages install."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.engines.base import Ability, Engine, lacks
from penstock.errors import UsageError
from penstock.registry import Registry, parameters_of

ENGINES: Registry[Engine] = Registry(
    noun="engine",
    group="penstock.engines",
    built_in={
        "storm": "penstock.engines.storm.engine:StormEngine",
        "spark": "penstock.engines.spark.engine:SparkEngine",
    },
    missing_parts=lacks,
)
#: The engine that is meant where none is named.
DEFAULT_ENGINE = "storm"

get, names, naming_its_package = ENGINES.get, ENGINES.names, ENGINES.naming_its_package


def create(name: str, options: Mapping[str, Any] | None = None) -> Engine:
    """An engine with its options; one that it does not have is refused."""
    kind = get(name)
    known = [option.name for option in parameters_of(kind)]
    for option in options or {}:
        if option not in known:
            has = ", ".join(n.replace("_", "-") for n in known) if known else "none"
            shown = option.replace("_", "-")
            raise UsageError(f'the engine {name} has no option "{shown}"; its options: {has}')
    with naming_its_package(name):
        return kind(**(options or {}))


def able(ability: Ability) -> list[str]:
    """Names of the engines that can do something."""
    return [
        name for name, kind in ENGINES.usable().items() if ability in kind.capabilities.abilities
    ]


def require(engine: Engine | type[Engine], ability: Ability) -> None:
    """Refuse what an engine cannot do, and say which engines can."""
    if ability not in engine.capabilities.abilities:
        others = ", ".join(able(ability)) or "none"
        raise UsageError(f"{engine.name} cannot {ability.value}; engines that can: {others}")
