"""Several judges at a time: the same marks, whatever becomes of a judge."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref

import nbformat
import psutil
import pytest

from autograder.authoring.sample import handed_in
from autograder.grading import grade
from autograder.intake.submission import Submission
from autograder.judging import judge as this_judge
from autograder.judging.answers import answers
from autograder.judging.task import Task, verdicts_from_text
from autograder.kit.outcome import Outcome
from autograder.limits import Limits
from autograder.pages.terminal import progress
from autograder.pool.base import JudgeDied
from autograder.pool.choose import chosen_judges
from autograder.records import journal
from autograder.records.course import Course
from autograder.records.results import Result
from autograder.sandbox import wire
from autograder.sandbox.client import Zygote
from autograder.sandbox.forkserver import ForkServer
from autograder.sandbox.levels import Level
from tests.conftest import ROOT
from tests.marks import everything, small_class


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A small class, graded by one judge."""
    course = Course(tmp_path_factory.mktemp("alone"))
    small_class(course)
    grade(course, ["single_head"])
    return course


@pytest.fixture
def fresh(course, alone):
    """The same class, not graded."""
    shutil.copytree(alone.submitted, course.submitted)
    shutil.copy(alone.root / "seed", course.root / "seed")
    return course


@pytest.mark.parametrize("jobs", [2, 3])
def test_marks_are_the_same_with_any_number_of_judges(fresh, alone, jobs):
    with chosen_judges(jobs, None) as found:
        entries = grade(fresh, ["single_head"], judges=found).entries
    assert sorted(entry.learner for entry in entries) == ["ada", "alan", "barbara", "claude"]
    assert everything(fresh) == everything(alone)


def test_a_judge_that_is_killed_costs_nobody_a_mark(fresh, alone):
    killed = []

    def disturb(entry):
        if not killed and (judging := _judges()):
            killed.append(judging[0].pid)
            judging[0].kill()

    with chosen_judges(2, None) as found:
        grade(fresh, ["single_head"], judges=found, seen=disturb)
    assert killed and everything(fresh) == everything(alone)


@pytest.mark.parametrize("which", ["forkserver", "zygote"])
def test_a_fork_server_or_a_zygote_that_is_killed_costs_nobody_a_mark(fresh, alone, level, which):
    killed = []

    def disturb(entry):
        if not killed and (zygotes := _zygotes(forkserver)):
            killed.append(psutil.Process(forkserver.pid) if which == "forkserver" else zygotes[0])
            killed[0].kill()

    with ForkServer(level) as forkserver, chosen_judges(2, level, forkserver=forkserver) as found:
        grade(fresh, ["single_head"], level=level, judges=found, seen=disturb)
    assert killed and everything(fresh) == everything(alone)


@pytest.fixture
def slow(single_head, level) -> str:
    """A right answer that takes a second, of which one check is to be judged."""
    sources = answers(single_head)
    sources["answer-masks"] = f"import time\ntime.sleep(1)\n{sources['answer-masks']}"
    return Task(Submission("ada", "single_head", sources), ("causal",), 1, Limits(), level).as_text()


def test_a_judge_that_is_killed_costs_only_what_it_was_at(slow):
    with chosen_judges(2, None) as found:
        verdicts_from_text(found.submit(slow).result())
        given = [found.submit(slow) for _ in range(6)]
        while not any(each.done() for each in given):
            time.sleep(0.01)
        time.sleep(0.3)  # both are at their next one
        _judges()[0].kill()
        lost = [each for each in given if isinstance(each.exception(60), JudgeDied)]
        assert len(lost) == 1
        assert all(verdicts_from_text(each.result())[0].outcome is Outcome.PASSED for each in given if each not in lost)
        assert verdicts_from_text(found.submit(slow).result())[0].outcome is Outcome.PASSED


def test_all_judges_killed_one_after_the_other_lose_nothing_that_waited(slow):
    with chosen_judges(2, None) as found:
        verdicts_from_text(found.submit(slow).result())
        given = [found.submit(slow) for _ in range(4)]
        time.sleep(0.3)
        for judge in _judges():
            judge.kill()
        assert sum(isinstance(each.exception(60), JudgeDied) for each in given) == 2


