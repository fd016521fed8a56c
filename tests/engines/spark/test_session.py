"""A session of Spark on this computer, which others use too."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.engines.listeners import lets_strangers_in, secret_on_a_command_line

from penstock.engines.spark.session import say_ui_address
from penstock.engines.spark.spark_secret import (
    SECRET,
    PageKey,
    authentication,
    new_secret,
    page_key,
)
from penstock.system.private_folder import scratch_folder

pytestmark = pytest.mark.spark
_COUNT = """
from penstock.engines.spark.session import spark_session
with spark_session("local[1]", driver_memory="512m") as spark:
    rows = spark.range(3).mapInPandas(lambda frames: frames, "id long")
    print(rows.count())
"""


def test_a_local_session_does_nothing_for_other_users(spark):
    port = int(spark.sparkContext.getConf().get("spark.driver.port"))
    assert not lets_strangers_in("127.0.0.1", port)


def test_workers_take_no_code_from_the_current_folder(tmp_path):
    theirs = tmp_path / "pyspark"
    theirs.mkdir()
    (theirs / "__init__.py").write_text("open('was-run', 'w').close()\n")
    done = subprocess.run(
        [sys.executable, "-P", "-c", _COUNT],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr
    assert not (tmp_path / "was-run").exists()


def test_a_driver_finds_the_secret_of_the_cluster_it_goes_to():
    scratch = scratch_folder()
    folders = [scratch.make_folder("unit-") for _ in range(2)]
    pages = [PageKey(f"http://127.0.0.1:{i}", bytes([i] * 64)) for i in range(2)]
    try:
        secrets = [new_secret(f, f"spark://127.0.0.1:{i}", pages[i]) for i, f in enumerate(folders)]
        assert secrets[0] != secrets[1]
        for number, secret in enumerate(secrets):
            assert authentication(f"spark://127.0.0.1:{number}")[SECRET] == secret
            assert page_key(f"spark://127.0.0.1:{number}") == pages[number]
            assert secret_on_a_command_line(secret) == []
        assert authentication("spark://127.0.0.1:2") == {}
        assert authentication("spark://elsewhere:0") == {}
        assert authentication("local[2]") == {"spark.authenticate": "true"}
    finally:
        for folder in folders:
            scratch.remove_folder(folder)
    assert authentication("spark://127.0.0.1:0") == {}


@pytest.mark.parametrize(
    ("address", "said"), [("http://h:4040", ["Spark's UI: http://h:4040"]), (None, [])]
)
def test_sparks_pages_are_named_where_they_are_on(address, said):
    words = []
    session = SimpleNamespace(sparkContext=SimpleNamespace(uiWebUrl=address))
    say_ui_address(session, words.append)
    assert words == said
