"""The pipeline's process: it writes the profile's file, ends when told to, and is started again."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import asdict
from types import SimpleNamespace

from tests.app.watching.toy_watch import PROFILE

from penstock.app.watching import cost_follower
from penstock.app.watching.cost_follower import CostFollower, FollowOrder
from penstock.files.store import load


def test_each_refresh_replaces_the_profile_until_it_is_told_to_end(tmp_path, monkeypatch):
    order = FollowOrder("telemetry", "store", str(tmp_path / "profile.json"))

    def follow(source, options, *, stop, on_refresh, every_s, say):
        assert (source, options.store, options.keep_s) == ("telemetry", "store", 7 * 86_400.0)
        on_refresh(SimpleNamespace(profile=None))  # nothing is known yet
        assert not (tmp_path / "profile.json").exists()
        on_refresh(SimpleNamespace(profile=PROFILE))
        assert not stop()
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop()

    monkeypatch.setattr(cost_follower, "follow", follow)
    child = (
        os.fork()
    )  # it asks the kernel to end with its parent, which is nothing for this process
    if child == 0:
        try:
            cost_follower.main(json.dumps(asdict(order)))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert load(tmp_path / "profile.json") == PROFILE


def test_one_that_ended_is_started_again_after_a_minute_and_ends_with_the_watcher(
    tmp_path, monkeypatch
):
    now_s, told, started = [0.0], [], []
    own = cost_follower.subprocess.Popen

    def popen(command, **options):
        started.append(command)
        code = "import time; time.sleep(60)" if len(started) > 1 else "raise SystemExit(3)"
        return own([sys.executable, "-c", code], **options)

    monkeypatch.setattr(cost_follower.subprocess, "Popen", popen)
    order = FollowOrder("telemetry", "store", "profile.json")
    follower = CostFollower(order, tmp_path / "log", told.append, lambda: now_s[0])
    follower.look_after()
    follower._process.wait()
    now_s[0] = 59.0
    follower.look_after()
    assert len(started) == 1
    now_s[0] = 61.0
    follower.look_after()
    assert len(started) == 2
    assert "ended (code 3)" in told[0]
    process = follower._process
    follower.close()
    assert process.poll() == -signal.SIGTERM
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o600
