"""Mutated notebooks: real submissions, damaged as bytes, as JSON and as notebooks.

    python -m tests.fuzz.mutants 10000 [seed]

reads that many. Anything but a `Submission` or a `Refused` ends it, with the mutant kept in a file.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from pathlib import Path

from rich.progress import track

from autograder.authoring.sample import sample_class
from autograder.errors import Refused
from autograder.exercise import reading as exercises
from autograder.intake.cells import DEEPEST, LONGEST_CELL, MOST_CELLS
from autograder.intake.matching import found_in
from autograder.intake.reading import read_submission
from autograder.intake.submission import Submission

MOST_STEPS = 3_000_000  # calls and lines of our own Python and what it calls; a sound notebook takes some ten thousand
ODD_TEXTS = (
    "",
    "\0",
    "\ud800",
    "\udfff\ud800",
    "\ufeff",
    "\u202e",
    "a" * (LONGEST_CELL + 1),
    "(" * 5000,
    "-" * 9000 + "1",
    "not " * 4000 + "x",
    "x" + ".a" * 3000,
    "lambda:" * 3000 + "1",
    "x" + "[0]" * 3000,
    "1" + "+1" * 9000,
    "1" + "**1" * 3000,
    "if 1:\n pass\n" + "elif 1:\n pass\n" * 3000,
    "".join(" " * n + "if 1:\n" for n in range(120)),
    "f'{" * 50,
    "9" * 5000,
    "def softmax(x):\n    return x",
    "from x import *",
    "import a.b.c as d, e",
    "class softmax: pass",
    "softmax = causal_mask = 1",
    "%%bash\nls",
    "!rm -rf /",
    "async def softmax(): pass",
    "'\\d'",
    "\r\f\v\t",
    "# %%\n# %% [markdown]\n",
)
ODD_VALUES = (None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**4000, [], {}, [[]], {"": None}, [None, 5, {}], *ODD_TEXTS)
ODD_BYTES = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"[" * 5000,
    b'{"a":' * 5000,
    b'"',
    b"\\",
    b"\\u",
    b"\\ud800",
    b"9" * 6000,
    b"-",
    b"1e999",
    b"NaN",
    b"]",
    b"}",
    b",",
    b"\xef\xbb\xbf",
    b"\n",
)
HEADS = (
    "# a0: &a0 [x, x, x, x, x, x, x, x, x, x]",
    *(f"# a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)),
    "# b: &b [*b, *b]",
    "# <<: [*a0, *a1]",
    "# jupyter: !!python/object/apply:os.system [touch /tmp/pwned]",
    "# jupyter: {jupytext: {text_representation: {extension: .py, format_name: '" + "x" * 3000 + "'}}}",
    "# ? " + "[" * 2000,
    "# kernelspec: 5",
    "# %%",
    "# - - - -",
    "#\t\x85\u2028",
)
OPTIONS = ("[markdown]", "[raw]", "[md] {", "a=1 " * 500, "=" * 2000, "\0", 'title {"grade_id": 5}', "\u2028 nbgrader={}")
GRADE_IDS = ("answer-softmax", "answer-masks", "answer-attention", "softmax", "text-0", "answer-", "../answer-softmax")


def originals() -> list[tuple[str, bytes]]:
    """Return the sample class as (exercise, file)."""
    return [(part.exercise, part.make(exercises.load(part.exercise)).encode("utf-8")) for part in sample_class()]


def mutant(data: bytes, chance: random.Random) -> tuple[str, bytes]:
    """Return a damaged copy of a notebook, and the kind of file that it pretends to be."""
    if chance.random() < 0.2:
        return ".py", _script(data, chance)
    for _ in range(chance.randint(1, 4)):
        data = chance.choice((_bytes, _json, _json, _notebook, _notebook, _beside))(data, chance)
    return chance.choices((".ipynb", ".py"), (9, 1))[0], data


def _bytes(data: bytes, chance: random.Random) -> bytes:
    at, to = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return chance.choice(
        (
            lambda: data[:at],
            lambda: data[:at] + data[to:],
            lambda: data[:at] + data[at:to] * 2 + data[to:],
            lambda: data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :],
            lambda: data[:at] + chance.choice(ODD_BYTES) + data[at:],
            lambda: data[at:] + data[:at],
            lambda: data.decode("utf-8", "replace").encode(chance.choice(("utf-16", "utf-32", "utf-7"))),
        )
    )()


def _json(data: bytes, chance: random.Random) -> bytes:
    """Change a value somewhere in the JSON, if it still is JSON."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return _bytes(data, chance)
    places = [(box, key) for box in _boxes(raw) for key in (box if isinstance(box, dict) else range(len(box)))]
    if not places:
        return _bytes(data, chance)
    box, key = chance.choice(places)
    chance.choice((_replace, _replace, _nest, _remove, _repeat, _swap))(box, key, places, chance)
    return _dumped(raw)


