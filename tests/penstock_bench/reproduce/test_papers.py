"""The declarations: every figure of the papers has a row, and wrong ones are refused."""

from __future__ import annotations

import pytest

from penstock import schedulers
from penstock.errors import InputError, UnknownNameError
from penstock.files.document import document_of
from penstock.report.provenance import Provenance
from penstock_bench.benchmarks.results import RESULTS_FOLDER, SuiteRun, runs_text
from penstock_bench.benchmarks.suite import FigureTable, Report
from penstock_bench.reproduce.kept import kept_figure
from penstock_bench.reproduce.paper_fields import PLANS, KeptMeasure
from penstock_bench.reproduce.paper_file import paper_from
from penstock_bench.reproduce.papers import PAPERS, load_paper, papers_named
from penstock_bench.reproduce.setting import problem_of

#: The list of published figures that must be on the page, and the experiments that show them.
PUBLISHED = {
    "CPU prediction error, worst": [("nasiri", "cpu-prediction")],
    "Table 3, costs": [("nasiri", "profile")],
    "hetero vs default, measured": [("nasiri", "testbed-throughput")],
    "hetero vs default and optimal by topology": [("nasiri", "testbed-throughput")],
    "simulator vs measured by topology": [("nasiri", "testbed-throughput")],
    "utilisation on the testbed": [("nasiri", "testbed-utilisation")],
    "RollingCount and UniqueVisitor instances": [("nasiri", "instance-pairs")],
    "scenario 1, instances and gain": [("nasiri", "instance-counts"), ("nasiri", "scenario-small")],
    "scenario 2, instances and gain": [
        ("nasiri", "instance-counts"),
        ("nasiri", "scenario-medium"),
    ],
    "scenario 3, instances and gain": [("nasiri", "instance-counts"), ("nasiri", "scenario-large")],
    "Table 5": [("nasiri", "gain-ratios")],
    "R-Storm, network bound": [("rstorm", "network-bound")],
    "R-Storm, compute bound": [("rstorm", "compute-bound")],
    "R-Storm, PageLoad and Processing": [("rstorm", "yahoo"), ("rstorm", "together")],
    "R-Storm's cluster": [("rstorm", "cluster")],
    "Lc-Stream, latency": [("lcstream", "latency")],
    "Lc-Stream, throughput": [("lcstream", "throughput")],
    "Lc-Stream, energy and sleeping servers": [("lcstream", "energy")],
    "Lc-Stream's cluster": [("lcstream", "cluster")],
    "thesis, Table 4.1": [("thesis", "cluster")],
    "thesis, WordCount": [("thesis", "wordcount-throughput"), ("thesis", "wordcount-nodes")],
    "thesis, Exclamation": [
        ("thesis", "exclamation-throughput"),
        ("thesis", "exclamation-nodes"),
    ],
}
#: Published numbers that must stand in some row of an experiment.
NUMBERS = {
    ("nasiri", "testbed-throughput"): {44, 19, 7, -2, -4, -3, 12, 13, 6, 16558, 20345, 21193}
    | {15596, 16811, 17331, 14832, 15134},
    ("nasiri", "gain-ratios"): {1.41, 2.67, 1.15, 1.03, 1.17, 2.68, 1.95, 1.52},
    ("nasiri", "scenario-small"): {26, 49, 10, 35},
    ("nasiri", "scenario-medium"): {36, 48, 31, 47},
    ("nasiri", "scenario-large"): {27, 31, 10, 21},
    ("nasiri", "instance-counts"): {3, 7, 12, 5, 9, 10, 41, 42, 35, 67, 15, 46, 45, 34, 25}
    | {201, 156, 341, 397, 208, 91, 327, 206},
    ("rstorm", "cluster"): {12, 2, 1, 3, 100, 4},
    ("lcstream", "cluster"): {27},
    ("thesis", "cluster"): {9, 148317, 65384, 40918},
    ("rstorm", "network-bound"): {50, 30, 47},
    ("rstorm", "compute-bound"): {6, 7, 69, 91, 350},
    ("rstorm", "together"): {25496, 16695, 67115},
    ("lcstream", "latency"): {-30.7, -16.7, -35, -19, -28.5, -15.5, -21.5, -5, -19.1, -5.9},
    ("lcstream", "throughput"): {47, 34.8, 37, 21.7, 15.8, 21},
    ("lcstream", "energy"): {-17.7, 12},
    ("thesis", "wordcount-throughput"): {8, 4, 5, 28, 24, 25, 200},
    ("thesis", "exclamation-throughput"): {2, 23, 3, 112, 4, 9},
    ("thesis", "wordcount-nodes"): {-40, -33, -58, -60, 100},
}


def experiments():
    return {(p.name, e.id): e for p in papers_named("all") for e in p.experiments}


