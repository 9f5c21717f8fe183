"""What every chapter owes its reader, checked on the text."""

import re
import statistics

from tests.book.chapters import BOOK, CHAPTERS, tags
from tests.book.executions import in_the_site

SOLUTIONS = BOOK.parent / "solutions"

# Rows of the tables in the sources' overview that each chapter must hold.
COVERS = {
    "attention": "S02 S03",
    "self_attention": "S01 S02 E11 E15",
    "queries_keys_values": "S03 S04 S05 S09 S10 E03 E07 E08 E09 E12",
    "scaling": "S06 E16",
    "softmax": "S07 S08 S11 E01 E02 E05 E06",
    "multi_head": "S12 S13 S14 E10 E13 E14 E19",
    "real_heads": "",  # no row: the sources ask what heads learn, and multi_head answers for them
    "feed_forward": "S15",
    "positional_encoding": "S16 E18",
    "complexity": "S17 E17",
    "encoder_layer": "S21 E04 E20",
    "alignment": "S22 E22",  # E22: that an encoder's self-attention aligns two languages
    "rotary_positions": "",  # no row: the sources stop at sinusoids
    "generation": "",  # no row: the sources never let a model write
    "sparse": "S18",
    "approximations": "S19",
    "blocks": "S20 S27 E23",  # E23: that attention in blocks, within and between them, saves work
    # E24: that 16-bit storage and 32-bit sums are all of mixed precision; E25: that checkpointing accelerates.
    "precision": "S25 S26 E24 E25",
    "vision": "S23 E26 E28",  # E28: that positions have to be interpolated; E26: that local attention matters more for pictures
    "two_kinds": "S24 E29",  # E29: that words can ask patches as both come from their encoders
    "after_attention": "S34 E27",  # E27: that a state space model is a hybrid
    "smaller_models": "S28 S29 S30 E21",
    "serving": "S31 S32 S33 E31 E32",  # E31: that what is too long can be cut or chunked; E32: that an interface makes a service
}
# The stages of the picture of attention that each chapter is about.
LIT = {
    "attention": "words embedding project compare scale softmax average",
    "self_attention": "compare softmax average",
    "queries_keys_values": "project",
    "scaling": "scale",
    "softmax": "softmax",
    "multi_head": "merge",
    "real_heads": "softmax average merge",
    "feed_forward": "feed_forward",
    "positional_encoding": "position",
    "complexity": "compare average",
    "encoder_layer": "project compare scale softmax average merge feed_forward",
    "alignment": "project softmax average",
    "rotary_positions": "position compare",
    "generation": "project compare average output",
    "sparse": "compare softmax",
    "approximations": "compare softmax average",
    "blocks": "compare softmax average",
    "precision": "compare softmax average",
    "vision": "words embedding position",
    "two_kinds": "compare softmax average",
    "after_attention": "compare softmax average",
    "smaller_models": "project merge output",
    "serving": "words softmax output",
}
WORDS = range(1200, 2501)
LONGEST_CELL, MEDIAN_CELL, LONGEST_LINE = 25, 6, 88


def text_of(notebook) -> str:
    """Return the chapter's text without code, comments and display formulas."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return re.sub(r"\$\$.*?\$\$( \(.*?\))?|^%.*?$", "", text, flags=re.DOTALL | re.MULTILINE)


def words_of(text: str) -> list[str]:
    """Return what a reader reads aloud: no fences, options, table rules or roles."""
    text = re.sub(r"^(:{3,}|:\w+:|\|[-|]+\|).*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\{cite:\w\}`.*?`", "", text)
    return re.findall(r"[\w$][\w$'’.,\\^{}-]*", text)


def shown_code(notebook) -> list[str]:
    """Return the sources of the cells that a reader sees unfolded."""
    folded = {"hide-input", "remove-cell", "remove-input"}
    return [cell.source for cell in notebook.cells if cell.cell_type == "code" and not folded & tags(cell)]


def plots(notebook) -> list:
    """Return the cells that draw."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and "plt.show()" in cell.source]


def boxes(text: str, kind: str) -> list[str]:
    """Return the bodies of the chapter's boxes of one kind."""
    pattern = r"^(:{3,})\{admonition\}[^\n]*\n:class: " + kind + r"\n(.*?)^\1$"
    return [match[1] for match in re.findall(pattern, text, flags=re.DOTALL | re.MULTILINE)]


def raw(chapter: str) -> str:
    """Return the chapter's source."""
    return (BOOK / f"{chapter}.md").read_text(encoding="utf-8")


def test_each_chapter_says_what_it_covers():
    assert set(COVERS) == set(CHAPTERS)


