"""What the checks do with mutants: every answer in which one thing was changed by rule is refused, or comes to the same.

`python -m autograder mutants` says which ones are not, and what has to be done about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from rich.progress import track

from autograder.authoring.mutant_proof import Proof, proofs
from autograder.exercise import reading as exercises

from .machine import machine, measured_on, versions


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as a part of a page of the book, too.")
def main(page: Path | None) -> None:
    names = exercises.all_names()
    text = as_page(proofs(names, lambda each: track(each, "exercises", len(names))))
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def as_page(found: dict[str, Proof]) -> str:
    """Return the results in the book's markup."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Proof]) -> Iterator[str]:
    yield f"{measured_on({'machine': machine(), 'versions': versions()})}."
    yield ""
    yield "| exercise | mutants | refused | equivalent | accepted | refused by each check |"
    yield "|---|---:|---:|---:|---:|---|"
    for name, each in found.items():
        by_check = ", ".join(f"`{check}` {count}" for check, count in each.refused.items())
        yield f"| `{name}` | {_counts(each)} | {by_check} |"
    yield f"| **all** | {' | '.join(map(str, map(sum, zip(*map(_numbers, found.values())))))} | |"
    for name, each in found.items():
        if each.equivalent:
            yield ""
            yield f"Why mutants of `{name}` are equivalent, and how many:"
            yield ""
            # Which mutants these are would show learners lines of the answer.
            for reason, count in Counter(each.equivalent.values()).items():
                yield f"- {count}: {reason}"


def _numbers(proof: Proof) -> tuple[int, int, int, int]:
    accepted, equivalent = len(proof.accepted), len(proof.equivalent)
    return proof.mutants, proof.mutants - accepted - equivalent, equivalent, accepted


def _counts(proof: Proof) -> str:
    return " | ".join(map(str, _numbers(proof)))


if __name__ == "__main__":
    main()