def _boxes(raw) -> list:
    """Return every list and object in the JSON, without recursion."""
    found, queue = [], [raw]
    while queue:
        value = queue.pop()
        if isinstance(value, (dict, list)):
            found.append(value)
            queue += value.values() if isinstance(value, dict) else value
    return found


def _replace(box, key, places, chance: random.Random) -> None:
    box[key] = chance.choice(ODD_VALUES)


def _nest(box, key, places, chance: random.Random) -> None:
    value = box[key]
    for _ in range(chance.choice((1, 10, DEEPEST, DEEPEST * 2))):
        value = [value] if chance.random() < 0.5 else {"a": value}
    box[key] = value


def _remove(box, key, places, chance: random.Random) -> None:
    del box[key]


def _repeat(box, key, places, chance: random.Random) -> None:
    if isinstance(box, list):
        box.extend([box[key]] * chance.choice((1, 10, MOST_CELLS + 1)))
    else:
        box |= {f"{key}{n}": box[key] for n in range(chance.choice((1, 100)))}


def _swap(box, key, places, chance: random.Random) -> None:
    other, place = chance.choice(places)
    try:
        box[key], other[place] = json.loads(json.dumps(other[place])), json.loads(json.dumps(box[key]))
    except (RecursionError, ValueError):
        box[key] = None


def _notebook(data: bytes, chance: random.Random) -> bytes:
    """Change what a reader of notebooks looks at: sources, names, kinds and the format."""
    try:
        raw = json.loads(data)
        cell = chance.choice(raw["cells"])
        cell["metadata"], cell["source"], cell["cell_type"]
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return _json(data, chance)
    chance.choice(
        (
            lambda: cell.update(source=chance.choice(ODD_TEXTS)),
            lambda: cell.update(source=[chance.choice(ODD_VALUES) for _ in range(3)]),
            lambda: cell.update(source=f"{cell['source']}{chance.choice(ODD_TEXTS)}"),
            lambda: cell.update(id=chance.choice((*GRADE_IDS, *ODD_VALUES))),
            lambda: cell.update(
                metadata={"nbgrader": chance.choice(({"grade_id": chance.choice((*GRADE_IDS, *ODD_VALUES))}, *ODD_VALUES))}
            ),
            lambda: cell.update(cell_type=chance.choice(("code", "markdown", "raw", None, 5, {}))),
            lambda: raw.update(nbformat=chance.choice((1, 2, 3, 4, 4.5, "4", None, True, 99, [4]))),
            lambda: raw["cells"].append(cell),
            lambda: raw["cells"].remove(cell),
            lambda: chance.shuffle(raw["cells"]),
        )
    )()
    return _dumped(raw)


def _beside(data: bytes, chance: random.Random) -> bytes:
    """Change what no reader of ours should look at: outputs, attachments and metadata, of the wrong kind or far too many."""
    try:
        raw = json.loads(data)
        boxes = [raw, *(cell for cell in raw["cells"] if isinstance(cell, dict))]
    except (ValueError, RecursionError, LookupError, TypeError):
        return _json(data, chance)
    for key in chance.sample(("outputs", "attachments", "metadata", "execution_count", "nbformat_minor", "worksheets", "id"), 2):
        value = chance.choice(ODD_VALUES)
        many = chance.choice((1, 3, 3000))
        chance.choice(boxes)[key] = chance.choice(
            (value, [value] * min(many, 3), [{"output_type": "stream", "a": 1}] * many, {"nbgrader": [None] * many})
        )
    return _dumped(raw)


