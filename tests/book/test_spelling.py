"""The words of all pages and prompts are spelt right, and in the British way.

The dictionary is American and knows no names. So a British spelling is looked up by its American twin, the twin itself
is refused, and tests/book/words.txt holds the names and technical terms.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from spellchecker import SpellChecker

from tests.book.chapters import BOOK

ROOT = BOOK.parent
WORDS = Path(__file__).with_name("words.txt")
PAGES = sorted(BOOK.glob("*.md"))
PROMPTS = sorted((ROOT / "solutions").glob("*/*.py"))

Line = tuple[int, str]

# What no reader reads as English, in this order; each becomes blanks, so that lines keep their numbers.
NOT_PROSE = [
    re.compile(pattern, re.DOTALL | re.MULTILINE)
    for pattern in (
        r"\A---\n.*?\n---\n",  # the page's own settings
        r"^:{3,}(?:\{[\w-]+\})?",  # the fence of a box; its title stays
        r"^:\w+:.*?$",  # an option of a box
        r"^%.*?$",  # a comment
        r"^\(.*?\)=$",  # a label
        r"^\[[^\]\n]+\]: .*?$",  # an address
        r"\$\$.*?\$\$(?: \(.*?\))?",
        r"\$[^$\n]*\$",
        r"(?:\{[\w:]+\})?(`+)[^`].*?\1",  # code, or a role with what it holds
        r"(?<=\])\([^)\s]*\)",  # where a link leads
        r"https?://\S+",
        r"<[^>\n]*>",
    )
]
# A directive keeps what it holds, a listing doesn't.
FENCED = re.compile(r"^(`{3,})(\{[\w-]+\})?[^\n]*\n(.*?)^\1$", re.DOTALL | re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# A figure's description and caption, among the settings of its cell.
FIGURE_TEXT = re.compile(r"^( +)(?:alt|caption):(.*?\n(?:\1 +\S.*?\n)*)", re.MULTILINE)
# Letters with their apostrophes; a word with a digit or an underscore is a name in code.
WORD = re.compile(r"(?<![\w@#.])[^\W\d_]+(?:['’][^\W\d_]+)*(?![\w])")
LATIN = re.compile(r"[A-Za-zÀ-ſ'’]+")

# British, American, and what may stand before and behind.
TWINS = [
    (r".{2,}", "is", "iz", r"e[drs]?|ers|ing|able|ations?"),
    (r".+", "ys", "yz", r"e[drs]?|ers|ing"),
    (r".*(?:arm|behavi|col|endeav|fav|flav|harb|hon|hum|lab|neighb|rig|rum|sav|vap|vig)", "our", "or", r"s|ed|ing|ful|less|able|hood|ite|"),
    (r"calib|cent|fib|lust|theat", "re", "er", r"s|"),
    (r"cent", "r", "er", r"ed|ing"),
    (r".*(?:trave|labe|mode|cance|leve|signa|channe|tota)", "ll", "l", r"ed|ing|ers?"),
    (r"def|off|pret", "ence", "ense", r"s|"),
    (r"cata|dia", "logue", "log", r"s|"),
    (r"", "artefact", "artifact", r"s|"),
    (r"", "grey", "gray", r"s|er|ed|"),
]
NOT_AMERICAN = re.compile(r"(?:re|cap|over)siz|priz|seiz|maiz")


def american(word: str) -> str:
    """Return the American twin of a British spelling, or the word itself."""
    for before, british, other, behind in TWINS:
        if match := re.fullmatch(f"({before}){british}({behind})", word):
            return match[1] + other + match[2]
    return word


def is_american(word: str) -> bool:
    """Say whether a British spelling has this word for its American twin."""
    spelt = any(re.fullmatch(f"(?:{before}){other}(?:{behind})", word) for before, _, other, behind in TWINS)
    return spelt and not NOT_AMERICAN.match(word)


def blank(match: re.Match) -> str:
    """Return the matched text without its letters, line by line."""
    return re.sub(r"[^\n]", " ", match[0])


def content(match: re.Match) -> str:
    """Return what a directive holds, between blank lines; of a listing only the lines."""
    if not match[2]:
        return blank(match)
    at, end = match.start(3) - match.start(), match.end(3) - match.start()
    return " " * (at - 1) + "\n" + match[0][at:end] + " " * len(match[1])


def figure_texts(cell: re.Match) -> str:
    """Return a code cell with nothing left but the texts of its figure."""
    text, kept = cell[0], [" " if letter != "\n" else letter for letter in cell[0]]
    for match in FIGURE_TEXT.finditer(text):
        kept[match.start(2) : match.end(2)] = match[2]
    return "".join(kept)


def prose(markdown: str) -> list[Line]:
    """Return the numbered lines of a page with nothing left but its prose."""
    text = FENCED.sub(content, CELL.sub(figure_texts, markdown))
    for pattern in NOT_PROSE:
        text = pattern.sub(blank, text)
    return list(enumerate(text.split("\n"), 1))


def prompt(source: str) -> list[Line]:
    """Return the numbered lines of prose in an exercise: its prompts, its docstrings, and its hints."""
    cells = re.sub(r"^(?!# %%|# |#$).*$", "", source, flags=re.MULTILINE)
    is_text, lines = False, []
    for line in cells.split("\n"):
        if line.startswith("# %%"):
            is_text = "[markdown]" in line
            line = ""
        lines.append(re.sub(r"^# ?", "", line) if is_text else "")
    return prose("\n".join(lines)) + list(_strings(ast.parse(source)))


def _strings(tree: ast.Module) -> Iterator[Line]:
    for node in ast.walk(tree):
        is_docstring = isinstance(node, ast.Expr)
        is_hint = isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "hint"
        if (is_docstring or is_hint) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from ((node.lineno + number - 1, line) for number, line in prose(node.value.value))


@pytest.fixture(scope="module")
def dictionary() -> SpellChecker:
    """Return the dictionary; it is only asked what it knows, never what it would suggest."""
    return SpellChecker(distance=1)


@pytest.fixture(scope="module")
def own_words() -> list[str]:
    """Return the names and terms that no dictionary knows."""
    return WORDS.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def wrong(dictionary, own_words):
    """Return a function that gives the misspelt words of numbered lines, each with its line."""
    own = set(own_words)

    def is_right(word: str) -> bool:
        small = word.lower()
        if {word, small} & own or len(word) == 1:
            return True
        return not is_american(small) and (small in dictionary or american(small) in dictionary)

    def find(lines: list[Line]) -> list[tuple[int, str]]:
        found = ((number, word) for number, line in lines for word in words_of(line))
        return [(number, word) for number, word in found if not is_right(word)]

    return find


def words_of(line: str) -> list[str]:
    """Return the line's words in Latin letters, without the s of a genitive."""
    words = (word.replace("’", "'") for word in WORD.findall(line) if LATIN.fullmatch(word))
    return [re.sub(r"'s$|'$", "", word) for word in words]


