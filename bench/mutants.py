"""What the checks do with mutants: every answer in which one thing was changed by rule is refused, or comes to the same.

`python -m autograder mutants`, also with `--variants`, says which ones are not, and what has to be done about them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from rich.progress import track

from autograder.authoring.mutant_proof import Proof, proofs
from autograder.authoring.variant_proof import proofs_of_variants
from autograder.exercise import reading as exercises

from .machine import machine, measured_on, versions


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as a part of a page of the book, too.")
def main(page: Path | None) -> None:
    names = exercises.all_names()
    of_references = proofs(names, lambda each: track(each, "references", len(names)))
    text = as_page(of_references, proofs_of_variants(names, lambda each: track(each, "variants", len(names))))
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def as_page(of_references: dict[str, Proof], of_variants: dict[str, Proof]) -> str:
    """Return the results in the book's markup."""
    return "\n".join(_lines(of_references, of_variants)) + "\n"


def _lines(of_references: dict[str, Proof], of_variants: dict[str, Proof]) -> Iterator[str]:
    yield f"{measured_on({'machine': machine(), 'versions': versions()})}."
    yield ""
    yield "Of the reference answers:"
    yield ""
    yield "| exercise | mutants | refused | equivalent | accepted | refused by each check |"
    yield "|---|---:|---:|---:|---:|---|"
    for name, each in of_references.items():
        by_check = ", ".join(f"`{check}` {count}" for check, count in each.refused.items())
        yield f"| `{name}` | {_counts(each)} | {by_check} |"
    yield f"| **all** | {_sums(of_references)} | |"
    yield ""
    yield "Of the right answers in other styles, with each of which the checks were asked until one refused it:"
    yield ""
    yield "| exercise | mutants | refused | equivalent | accepted |"
    yield "|---|---:|---:|---:|---:|"
    for name, each in of_variants.items():
        yield f"| `{name}` | {_counts(each)} |"
    yield f"| **all** | {_sums(of_variants)} |"
    for name in of_references:
        yield from _reasons(name, of_references[name], of_variants[name])


def _reasons(name: str, *found: Proof) -> Iterator[str]:
    # Which mutants these are would show learners lines of the answer.
    counts = Counter(reason for each in found for reason in each.equivalent.values())
    if counts:
        yield ""
        yield f"Why mutants of `{name}` are equivalent, and how many:"
        yield ""
        yield from (f"- {count}: {reason}" for reason, count in counts.items())


def _sums(found: dict[str, Proof]) -> str:
    return " | ".join(map(str, map(sum, zip(*map(_numbers, found.values())))))


def _numbers(proof: Proof) -> tuple[int, int, int, int]:
    accepted, equivalent = len(proof.accepted), len(proof.equivalent)
    return proof.mutants, proof.mutants - accepted - equivalent, equivalent, accepted


def _counts(proof: Proof) -> str:
    return " | ".join(map(str, _numbers(proof)))


if __name__ == "__main__":
    main()
