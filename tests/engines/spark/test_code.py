"""The file with a topology's functions: what fits, and what is said where it does not."""

from pathlib import Path

import pytest
from tests.builders import topology

from penstock.engines.spark.code import code_beside, load_code, shipped_code
from penstock.errors import InputError
from penstock.files import examples

GRAPH = topology("read>rolling-count>store")


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_functions_have_their_components_names(tmp_path):
    path = written(
        tmp_path,
        "streams = {'read': 'a string', 'rolling-count': {'default': 'b bigint'}}\n"
        "state = {'rolling-count': 'a string, n bigint'}\n"
        "def read(rows): return rows\n"
        "def rolling_count(rows, state): return rows, state\n",
    )
    code = load_code(path, GRAPH)
    assert code.works["read"].streams == {"default": "a string"}
    assert code.works["rolling-count"].streams == {"default": "b bigint"}
    assert code.works["store"].function is None  # passes on what comes in
    assert code.stateful == ["rolling-count"]


def test_arrow_is_for_those_who_ask_for_it(tmp_path):
    path = written(
        tmp_path,
        "import pyarrow as pa\nstreams = {'read': 'a string', 'rolling-count': 'a string'}\n"
        "def read(rows: pa.RecordBatch): return rows\n"
        "def rolling_count(rows): return rows\n",
    )
    works = load_code(path, GRAPH).works
    assert works["read"].takes_arrow
    assert not works["rolling-count"].takes_arrow


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("streams = {'raed': 'a string'}", 'no component "raed"; did you mean "read"?'),
        ("state = {'stor': 'a string'}", 'no component "stor"; did you mean "store"?'),
        ("def read(rows): return rows", "say what read puts out"),
        ("streams = ['a']", "must map components to schemas"),
        ("def read(rows:\n", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_what_does_not_fit_is_said_with_the_file(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InputError) as error:
        load_code(path, GRAPH)
    assert message in str(error.value)
    assert str(path) in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"clicks\.py.*no such file"):
        load_code(code_beside(tmp_path / "clicks.yaml"), GRAPH)


@pytest.mark.parametrize(
    "name",
    [
        "wordcount",
        "exclamation",
        "rollingcount",
        "uniquevisitor",
        "topn",
        "linear",
        "diamond",
        "star",
    ],
)
def test_shipped_code_fits_its_topology(name):
    path = shipped_code(name)
    assert path is not None
    graph = examples.load_topology(name)
    works = load_code(path, graph).works
    assert all(work.function is not None for work in works.values())
