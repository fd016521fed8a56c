"""A machine is held to its points once what runs on it is warm."""

from dataclasses import dataclass, field

from penstock.engines.lab.limits import HeldBack


@dataclass
class Group:
    alive: list[int] = field(default_factory=list)
    limits: list[float | None] = field(default_factory=list)

    def processes(self):
        return self.alive

    def limit(self, points):
        self.limits.append(points)


def held(group, programs):
    clock = [0.0]
    made = HeldBack(group, 50.0, 10.0, lambda: clock[0], lambda p: programs.get(p, ""))
    return made, clock


def test_a_new_program_has_time_to_warm_up():
    group = Group([1])
    made, clock = held(group, {1: "java"})
    made.look()
    assert group.limits == []
    clock[0] = 9.9
    made.look()
    assert not made.is_limited
    clock[0] = 10.0
    made.look()
    assert (group.limits, made.is_limited) == ([50.0], True)


def test_a_second_program_lifts_the_limit_for_a_while():
    group = Group([1])
    made, clock = held(group, {1: "java", 2: "java"})
    made.look()
    clock[0] = 20.0
    made.look()
    group.alive.append(2)
    made.look()
    assert group.limits == [50.0, None]
    clock[0] = 30.0
    made.look()
    assert group.limits == [50.0, None, 50.0]


def test_what_programs_fork_lifts_nothing():
    group = Group([1])
    made, clock = held(group, {1: "java", 2: "python3"})
    made.look()
    clock[0] = 20.0
    made.look()
    group.alive.append(2)
    made.look()
    assert group.limits == [50.0]


def test_an_empty_machine_is_limited():
    group = Group()
    made, _ = held(group, {})
    made.look()
    assert group.limits == [50.0]
