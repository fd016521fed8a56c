"""Run the settings that rows need, side by side, and keep each as soon as it is done."""

from __future__ import annotations

import multiprocessing
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.errors import PenstockError
from penstock_bench.reproduce.count_pairs import pair_figures
from penstock_bench.reproduce.cpu_readings import cpu_figures
from penstock_bench.reproduce.figures import FiguresByName, Told, plan_figures
from penstock_bench.reproduce.paper_fields import COUNT_PAIRS, CPU_READINGS, PLANS, PaperSetting
from penstock_bench.reproduce.paper_file import Paper
from penstock_bench.reproduce.store import FigureStore, key_of

#: How the figures of each kind of setting are found.
_KINDS: dict[str, Callable[[PaperSetting, Told], FiguresByName]] = {
    PLANS: plan_figures,
    CPU_READINGS: cpu_figures,
    COUNT_PAIRS: pair_figures,
}


@dataclass(frozen=True)
class Task:
    """One setting to run, complete: it can be sent to another process."""

    paper: str
    name: str
    setting: PaperSetting

    @property
    def title(self) -> str:
        return f"{self.paper}: {self.name}"


@dataclass(frozen=True)
class Done:
    """What came of a task: figures, or what went wrong."""

    task: Task
    figures: FiguresByName | None
    error: str = ""
    seconds: float = 0.0


@dataclass
class Results:
    """Everything found so far. ``stopped``: somebody did not want to wait for the rest."""

    figures: dict[tuple[str, str], FiguresByName] = field(default_factory=dict)
    errors: dict[tuple[str, str], str] = field(default_factory=dict)
    reused: int = 0
    stopped: bool = False

    def add(self, done: Done) -> None:
        where = (done.task.paper, done.task.name)
        if done.figures is not None:
            self.figures[where] = done.figures
        else:
            self.errors[where] = done.error


def tasks_of(papers: Sequence[Paper]) -> list[Task]:
    """Every setting that some row or table refers to, in the order of the files."""
    tasks = []
    for paper in papers:
        used = {
            name
            for experiment in paper.experiments
            for names in (experiment.settings, *(row.settings for row in experiment.rows))
            for name in names
        }
        tasks += [Task(paper.name, name, s) for name, s in paper.settings.items() if name in used]
    return tasks


def run_task(task: Task) -> Done:
    """The figures of one setting. What goes wrong is told, and the other settings go on."""
    started = time.perf_counter()
    try:
        figures = _KINDS[task.setting.kind](task.setting, lambda _text: None)
    except PenstockError as error:
        return Done(task, None, str(error), time.perf_counter() - started)
    except Exception as error:  # one broken experiment must not take the page with it
        where = traceback.extract_tb(error.__traceback__)[-1]
        failure = f"{error!r} in {where.name}"
        return Done(task, None, failure, time.perf_counter() - started)
    return Done(task, figures, "", time.perf_counter() - started)


def run_tasks(
    tasks: Sequence[Task],
    store: FigureStore,
    *,
    jobs: int = 1,
    again: bool = False,
    seen: Callable[[Done], None] = lambda _done: None,
) -> Results:
    """Run what is not kept yet; ``seen`` is told of each as it ends."""
    results = Results()
    left: list[tuple[str, Task]] = []
    for task in tasks:
        key = key_of(task.paper, task.name, task.setting)
        figures = None if again else store.read(key)
        if figures is None:
            left.append((key, task))
            continue
        results.reused += 1
        results.add(Done(task, figures))
        seen(Done(task, figures))
    keys = {(task.paper, task.name): key for key, task in left}
    try:
        for done in _run([task for _key, task in left], jobs):
            results.add(done)
            if done.figures is not None:
                store.keep(keys[done.task.paper, done.task.name], done.task.name, done.figures)
            seen(done)
    except KeyboardInterrupt:
        results.stopped = True
    return results


def _run(tasks: Sequence[Task], jobs: int) -> Iterator[Done]:
    if jobs <= 1 or len(tasks) <= 1:
        yield from map(run_task, tasks)
        return
    with _pool(jobs) as pool:
        waiting: dict[Future[Done], Task] = {pool.submit(run_task, task): task for task in tasks}
        while waiting:
            ended, _rest = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ended:
                task = waiting.pop(future)
                try:
                    yield future.result()
                except BrokenProcessPool:
                    yield Done(task, None, "its process was killed; is there enough memory?")


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that start afresh, leave Ctrl-C to us, and do not outlive an interruption."""
    fresh = multiprocessing.get_context("spawn")
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, mp_context=fresh, initializer=_leave_interrupts_alone)
    try:
        yield pool
        pool.shutdown()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise


def _leave_interrupts_alone() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
