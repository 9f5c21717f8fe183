"""How far the names of mistakes can be trusted: each known mistake is judged as if nobody had ever seen it.

What it is named then is some other mistake, so such a name misleads. The share that gets one is what to expect of
mistakes that are not known yet; beside it stands the share of known mistakes that are named when they are known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.progress import track

from autograder.authoring.left_out import left_out
from autograder.authoring.side_by_side import side_by_side
from autograder.exercise import reading as exercises
from autograder.judging.answers import known_learner
from autograder.judging.verdicts import verdicts_on
from autograder.kit.outcome import Outcome

from .machine import machine, measured_on, versions

SEED = 3  # of the hidden tests' inputs


@dataclass(frozen=True)
class Trust:
    """What was found of one exercise."""

    mistakes: int
    named: int  # that get their own name in each check with a wrong answer
    misnamed: dict[str, list[str]]  # by mistake, the names that it is given where it is not among the known ones

    @property
    def row(self) -> str:
        return f"{self.mistakes} | {self.named} | {len(self.misnamed)}"


@click.command(help=__doc__)
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as a part of a page of the book, too.")
def main(page: Path | None) -> None:
    names = exercises.all_names()
    found = dict(zip(names, track(side_by_side(trust, names), "exercises", len(names))))
    text = as_page(found)
    click.echo(text)
    if page:
        page.write_text(text, encoding="utf-8")


def trust(name: str) -> Trust:
    """Return how far names can be trusted in one exercise."""
    unknown = list(left_out(name, SEED))
    misnamed = {each.mistake: sorted(set(each.named.values())) for each in unknown if each.named}
    return Trust(len(unknown), sum(_named(name, each.mistake) for each in unknown), misnamed)


def _named(name: str, mistake: str) -> bool:
    """Return whether a mistake is given its own name wherever it gives a wrong answer."""
    verdicts = verdicts_on(exercises.load(name), known_learner(name, mistake), SEED)
    given = [verdict.mistake and verdict.mistake.name for verdict in verdicts if verdict.outcome is Outcome.WRONG]
    return all(each == mistake for each in given)


def as_page(found: dict[str, Trust]) -> str:
    """Return the results in the book's markup."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: dict[str, Trust]) -> Iterator[str]:
    all_of_it = Trust(
        sum(each.mistakes for each in found.values()),
        sum(each.named for each in found.values()),
        {f"{name}/{mistake}": given for name, each in found.items() for mistake, given in each.misnamed.items()},
    )
    share = 100 * len(all_of_it.misnamed) / all_of_it.mistakes
    yield f"{measured_on({'machine': machine(), 'versions': versions()})}."
    yield ""
    yield "| exercise | known mistakes | named when known | named when left out |"
    yield "|---|---:|---:|---:|"
    for name, each in found.items():
        yield f"| `{name}` | {each.row} |"
    yield f"| **all** | {all_of_it.row} ({share:.1f}%) |"
    if all_of_it.misnamed:
        yield ""
        yield "Those that were left out and named all the same:"
        yield ""
        for mistake, given in all_of_it.misnamed.items():
            yield f"- `{mistake}`: {', '.join(f'`{each}`' for each in given)}"


if __name__ == "__main__":
    main()
