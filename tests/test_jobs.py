"""Several judges at a time: the same marks, whatever becomes of a judge."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref
from concurrent.futures.process import BrokenProcessPool

import nbformat
import psutil
import pytest

from autograder import jobs, journal, judging
from autograder.course import Course
from autograder.grading import grade
from autograder.jobs import judges
from autograder.limits import Limits
from autograder.sample import handed_in
from autograder.sandbox import wire
from autograder.sandbox.host import Zygote
from autograder.sandbox.levels import Level
from autograder.sandbox.mother import Mother
from autograder.terminal import with_progress
from tests.conftest import ROOT
from tests.marks import everything, small_class


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A small class, graded by one judge."""
    course = Course(tmp_path_factory.mktemp("alone"))
    small_class(course)
    list(grade(course, ["single_head"]))
    return course


@pytest.fixture
def fresh(course, alone):
    """The same class, not graded."""
    shutil.copytree(alone.submitted, course.submitted)
    shutil.copy(alone.root / "seed", course.root / "seed")
    return course


@pytest.mark.parametrize("jobs", [2, 3])
def test_marks_are_the_same_with_any_number_of_judges(fresh, alone, jobs):
    with judges(jobs, None) as executor:
        seen = [learner for learner, _, entry in grade(fresh, ["single_head"], executor=executor) if entry]
    assert sorted(seen) == ["ada", "alan", "barbara", "claude"]
    assert everything(fresh) == everything(alone)


def test_a_judge_that_is_killed_costs_nobody_a_mark(fresh, alone):
    killed = []
    with judges(2, None) as executor:
        for _ in grade(fresh, ["single_head"], executor=executor):
            if not killed and (found := _judges()):
                killed = [found[0].pid]
                found[0].kill()
    assert killed and everything(fresh) == everything(alone)


@pytest.mark.parametrize("kin", ["mother", "zygote"])
def test_a_mother_or_a_zygote_that_is_killed_costs_nobody_a_mark(fresh, alone, level, kin):
    killed = []
    with Mother(level) as mother, judges(2, level, mother=mother) as executor:
        for _ in grade(fresh, ["single_head"], level=level, executor=executor):
            if not killed and (found := _zygotes(mother)):
                killed = [psutil.Process(mother.pid) if kin == "mother" else found[0]]
                killed[0].kill()
    assert killed and everything(fresh) == everything(alone)


def test_half_a_result_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(jobs, "LOOK_SECONDS", 1.0)
    with judges(2, None) as executor:
        executor.submit(len, b"").result()
        this, found = psutil.Process(), _judges()
        before = this.io_counters().read_chars
        half = executor.submit(bytes, 1 << 28)
        while this.io_counters().read_chars < before + (1 << 24):
            pass
        max(found, key=lambda judge: judge.memory_info().rss).kill()
        executor.wait_for([half])
        with pytest.raises(BrokenProcessPool):
            half.result()
        assert executor.submit(len, b"").result() == 0


def test_a_submission_that_no_judge_has_taken_keeps_nobody_waiting(command):
    """It fills the pipe to the judges, and a thread that this process waits for at its end waits for room."""
    command(
        "python",
        "-c",
        """if True:
        from autograder.jobs import judges
        from tests.test_jobs import _judges
        with judges(2, None) as executor:
            executor.submit(len, b"").result()
            found = _judges()
            for judge in found:
                judge.suspend()
            given = [executor.submit(len, b" " * (1 << 20)) for _ in range(9)]
            for judge in found:
                judge.kill()
            executor.wait_for(given[-1:])
    """,
    )


def test_a_judge_that_never_goes_is_ended(fresh, alone):
    """A stopped process hears no request to leave, as one that waits for a lock which a killed one holds."""
    with judges(2, None) as executor:
        list(grade(fresh, ["single_head"], executor=executor))
        stopped, killed = _judges()
        stopped.suspend()
        killed.kill()
    assert not psutil.wait_procs([stopped, killed], timeout=20)[1] and everything(fresh) == everything(alone)