def test_every_word_of_every_page_and_prompt_is_spelt_right(wrong):
    texts = [(file, prose) for file in PAGES] + [(file, prompt) for file in PROMPTS]
    found = []
    for file, lines_of in texts:
        place = file.relative_to(ROOT)
        found += [f"{place}:{number}: {word}" for number, word in wrong(lines_of(file.read_text(encoding="utf-8")))]
    assert not found, "\n" + "\n".join([*found, f"A name or a technical term goes into {WORDS.relative_to(ROOT)}."])


def test_the_word_list_is_sorted_and_unique(own_words):
    assert own_words == sorted(set(own_words), key=lambda word: (word.casefold(), word))
    assert all(word.strip() == word != "" for word in own_words)
    small = [word.casefold() for word in own_words]
    assert len(set(small)) == len(small)


@pytest.mark.parametrize("word", ["teh", "recieve", "colourr", "normalize", "color", "centered", "modeling", "neighbors", "tokenizers"])
def test_a_wrong_word_is_found(wrong, word):
    assert wrong([(7, f"This {word} is wrong.")]) == [(7, word)]


@pytest.mark.parametrize(
    "word", ["normalise", "colour", "centred", "neighbours", "centre", "modelling", "prize", "promise", "sizes", "doesn’t", "tensor"]
)
def test_a_right_word_is_not(wrong, word):
    assert wrong([(1, f"“{word.capitalize()}”, said *{word}*.")]) == []


PAGE = """---
kernelspec: blabla
---
# Titlle

% S01 blabla

:::{admonition} Boxx
:class: blabla

Two `blabla` and {glue:text}`blabla` with $blabla$ and [a linkk](blabla.md).
:::

```{code-cell} ipython3
---
tags: [blabla]
mystnb:
  image:
    alt: >-
      A figgure.
  figure:
    name: fig-blabla
    caption: Captionn.
---
blabla = 1
```

$$
blabla
$$ (blabla)

```{glossary}
termm
  Meanning.
```

```
blabla
```
"""


def test_only_prose_is_looked_at_and_in_its_place(wrong):
    expected = [(4, "Titlle"), (8, "Boxx"), (11, "linkk"), (20, "figgure"), (23, "Captionn"), (33, "termm"), (34, "Meanning")]
    assert wrong(prose(PAGE)) == expected


def test_an_exercise_is_read_in_its_prompts_docstrings_and_hints(wrong):
    source = '# blabla\n# %% [markdown]\n# A promptt.\n\n# %%\n# blabla\nhint = "A hintt."\n\n\ndef f():\n    """Retturn."""\n'
    assert wrong(prompt(source)) == [(3, "promptt"), (7, "hintt"), (11, "Retturn")]
