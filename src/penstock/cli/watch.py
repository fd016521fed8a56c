"""``penstock watch``: the loop on a running cluster."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock import app
from penstock.app.history_folder import history_folder
from penstock.app.telemetry import seconds_of
from penstock.app.watching.events import WatchEvent
from penstock.app.watching.hooks import HOOKS_FILE, load_hook
from penstock.app.watching.options import Act, WatchOptions
from penstock.cli import engine_options, history_options, options
from penstock.cli.output import say, write_text
from penstock.cli.stopping import stoppable
from penstock.control.policies import registry
from penstock.engines.registry import DEFAULT_ENGINE
from penstock.errors import EXIT_DONE, escaped
from penstock.files.answer_formats import answer_head
from penstock.model.watch_rules import WatchSetting


def command(
    taken_from: engine_options.Watched = DEFAULT_ENGINE,
    nimbus: engine_options.Nimbus = None,
    storm_yaml: engine_options.StormYaml = None,
    types: engine_options.Types = None,
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan-file", help="Where Nimbus' plan file is mounted on this machine."),
    ] = None,
    more: engine_options.EngineOptions = None,
    topologies: Annotated[
        list[str] | None,
        typer.Option("--topology", "-t", help="Topology to watch; repeatable. Default: all."),
    ] = None,
    profile: Annotated[
        Path, typer.Option("--profile", "-p", help="What tuples cost; read again when it changes.")
    ] = Path("profile.json"),
    telemetry: engine_options.Telemetry = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="Keep the profile up to date from this folder or kafka://… topic, on Spark.",
        ),
    ] = None,
    policy: Annotated[
        str | None, typer.Option("--policy", help="Who decides, in place of what the rules say.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", help="Guard rails (penstock schema watch).")
    ] = None,
    act: Annotated[
        Act, typer.Option("--act", help="Tell only, ask for approval, or act at once.")
    ] = Act.ADVISE,
    every: Annotated[str, typer.Option("--every", help="Time between turns: 10s.")] = "10s",
    window: Annotated[
        str, typer.Option("--window", help="Rates are means over the newest: 30s.")
    ] = "30s",
    once: Annotated[bool, typer.Option("--once", help="One turn, for cron.")] = False,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="End after this many seconds.", min=0)
    ] = None,
    weighted: options.Weighted = False,
    headroom: options.Headroom = None,
    lasts: Annotated[
        str, typer.Option("--expires", help="A proposal that waits longer is stale: 10m.")
    ] = "10m",
    wait_s: Annotated[
        int, typer.Option("--wait", help="Seconds to wait for tuples in flight.", min=0)
    ] = 2,
    within_s: Annotated[
        float,
        typer.Option(
            "--within", help="Roll back if a plan is not in force after this many seconds.", min=1
        ),
    ] = 120.0,
    hook: Annotated[
        str | None,
        typer.Option("--hook", help="Command to tell of refusals and failures, by its name."),
    ] = None,
    hooks: Annotated[
        Path | None,
        typer.Option("--hooks", help="File of hooks (default: hooks.yaml of the history)."),
    ] = None,
    history: history_options.History = None,
    journal: history_options.Journal = None,
    keep: Annotated[str, typer.Option("--keep", help="Forget turns that are older: 90d.")] = "90d",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each thing that happens.")
    ] = False,
) -> int:
    """Watch a running cluster and say when its plan should change; with --act, change it.

    penstock watch --from storm -p profile.json --telemetry telemetry --rules watch.yaml

    penstock watch --from storm -p profile.json --telemetry telemetry --act ask --hook page-me
    """
    setting = _setting(rules, policy)
    target = engine_options.engine(
        taken_from, more, nimbus=nimbus, storm_yaml=storm_yaml, types=types, plan_file=plan_file
    )
    named = hooks or history_folder(history) / HOOKS_FILE
    wanted = WatchOptions(
        profile=profile,
        watch=setting,
        act=act,
        every_s=_seconds("--every", every),
        window_s=_seconds("--window", window),
        topologies=tuple(topologies or ()),
        telemetry=tuple(telemetry or ()),
        measure=measure,
        weighted=weighted,
        headroom=headroom,
        history=history,
        journal=journal,
        keep_s=_seconds("--keep", keep),
        proposal_lasts_s=_seconds("--expires", lasts),
        wait_s=wait_s,
        within_s=within_s,
        hook=None if hook is None else load_hook(hook, named),
    )

    def tell(event: WatchEvent) -> None:
        write_text((_json(event) if as_json else escaped(event.line)) + "\n", at_once=True)

    with stoppable(seconds) as stop:
        app.watch(target, wanted, stop=stop, once=once, say=say, tell=tell)
    return stop.exit_code or EXIT_DONE


def _setting(rules: Path | None, policy: str | None) -> WatchSetting:
    setting = app.watch_setting(rules)
    if policy is not None and policy != setting.policy:
        setting = replace(setting, policy=policy, parameters={})
    registry.configured(setting.policy, setting.parameters)
    return setting


def _seconds(option: str, text: str) -> float:
    seconds = seconds_of(text, option)
    assert seconds is not None  # a text is given
    return seconds


def _json(event: WatchEvent) -> str:
    told = {**answer_head("watch-event"), **event.to_dict()}
    return json.dumps(told, ensure_ascii=True, allow_nan=False)