@pytest.mark.parametrize("word", ["while True: pass", "import time; time.sleep(1000)"], ids=["computes", "sleeps"])
def test_no_worker_outlives_its_judge(level, word):
    """Its zygote sees that the judge is gone; where that is gone too, the mother ends it, and has zygotes for others as before."""
    with Mother(level) as mother, Zygote(level, mother.door) as other:
        for end in (lambda zygote: zygote.close(), lambda zygote: max(_zygotes(mother), key=lambda p: p.create_time()).kill()):
            zygote, before = Zygote(level, mother.door), set(_below(mother))
            worker = zygote.fork(Limits())
            wire.send(worker.link, {"do": "begin", "forbidden": []})
            wire.send(worker.link, {"do": "cell", "source": word})
            born = set(_below(mother)) - before
            end(zygote)
            assert born and not psutil.wait_procs(born, timeout=20)[1]
        with other.fork(Limits()).link:
            pass


def test_no_judge_takes_a_zygote_from_a_mother_of_another_level(level):
    with Mother(Level.none) as mother:
        judging.begin(mother.door)
        try:
            assert judging.own_zygote(level).mother.level is level
        finally:
            judging.close()
            judging.begin(None)


def test_a_mother_of_no_zygotes_ends_by_herself(level):
    """A server that grades now and then keeps one for the next time; whoever comes too late has to start one."""
    with Mother(level, idle_seconds=2) as mother:
        zygote = Zygote(level, mother.door)
        time.sleep(6)
        zygote.fork(Limits()).end()  # it is at work, for however long
        assert mother.alive
        zygote.close()
        psutil.Process(mother.pid).wait(60)
        assert not mother.alive
        judging.begin(mother.door)
        try:
            own = judging.own_zygote(level)
            assert own.mother is not None
            own.fork(Limits()).end()
        finally:
            judging.close()
            judging.begin(None)


def _below(mother: Mother) -> list[psutil.Process]:
    return psutil.Process(mother.pid).children(recursive=True)


def _zygotes(mother: Mother) -> list[psutil.Process]:
    """Return the children of the process that has imported torch: the first below that has any."""
    family = [psutil.Process(mother.pid), *_below(mother)]
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
    list(grade(whole, ["single_head"]))
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
    said = process.communicate(timeout=120)[0]
    assert process.returncode == 130 and said.rstrip().endswith("stopped; what was judged so far is kept"), said
    assert "Traceback" not in said
    assert not psutil.wait_procs(family, timeout=40)[1]
    list(grade(fresh, ["single_head"]))
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

    def steps():
        try:
            for learner in ("ada", "alan", "barbara"):
                reference = weakref.ref(Mark(), lambda _: signal.raise_signal(signal.SIGINT)) if learner == "ada" else None
                assert reference is None or reference() is None
                yield learner, "single_head", journal.read(alone, learner, "single_head")
                done.append(learner)
        finally:
            done.append("in order")

    with pytest.raises(KeyboardInterrupt):
        with_progress(steps(), 3)
    assert "Traceback" not in "".join(capfd.readouterr())
    assert done == ["in order"] and signal.getsignal(signal.SIGINT) is signal.default_int_handler


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


def test_what_no_judge_can_have_is_said_once(fresh, command, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    done = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "2", "--level", "bubblewrap", code=2)
    assert "'bubblewrap' cannot be had here: there is no bwrap command" in done.stdout and "Traceback" not in done.stdout + done.stderr
    assert not list(fresh.root.glob("verdicts/*/*"))


def test_lines_tell_how_far_it_is(fresh, command):
    said = command("python", "-m", "autograder", "grade", "single_head", "--jobs", "2").stdout
    assert [line.split()[0] for line in said.splitlines() if re.match(r"\d of 4  \w+ single_head: ", line)] == ["1", "2", "3", "4"]


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