@pytest.mark.parametrize("what", PUBLISHED)
def test_every_published_figure_has_an_experiment(what):
    assert [where for where in PUBLISHED[what] if where not in experiments()] == []


def test_every_experiment_stands_for_a_published_figure():
    listed = {where for places in PUBLISHED.values() for where in places}
    assert set(experiments()) == listed


@pytest.mark.parametrize("where", NUMBERS, ids="/".join)
def test_every_published_number_stands_in_a_row(where):
    found = set()
    for row in experiments()[where].rows:
        published = row.published
        found |= {published.value, published.least, published.most, *published.values}
    assert found >= NUMBERS[where]


def test_every_plan_has_default_the_papers_own_and_penstock():
    for paper in papers_named("all"):
        for name, setting in paper.settings.items():
            if setting.kind != PLANS:
                continue
            labels = {use.shown for use in setting.uses}
            assert labels >= {"default", "penstock", *paper.proposes}, f"{paper.name} {name}"


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPERS)
def test_every_setting_makes_a_problem_and_its_schedulers_are_known(name):
    for setting in load_paper(name).settings.values():
        assert problem_of(setting).has_rates
        for use in setting.uses:
            schedulers.get(use.name)


def test_every_row_that_is_not_an_exact_claim_has_its_reason_ready():
    """A row whose number comes from a measurement says why it may come out otherwise."""
    silent = [
        f"{name}/{id_}: {row.what}"
        for (name, id_), experiment in experiments().items()
        for row in experiment.rows
        if not (row.why or row.remark) and id_ != "cluster"
    ]
    assert silent == []


def test_kept_rows_point_to_a_cell_that_is_there():
    for experiment in experiments().values():
        for row in experiment.rows:
            if isinstance(row.measure, KeptMeasure):
                assert kept_figure(row.measure, RESULTS_FOLDER) is not None


def _keep(folder, cell):
    """A file of results with one table of one cell."""
    table = FigureTable("T, more", ["", "c"], [["r", cell]])
    run = SuiteRun("x", Provenance("penstock bench x", "today", "here"), Report([], [table], []))
    (folder / "a.json").write_text(runs_text([run]))


def test_a_kept_file_that_is_not_here_gives_no_figure(tmp_path):
    measure = KeptMeasure("kept", "a.json", "T", "r", "c", "penstock bench x")
    assert kept_figure(measure, tmp_path) is None
    _keep(tmp_path, "4.5 %")
    assert kept_figure(measure, tmp_path) == 4.5


def test_a_kept_file_without_the_cell_is_an_error(tmp_path):
    _keep(tmp_path, "x")
    with pytest.raises(InputError, match='"x" is no number'):
        kept_figure(KeptMeasure("kept", "a.json", "T", "r", "c", "x"), tmp_path)
    with pytest.raises(InputError, match="has no cell"):
        kept_figure(KeptMeasure("kept", "a.json", "T", "other", "c", "x"), tmp_path)


def test_an_unknown_paper_is_named_with_those_there_are():
    with pytest.raises(UnknownNameError, match='did you mean "nasiri"'):
        papers_named("nasir")


def small_paper(**row):
    """A paper of one setting and one row; ``row`` changes the row."""
    change = {"kind": "change", "figure": "rate_per_s", "of": ["hetero"], "against": "default"}
    given = {"what": "gain", "measure": change, "published": {"value": 5}, "within": 1.0} | row
    return {
        "format": "penstock/paper",
        "version": 1,
        "name": "small",
        "title": "A small paper",
        "proposes": ["hetero"],
        "headline": "one",
        "settings": {
            "one": {
                "topology": ["linear"],
                "cluster": "nasiri-testbed",
                "schedulers": ["default", "hetero"],
            }
        },
        "experiments": [
            {"id": "e", "source": "Fig. 1", "title": "t", "settings": ["one"], "rows": [given]}
        ],
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"settings": ["two"]}, 'no setting "two"'),
        ({"within": None}, "how near is near enough"),
        ({"published": {}}, "give one of value"),
        ({"published": {"value": 1, "sign": "more"}}, "give one of value"),
        ({"settings": ["one", "one"]}, "several settings against one value"),
        (
            {
                "measure": {
                    "kind": "change",
                    "figure": "x",
                    "of": ["hetreo"],
                    "against": "default",
                }
            },
            'no scheduler in setting one "hetreo"; did you mean "hetero"',
        ),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_row_that_cannot_be_judged_is_refused_with_its_place(row, message):
    with pytest.raises(InputError) as refused:
        paper_from(document_of(small_paper(**row), "small.yaml"))
    assert message in str(refused.value)
    assert "experiments[0].rows[0]" in str(refused.value)


def test_a_right_paper_is_read():
    assert paper_from(document_of(small_paper(), "small.yaml")).experiments[0].id == "e"