def test_what_no_judge_has_read_keeps_nobody_waiting(slow):
    """It fills the pipe to a judge that is stopped, and then killed."""
    with chosen_judges(2, None) as found:
        verdicts_from_text(found.submit(slow).result())
        stopped = _judges()
        for judge in stopped:
            judge.suspend()
        given = [found.submit(" " * (1 << 20)) for _ in range(9)]
        for judge in stopped:
            judge.kill()
        errors = [each.exception(60) for each in given]
        assert sum(isinstance(error, JudgeDied) for error in errors) == 2
        assert all("JSONDecodeError" in str(error) for error in errors if not isinstance(error, JudgeDied))


def test_what_breaks_in_a_judge_is_reported_and_the_judge_goes_on(slow):
    with chosen_judges(2, None) as found:
        with pytest.raises(RuntimeError, match="JSONDecodeError"):
            found.submit("no task").result()
        assert verdicts_from_text(found.submit(slow).result())[0].outcome is Outcome.PASSED


def test_judges_that_are_ended_leave_what_they_were_given(slow):
    with pytest.raises(KeyError), chosen_judges(2, None) as found:
        given = [found.submit(slow) for _ in range(20)]
        given[0].result()
        raise KeyError
    assert not _judges() and all(each.done() for each in given)


def test_a_judge_that_never_goes_is_ended(fresh, alone):
    """A stopped process hears no request to leave, as one that waits for a lock which a killed one holds."""
    with chosen_judges(2, None) as found:
        grade(fresh, ["single_head"], judges=found)
        stopped, killed = _judges()
        stopped.suspend()
        killed.kill()
    assert not psutil.wait_procs([stopped, killed], timeout=20)[1] and everything(fresh) == everything(alone)


@pytest.mark.parametrize("word", ["while True: pass", "import time; time.sleep(1000)"], ids=["computes", "sleeps"])
def test_no_worker_outlives_its_judge(level, word):
    """Its zygote sees that the judge is gone; where that is gone too, the fork server ends it, and has zygotes for others as before."""
    with ForkServer(level) as forkserver, Zygote(level, forkserver.link) as other:
        for end in (lambda zygote: zygote.close(), lambda zygote: max(_zygotes(forkserver), key=lambda p: p.create_time()).kill()):
            zygote, before = Zygote(level, forkserver.link), set(_below(forkserver))
            worker = zygote.fork(Limits())
            with zygote, worker.link:
                wire.send(worker.link, {"do": "cell", "source": word})
                born = set(_below(forkserver)) - before
                end(zygote)
                assert born and not psutil.wait_procs(born, timeout=20)[1]
        with other.fork(Limits()).link:
            pass


def test_no_judge_takes_a_zygote_from_a_fork_server_of_another_level(level):
    with ForkServer(Level.none) as forkserver:
        this_judge.use_forkserver(forkserver.link)
        try:
            assert this_judge.own_zygote(level).forkserver.level is level
        finally:
            this_judge.close()
            this_judge.use_forkserver(None)


def test_a_mother_of_no_zygotes_ends_by_herself(level):
    """A server that grades now and then keeps one for the next time; whoever comes too late has to start one."""
    with ForkServer(level, idle_seconds=2) as forkserver:
        zygote = Zygote(level, forkserver.link)
        time.sleep(6)
        zygote.fork(Limits()).end()  # it is at work, for however long
        assert forkserver.alive
        zygote.close()
        psutil.Process(forkserver.pid).wait(60)
        assert not forkserver.alive
        this_judge.use_forkserver(forkserver.link)
        try:
            own = this_judge.own_zygote(level)
            assert own.forkserver is not None
            own.fork(Limits()).end()
        finally:
            this_judge.close()
            this_judge.use_forkserver(None)


def _below(forkserver: ForkServer) -> list[psutil.Process]:
    return psutil.Process(forkserver.pid).children(recursive=True)


def _zygotes(forkserver: ForkServer) -> list[psutil.Process]:
    """Return the children of the process that has imported torch: the first below that has any."""
    family = [psutil.Process(forkserver.pid), *_below(forkserver)]
    return next((p.children() for p in family if len(p.children()) > 1), [])


def _judges() -> list[psutil.Process]:
    """Return what the server has forked that forks judges."""
    return [p for p in psutil.Process().children(recursive=True) if _is_forked(p) and _is_forked(p.parent())]


def _is_forked(process: psutil.Process) -> bool:
    try:
        return "multiprocessing.forkserver" in " ".join(process.cmdline())
    except psutil.Error:  # it is gone
        return False


