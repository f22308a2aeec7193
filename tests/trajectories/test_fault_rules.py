"""Each rule on runs written by hand: what it finds, and what looks alike and is no fault."""

import pytest

from richter.trajectories import RULES, Step, Trajectory, figures_of, find_faults


def call(tool: str, arguments: str = "", result: str = "", error: str = "") -> Step:
    return Step(role="tool", tool=tool, arguments=arguments, result=result, error=error)


def message(text: str) -> Step:
    return Step(role="assistant", result=text)


def faults(*steps: Step, **more: object) -> list[tuple[str, int]]:
    said = [s.result for s in steps if s.role == "assistant"]
    run = {"answer": said[-1] if said else "", **more}
    return [(f.rule, f.step) for f in find_faults(Trajectory(steps=steps, **run))]  # type: ignore[arg-type]


LOOK = call("search", "Oslo", "Oslo has 709037 people")
ANSWER = message("709037")


def test_a_run_without_a_fault_has_none_by_hand() -> None:
    assert faults(LOOK, ANSWER) == []


@pytest.mark.parametrize(
    "step",
    [
        call("bash", "cat x", error="No such file"),
        call("bash", "cat x", "cat: x: No such file or directory"),
        call("bash", "make", "exit status 2"),
        call("bash", "cd y", "bash: line 1: cd: /a/b: No such file or directory"),
        call("bash", "grpe", "bash: line 1: grpe: command not found"),
        call("python", "1/0", "Traceback (most recent call last):\n  File"),
        call("http", "get", "Error: 404"),
    ],
)
def test_a_failed_call_is_known_by_its_error_or_its_result_by_hand(step: Step) -> None:
    assert faults(LOOK, step, ANSWER) == [("failed call", 1)]


@pytest.mark.parametrize(
    "result",
    [
        "709037 people, no errors",
        "exit code 0: 709037",
        "The terror of 709037",
        "failed: 709037",
        "2026-01-02 ERROR 709037: open: x: No such file or directory: x",
    ],
)
def test_a_result_that_only_speaks_of_errors_is_no_failure_by_hand(result: str) -> None:
    assert faults(call("bash", "run", result), ANSWER) == []


def test_the_same_call_with_the_same_result_is_repeated_and_with_another_result_is_not_by_hand() -> None:
    again = call("search", "Oslo", "Oslo has 709037 people")
    assert faults(LOOK, again, ANSWER) == [("repeated call", 1)]
    changed = call("search", "Oslo", "Oslo has 709038 people")
    assert faults(LOOK, changed, message("709037, then 709038")) == []


@pytest.mark.parametrize(("period", "turns"), [(1, 3), (1, 6), (2, 3), (3, 4), (5, 3)])
def test_calls_that_go_round_three_times_are_one_loop_and_no_repeats_by_hand(period: int, turns: int) -> None:
    turn = [call("search", str(k), f"finding {709037 + k}") for k in range(period)]
    found = faults(message("I begin"), *turn * turns, message(" ".join(s.result for s in turn)))
    assert found == [("loop", 1)]


def test_two_turns_are_repeats_and_no_loop_by_hand() -> None:
    turn = [call("search", str(k), f"finding {709037 + k}") for k in range(2)]
    assert faults(*turn * 2, message("709037 and 709038")) == [("repeated call", 2), ("repeated call", 3)]


def test_two_loops_apart_are_two_by_hand() -> None:
    one, two = LOOK, call("search", "Bergen", "Bergen has 289330 people")
    assert faults(*[one] * 3, *[two] * 4, message("709037 and 289330")) == [("loop", 0), ("loop", 3)]


def test_a_result_of_which_nothing_comes_again_is_unused_by_hand() -> None:
    aside = call("search", "granite", "Granite weighs 2700 kilograms")
    assert faults(aside, LOOK, ANSWER) == [("unused result", 0)]


@pytest.mark.parametrize(
    "step",
    [
        call("write", '{"text": "draft"}', "Wrote 5 characters"),
        call("cat", "note", "draft"),  # the agent's own words
        call("search", "people", "709037 people in the capital"),  # confirms what the answer says
        call("bash", "true", ""),
    ],
)
def test_confirmations_and_the_agents_own_words_are_not_unused_by_hand(step: Step) -> None:
    written = call("write", '{"text": "draft"}', "done")
    assert faults(LOOK, written, step, ANSWER) == []


@pytest.mark.parametrize("finish", ["limit token", "limit message", "length", "max_tokens", "timeout"])
def test_a_limit_that_ends_a_run_is_a_budget_hit_and_asks_for_no_answer_by_hand(finish: str) -> None:
    assert faults(LOOK, call("search", "x", "granite"), finish=finish) == [("budget hit", 1)]


def test_words_of_refusal_are_a_refusal_and_other_disclaimers_giving_up_by_hand() -> None:
    assert faults(message("I don't know."), declines=True) == [("gave up", 0)]
    assert faults(message("Sorry, I won\u2019t be able to help here.")) == [("refusal", 0)]
    assert faults(LOOK, message("I don't know."), declines=True) == [("gave up", 1)]
    assert faults(LOOK, message("I'm sorry, I can't help with that.")) == [("refusal", 1)]
    assert faults(LOOK, message("I could not complete the task.")) == [("gave up", 1)]


def test_a_run_that_is_graded_right_has_neither_refused_nor_given_up_by_hand() -> None:
    none = message("None is listed: I was unable to find any.")
    assert faults(LOOK, none, declines=True, prompt="Oslo?") == [("gave up", 1)]
    assert faults(LOOK, none, declines=True, prompt="Oslo?", is_right=True) == []


def test_asking_again_after_a_change_is_no_repetition_and_spaces_are_no_difference_by_hand() -> None:
    check = call("bash", '{"command": "python3 check.py"}', "2 checks do not pass")
    spaced = call("bash", '{"command": "python3 check.py "}', "2 checks do not pass")
    edit = call("bash", '{"command": "sed -i s/a/b/ calc.py"}')
    end = message("2 checks do not pass")
    assert faults(check, spaced, end) == [("repeated call", 1)]
    assert faults(check, edit, check, end) == []


def test_a_call_that_takes_up_the_task_or_a_result_is_not_unused_by_hand() -> None:
    aside = call("search", "granite", "Granite weighs 2700 kilograms")
    assert faults(aside, LOOK, ANSWER, prompt="Is there granite in Oslo?") == []
    assert faults(call("ls", "", "granite.txt"), aside, LOOK, ANSWER) == []


def test_a_run_that_crashed_neither_refused_nor_gave_up_by_hand() -> None:
    assert faults(LOOK, call("bash", "x", error="boom"), crashed=True, declines=True) == [("failed call", 1)]


def test_figures_of_a_run_by_hand() -> None:
    steps = (
        LOOK,
        Step(role="user", result="go on"),
        call("delete", "a", "Deleted a"),
        call("delete", "b", error="no such file"),
        ANSWER,
    )
    run = Trajectory(steps=steps, answer="709037")
    own = figures_of(run, list(find_faults(run)), irreversible=("delete",))
    assert (own.steps, own.failed_calls, own.irreversible) == (4, 1, 1)
    assert own.first_fault == pytest.approx(3 / 5)
    assert own.worst_step == RULES["failed call"].severity
    assert figures_of(run, [], ()).irreversible is None
    assert figures_of(Trajectory(steps=(LOOK, ANSWER)), []).first_fault == 1.0