def _script(data: bytes, chance: random.Random) -> bytes:
    """Return a notebook as a script, with YAML or the like at its head, and marks of cells that are not as they should be."""
    try:
        cells = [(cell["id"], "".join(cell["source"])) for cell in json.loads(data)["cells"] if cell["cell_type"] == "code"]
    except (ValueError, LookupError, TypeError):
        return _bytes(data, chance)
    lines = [
        chance.choice(("", "# ---", "\ufeff# ---", "# ...")),
        *chance.choices(HEADS, k=chance.randrange(6)),
        chance.choice(("# ---", "# ...", "")),
    ]
    percent = chance.random() < 0.7
    for name, source in cells:
        name = chance.choice((name, name, name, chance.choice(GRADE_IDS), '"', "\\", "x" * 200))
        options = chance.choice(
            (f'nbgrader={{"grade_id": "{name}"}}', f'nbgrader={{"grade_id": "{name}"', "nbgrader=*a0", '{"a":' * 500, *OPTIONS)
        )
        lines += [
            f"# {chance.choice(('%%', '%%', '%%%', '%') if percent else ('+', '+', '-', '++'))} {options}",
            chance.choice((source, source, *ODD_TEXTS)),
        ]
    text = chance.choice(("\n", "\n", "\r\n", "\r")).join(lines).encode("utf-8", "surrogatepass")
    return text if chance.random() < 0.7 else _bytes(text, chance)


def _dumped(raw) -> bytes:
    try:
        return json.dumps(raw).encode()
    except (ValueError, RecursionError):
        return b"[" * 2000


def read_here(path: Path, learner: str, exercise) -> Submission:
    """Read in this process, where an error that nobody expected is seen as what it is, and steps are counted."""
    return read_submission(path, learner, exercise, found_in)


class Deadline(Exception):
    """Reading took more steps than any notebook may."""


def outcome(path: Path, exercise, reader=read_here) -> str:
    """Return "read", or why it was refused; raises whatever else the reader raises, and `Deadline`."""
    steps = 0

    def count(frame, event, arg):
        nonlocal steps
        steps += 1
        if steps > MOST_STEPS:
            raise Deadline(f"more than {MOST_STEPS} steps")
        return count

    sys.settrace(count)
    try:
        submission = reader(path, "ada", exercise)
    except Refused as refusal:
        assert refusal.where and refusal.what and refusal.todo and str(refusal).isprintable(), repr(str(refusal))
        return refusal.what
    finally:
        sys.settrace(None)
    check(submission, exercise)
    return "read"


def check(submission: Submission, exercise) -> None:
    """Raise if what was read holds anything but sources of the exercise's answer cells, fit to be written."""
    names = {cell.id for cell in exercise.answers}
    assert set(submission.answers) <= names and set(submission.notes) <= names
    for source in submission.answers.values():
        assert type(source) is str and len(source) <= LONGEST_CELL
        source.encode("utf-8")
    assert all(name.isidentifier() or name == "*" for name in submission.lost_names), submission.lost_names


def fuzz(count: int, seed: int, folder: Path, steps=iter, reader=read_here) -> dict[str, int]:
    """Read so many mutants; return how often each thing happened. The first that breaks the rule is kept in `folder`."""
    sources, seen = originals(), {}
    for number in steps(range(count)):
        chance = random.Random(f"{seed} {number}")
        name, data = chance.choice(sources)
        kind, data = mutant(data, chance)
        path = folder / f"{name}{kind}"
        path.write_bytes(data)
        try:
            what = outcome(path, exercises.load(name), reader)
        except BaseException as error:
            kept = path.rename(folder / f"mutant-{seed}-{number}{kind}")
            error.add_note(f"mutant {number} of seed {seed}: {kept}")
            raise
        path.unlink()
        what = re.sub(r"\d+", "N", what.split(":")[0])
        seen[what] = seen.get(what, 0) + 1
    return seen


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    print(f"{count} mutated notebooks, seed {seed}", flush=True)
    seen = fuzz(count, seed, Path(tempfile.mkdtemp(prefix="mutants-")), lambda numbers: track(numbers, "reading"))
    for what, times in sorted(seen.items(), key=lambda each: -each[1]):
        print(f"{times:7}  {what}")


if __name__ == "__main__":
    main()
