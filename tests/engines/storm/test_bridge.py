"""The bridge's client, against processes that answer well, badly or not at all."""

import subprocess
import sys
import tempfile

import pytest

from penstock.engines.storm.bridge import Bridge, BridgeError, _settings

ECHO = """
import json, sys
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "fail":
        answer = {"id": request["id"], "ok": False, "kind": "not-allowed", "error": "no"}
    elif request["do"] == "die":
        sys.stderr.write("out of memory"); sys.exit(3)
    elif request["do"] == "sleep":
        continue
    else:
        answer = {"id": request["id"], "ok": True, "result": request}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def bridge():
    started = []
    with tempfile.TemporaryFile() as errors:

        def start():
            process = subprocess.Popen(
                [sys.executable, "-c", ECHO],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            started.append(process)
            return process

        made = Bridge(start, errors, "here")
        made.open()
        yield made
        made.close()
        assert all(process.returncode is not None for process in started)


def test_a_request_and_its_answer(bridge):
    assert bridge.ask("echo", name="é", none=None) == {"id": 1, "do": "echo", "name": "é"}
    assert bridge.ask("echo")["id"] == 2


def test_a_refusal_says_what_kind_it_is_and_the_bridge_goes_on(bridge):
    with pytest.raises(BridgeError, match="here: no") as error:
        bridge.ask("fail")
    assert error.value.kind == "not-allowed"
    assert bridge.ask("echo")["do"] == "echo"


def test_a_bridge_that_ends_says_its_last_words(bridge):
    with pytest.raises(BridgeError, match="ended: out of memory"):
        bridge.ask("die")


def test_no_answer_in_time_is_an_error_and_no_late_answer_is_taken_for_the_next(bridge):
    with pytest.raises(BridgeError, match=r"does not answer to sleep within 0\.2 s") as error:
        bridge.ask("sleep", within_s=0.2)
    assert error.value.kind == "not-reached"
    assert bridge.ask("echo")["id"] == 2


@pytest.mark.parametrize("lost", ["die", "sleep"])
def test_a_bridge_that_was_lost_is_started_again_by_the_next_question(bridge, lost):
    with pytest.raises(BridgeError):
        bridge.ask(lost, within_s=0.2)
    assert bridge.ask("echo", name="again")["name"] == "again"


def test_where_nimbus_is():
    assert _settings("host")["nimbus.thrift.port"] == 6627
    assert _settings("host:7000")["nimbus.seeds"] == ["host"]
    # Where ZooKeeper is, Nimbus says; its own machine is only a guess.
    assert "storm.zookeeper.servers" not in _settings("host")
    for wrong in ("host:", ":1", "host:99999", "host:x"):
        with pytest.raises(BridgeError, match="not a host or host:port"):
            _settings(wrong)
