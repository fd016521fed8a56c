"""The machines of a lab, as they are asked for."""

import pytest

from penstock.engines.lab.cluster import lab_cluster
from penstock.engines.lab.machines import parse_machines
from penstock.errors import InputError


def test_machines_have_names_types_and_cores():
    found = parse_machines("90,50,50,250", cores=6)
    assert [m.name for m in found] == ["m1", "m2", "m3", "m4"]
    assert [m.type for m in found] == ["cpu90", "cpu50", "cpu50", "cpu250"]
    assert [m.cores for m in found] == [1, 1, 1, 3]


@pytest.mark.parametrize("text", ["", "90,", "a", "0", "-5", "nan", "inf"])
def test_what_is_no_list_of_points_is_refused(text):
    with pytest.raises(InputError, match="90,50,30"):
        parse_machines(text, cores=4)


def test_machines_must_fit_and_leave_something():
    parse_machines("90,90", cores=2)
    with pytest.raises(InputError, match="190 points in all do not fit: this computer has 200"):
        parse_machines("90,100", cores=2)


def test_as_a_cluster_like_machines_share_a_type():
    cluster = lab_cluster(parse_machines("90,50,50,250", cores=6))
    assert [t.name for t in cluster.types] == ["cpu90", "cpu50", "cpu250"]
    assert [t.cpu_points for t in cluster.types] == [90.0, 50.0, 250.0]
    assert [t.core_points for t in cluster.types] == [None, None, 100.0]
    assert [m.type for m in cluster.machines] == ["cpu90", "cpu50", "cpu50", "cpu250"]
