"""A mapping of hosts to machine types."""

import pytest

from penstock.errors import InputError
from penstock.files.machine_types import load_machine_types


def test_hosts_and_types_from_yaml_and_json(tmp_path):
    yaml, json = tmp_path / "types.yaml", tmp_path / "types.json"
    yaml.write_text("127.0.0.11: big\nnode-2.example.org: small\n")
    json.write_text('{"127.0.0.11": "big", "node-2.example.org": "small"}')
    expected = {"127.0.0.11": "big", "node-2.example.org": "small"}
    assert load_machine_types(yaml) == load_machine_types(json) == expected


def test_everything_wrong_is_said_at_once(tmp_path):
    path = tmp_path / "types.yaml"
    path.write_text("a: 90\nb: ''\nc: [big]\n")
    with pytest.raises(InputError) as caught:
        load_machine_types(path)
    assert [(f.line, f.field) for f in caught.value.findings] == [(1, "a"), (2, "b"), (3, "c")]
    assert "a: must be text, not 90" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"), [("{}", "names no host"), ("- a", "must be a mapping")]
)
def test_no_mapping_is_refused(tmp_path, text, message):
    path = tmp_path / "types.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_machine_types(path)
