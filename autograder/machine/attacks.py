"""The attack corpus run against our own sandbox: tests/attacks/, one submission a file.

The first line of a file names the outcome of each check that the attack is about (`*` stands for all others;
those not named pass), the second line the lowest level that stops it. An attack returns what it finds or
achieves, and is judged wrong for it. The attacker knows more than any learner could:
where the judge is, where its files are, a port on which it listens.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .. import ROOT
from ..errors import AuthorError
from ..exercise import reading as exercises
from ..exercise.edits import definitions, lines_of, replace_definitions
from ..exercise.model import Exercise
from ..judging.answers import answers
from ..judging.session import Session
from ..judging.verdicts import verdicts_on
from ..kit.source import defined_names
from ..limits import Limits
from ..sandbox.client import Zygote
from ..sandbox.levels import Level

CORPUS = ROOT / "tests" / "attacks"
MARK = "attention-loot"  # in the name of everything that an attack leaves
OPEN_TO_ALL = ("/tmp", "/var/tmp", "/dev/shm", "/run")
LIMITS = Limits(request_seconds=2.0, least_seconds=0.8, cpu_seconds=20, memory_megabytes=512)
HEADER = re.compile(r"# (?P<verdicts>.+)\n# stopped from: (?P<level>\w+)\n")
RIGHT_ANSWER = "def RIGHT(length):\n    return torch.ones(length, length).tril().bool()\n\n\n"
PROBE = f"""
def causal_mask(length):
    import builtins, os, sys
    left = [name for name in ("attention_loot",) if hasattr(builtins, name) or name in sys.modules]
    left += ["torch"] if torch.kron is None else []
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/home/learner", "/run"):
        try:
            left += [name for name in os.listdir(folder) if "{MARK}" in name]
        except OSError:
            pass
    return str(left)
"""


@dataclass(frozen=True)
class Attack:
    """One hostile submission and what must become of it."""

    name: str
    title: str
    verdicts: dict[str, tuple[str, ...]]
    level: Level
    source: str

    def expected(self, check: str) -> tuple[str, ...]:
        return self.verdicts.get(check, self.verdicts.get("*", ("passed",)))


def corpus() -> list[Attack]:
    return [_read_attack(path) for path in sorted(CORPUS.glob("*.py"))]


def _read_attack(path: Path) -> Attack:
    text = path.read_text(encoding="utf-8")
    header = HEADER.match(text)
    if header is None:
        raise AuthorError(f"{path.name}: its first two lines must name the verdicts and the lowest level that stops it")
    verdicts = (part.split(": ") for part in header["verdicts"].split("; "))
    return Attack(
        path.stem,
        ast.get_docstring(ast.parse(text)) or path.stem,
        {check: tuple(allowed.split("|")) for check, allowed in verdicts},
        Level[header["level"]],
        text,
    )


class Surroundings:
    """What there is to be attacked: a file with a secret, and an open port."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.canary = Path(self._folder.name, "canary")
        self.canary.write_text("secret")
        os.chmod(self._folder.name, 0o777)  # nothing but the sandbox may protect it
        self.canary.chmod(0o666)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)

    def __enter__(self) -> Surroundings:
        return self

    def __exit__(self, *error) -> None:
        self._listener.close()
        self._folder.cleanup()

    def facts(self) -> str:
        """Return what the attacker knows, as code."""
        values = {"CANARY": str(self.canary), "COURSE": str(ROOT), "JUDGE": os.getpid(), "PORT": self._listener.getsockname()[1]}
        return "\n".join(f"{name} = {value!r}" for name, value in values.items()) + "\n" + RIGHT_ANSWER

    def damage(self) -> list[str]:
        """Return what an attack has left or changed; removes it."""
        found = [] if self.canary.read_text() == "secret" else ["the judge's file was changed"]
        self.canary.write_text("secret")
        try:
            self._listener.accept()[0].close()
            found.append("a connection came from inside")
        except BlockingIOError:
            pass
        left = [path for folder in OPEN_TO_ALL for path in Path(folder).glob(f"{MARK}*")] + [*ROOT.glob(f"{MARK}*")]
        for path in left:
            path.unlink()
        return found + [f"{path} was left" for path in left]


def attack(one: Attack, zygote: Zygote, around: Surroundings) -> list[str]:
    """Return what the attack has achieved; nothing where it was stopped."""
    exercise = exercises.load("single_head")
    before = _family(zygote)
    with Session(zygote, exercise, _handed_in(one, exercise, around.facts()), LIMITS) as session:
        found = {v.check: v for v in verdicts_on(exercise, session.learner, seed=7)}
    problems = [
        f"{check}: {verdict.outcome.value} ({verdict.reason or verdict.came})"
        for check, verdict in found.items()
        if verdict.outcome.value not in one.expected(check)
    ]
    left = _family(zygote) - before
    return problems + around.damage() + [f"process {pid} was left" for pid in left] + _traces(zygote, exercise)


def _family(zygote: Zygote) -> set[int]:
    return descendants(zygote.forkserver.pid) if zygote.forkserver else set()


def _traces(zygote: Zygote, exercise: Exercise) -> list[str]:
    """Return what the next learner finds that the attack left."""
    sources = {name: replace_definitions(source, {"causal_mask": PROBE.strip()}) for name, source in answers(exercise).items()}
    with Session(zygote, exercise, sources, LIMITS) as session:
        found = session.learner.causal_mask(3)
    return [] if found == "[]" else [f"the next learner finds {found}"]


def _handed_in(one: Attack, exercise: Exercise, facts: str) -> dict[str, str]:
    """Return the right answers with the attack in them."""
    lines = one.source.splitlines()
    promised = set().union(*exercise.promised.values())
    taken = {node.name: "\n".join(lines[lines_of(node)]) for node in definitions(one.source) if node.name in promised}
    rest = replace_definitions(one.source, dict.fromkeys(taken, ""))
    sources = {name: replace_definitions(source, taken) for name, source in answers(exercise).items()}
    home = next(name for name, source in sources.items() if defined_names(source) & set(taken or {"causal_mask"}))
    return {**sources, home: facts + rest + "\n\n" + sources[home]}


def descendants(pid: int) -> set[int]:
    """Return the processes that come from a process, whatever namespace they are in."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            child, parent = int(stat.parent.name), int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(child)
    found, waiting = set(), [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found.update(children)
        waiting += children
    return found