def test_covers_its_rows(chapter):
    marked = set(re.findall(r"^% ([SE]\d\d)\b", raw(chapter), flags=re.MULTILINE))
    assert marked == set(COVERS[chapter].split())


def test_each_mistake_of_the_sources_has_its_box(chapter):
    wrong = [row for row in COVERS[chapter].split() if row.startswith("E")]
    found = boxes(raw(chapter), "correction")
    assert len(found) == len(wrong)
    for box in found:
        assert re.findall(r"% (E\d\d)", box) == [re.search(r":name: correction-(e\d\d)", box)[1].upper()]
        assert all(part in box for part in ("**The claim.**", "**The run.**", "**What is true.**"))


def test_is_one_sitting(notebook):
    assert len(words_of(text_of(notebook))) in WORDS


def test_code_cells_are_short(notebook):
    lengths = [len([line for line in source.splitlines() if line.strip()]) for source in shown_code(notebook)]
    assert max(lengths) <= LONGEST_CELL
    assert statistics.median(lengths) <= MEDIAN_CELL


def test_code_lines_fit_the_page(notebook):
    long = [line for source in shown_code(notebook) for line in source.splitlines() if len(line) > LONGEST_LINE]
    assert not long


def test_plots_are_folded_described_and_captioned(notebook):
    assert plots(notebook)
    for cell in plots(notebook):
        options = cell.metadata["mystnb"]
        assert "hide-input" in tags(cell)
        assert len(options["image"]["alt"]) > 40
        assert options["figure"]["name"].startswith("fig-")
        assert options["figure"]["caption"].strip()


def test_no_computed_number_is_typed(notebook):
    prose = re.sub(r"`[^`]*`|\$[^$]*\$", "", text_of(notebook))
    # "Section 3.2" is a place in a paper; everything else with a decimal point was computed by something.
    assert not [number for number in re.findall(r"\d+\.\d+", re.sub(r"section \d(\.\d)+", "", prose))]


def test_every_glued_number_is_used_and_every_used_one_is_glued(notebook, chapter):
    used = {re.split(":", name)[0] for name in re.findall(r"\{glue:text\}`([^`]+)`", text_of(notebook))}
    outputs = [out for cell in in_the_site(chapter).cells if cell.cell_type == "code" for out in cell.outputs]
    glued = {out.metadata["scrapbook"]["name"] for out in outputs if "scrapbook" in out.get("metadata", {})}
    assert used == glued


def test_shows_the_whole_with_its_own_stages_lit_in_one_line(chapter, notebook):
    (cell,) = [cell for cell in notebook.cells if cell.source.startswith("figures.pipeline(")]
    lit = re.fullmatch(r"figures\.pipeline\((.*)\)", cell.source)[1]
    assert re.findall(r'"(\w+)"', lit) == LIT[chapter].split()
    assert len(cell.metadata["mystnb"]["image"]["alt"]) > 40
    assert cell.metadata["mystnb"]["figure"]["caption"].strip()
    assert notebook.cells.index(cell) < 7


def test_asks_and_answers(notebook):
    questions = boxes(text_of(notebook), "question")
    assert 3 <= len(questions) <= 5
    assert all("{dropdown} Answer" in question for question in questions)


def test_keeps_three_sentences(notebook):
    (kept,) = boxes(text_of(notebook), "keep")
    assert len(re.findall(r"\.(?=\s|$)", kept)) == 3


def test_citations_exist_and_every_reference_is_cited():
    known = set(re.findall(r"^@\w+\{(\S+),", (BOOK / "references.bib").read_text(encoding="utf-8"), flags=re.MULTILINE))
    text = "".join(path.read_text(encoding="utf-8") for path in BOOK.glob("*.md"))
    cited = {key for keys in re.findall(r"\{cite:[a-z]+\}`([^`]+)`", text) for key in keys.split(",")}
    assert cited == known


def test_every_objective_names_what_grades_it(notebook):
    """A check of the exercise that the table's head names, or of another that its row names."""
    (objectives,) = boxes(text_of(notebook), "objectives")
    exercise = re.search(r"check of `(\w+)` \|$", objectives, flags=re.MULTILINE)[1]
    rows = re.findall(r"\| `(\w+)`(?: of `(\w+)`)? \|$", objectives, flags=re.MULTILINE)
    assert len(rows) == len([line for line in objectives.splitlines() if line.startswith("|")]) - 2
    for check, other in rows:
        assert check in checks_of(other or exercise), f"{other or exercise} has no check {check}"


def checks_of(exercise: str) -> set[str]:
    source = SOLUTIONS / exercise / f"{exercise}.py"
    return set(re.findall(r'check="(\w+)"', source.read_text(encoding="utf-8")))