def test_ctrl_c_ends_it_and_the_next_run_goes_on(fresh, single_head):
    _sleeper(fresh, single_head)
    whole = Course(fresh.root.parent / "whole")
    shutil.copytree(fresh.root, whole.root)
    grade(whole, ["single_head"])
    environment = {**os.environ, "ATTENTION_COURSE": str(fresh.root), "PYTHONUNBUFFERED": "1"}
    words = [sys.executable, "-m", "autograder", "grade", "single_head", "--jobs", "2"]
    process = subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_hear_ctrl_c,
    )
    while not list(fresh.root.glob("verdicts/*/*.json")) and process.poll() is None:
        time.sleep(0.01)
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    output = process.communicate(timeout=120)[0]
    assert process.returncode == 130 and output.rstrip().endswith("stopped; what was judged so far is kept"), output
    assert "Traceback" not in output
    assert not psutil.wait_procs(family, timeout=40)[1]
    grade(fresh, ["single_head"])
    assert everything(fresh) == everything(whole)


@pytest.fixture
def ctrl_c():
    """Undo what a shell does to these tests in the background, and do it again."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_is_heard_while_python_forgets_it(alone, ctrl_c, capfd):
    """It prints and forgets what a weak reference's callback raises."""
    done = []
    with pytest.raises(KeyboardInterrupt), progress(3) as seen:
        for learner in ("ada", "alan", "barbara"):
            seen(Result(journal.read_entry(alone, learner, "single_head")))
            done.append(learner)
            reference = weakref.ref(Mark(), lambda _: signal.raise_signal(signal.SIGINT)) if learner == "ada" else None
            assert reference is None or reference() is None
    assert "Traceback" not in "".join(capfd.readouterr())
    assert done == ["ada"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Mark:
    """Something that weak references can point at."""


def _hear_ctrl_c() -> None:
    """Undo what a shell does to a command in the background, and so to these tests and all that they start."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _sleeper(course, exercise) -> None:
    """Hand in one more right answer, so slow that a run cannot end while this test looks."""
    notebook = handed_in(exercise, None)
    cell = next(cell for cell in notebook.cells if cell.id == exercise.answers[0].id)
    cell.source = f"import time\ntime.sleep(4)\n{cell.source}"
    path = course.submitted / "dora" / "single_head" / "single_head.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(nbformat.writes(notebook), encoding="utf-8")


def test_what_no_judge_can_have_is_reported_once(fresh, command, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "2", "--level", "bubblewrap", code=2, alone=True)
    assert "'bubblewrap' is not available here: there is no bwrap command" in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert not list(fresh.root.glob("verdicts/*/*"))


def test_lines_tell_how_far_it_is(fresh, command):
    output = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "2").stdout
    assert [line.split()[0] for line in output.splitlines() if re.match(r"\d of 4  \w+ single_head: ", line)] == ["1", "2", "3", "4"]


def test_nbgrader_judges_ahead_and_gives_the_same_marks(fresh, alone, command):
    command("nbgrader", "generate_assignment", "single_head", "--force", f"--CourseDirectory.release_directory={fresh.root / 'release'}")
    command("nbgrader", "autograde", "single_head")
    from tests.marks import files, marks

    assert marks(fresh) == marks(alone) and files(fresh, "verdicts", "feedback") == files(alone, "verdicts", "feedback")


def test_a_command_begins_without_torch(command):
    """What forks the judges imports it at the same time."""
    command("python", "-c", "import autograder.__main__, sys; assert not {'torch', 'numpy'} & set(sys.modules)")


def test_who_only_enters_marks_needs_no_torch(fresh, command):
    """Judges and what is behind the wall import it meanwhile; the gradebook's side has other things to import."""
    watched = "import sys, runpy; sys.modules['torch'] = None; sys.argv = ['autograder', 'grade', '--jobs', '2', 'single_head']; runpy.run_module('autograder', run_name='__main__')"
    assert "4 of 4" in command("python", "-c", watched).stdout


def test_notebooks_that_are_written_are_notebooks(alone):
    written = [nbformat.read(path, as_version=4) for path in alone.root.glob("autograded/*/*/*.ipynb")]
    assert len(written) == 4
    for notebook in written:
        nbformat.validate(notebook)
