"""The notebook on the page: findings beside their cells, outputs, and lines of files."""

from __future__ import annotations

from msgspec.structs import replace

from grader.render.html import render_html
from grader.render.html.notebook import LONG, READ, READ_LISTINGS, CellView, Notebook
from grader.report import Cell, CellOutput, CellProblem, Origin, Report, Submission
from tests import sample_reports
from tests.render.html.reading import flat, read
from tests.render.html.samples import everything, png


def views(report: Report) -> list[CellView]:
    notebook = Notebook(report)
    return [notebook.full(cell) for cell in report.cells]


def of_cells(*cells: Cell, **changes: object) -> Report:
    return replace(sample_reports.typical(), cells=cells, **changes)


class TestFindings:
    def test_an_error_is_beside_its_cell_and_its_line_is_marked(self) -> None:
        view = views(everything())[2]
        assert ("Code cell 2, line 3", "failed") == (
            view.findings[0].title,
            view.findings[0].verdict,
        )
        assert ("NameError: name 'conv_w' is not defined",) == view.findings[0].texts
        assert [3] == [line.number for line in view.lines if line.is_marked]

    def test_a_part_is_beside_the_cell_that_it_was_built_in(self) -> None:
        report = sample_reports.typical()
        part = replace(report.parts[2], origin=Origin("sch", 1))
        (view,) = views(
            replace(report, parts=(part,), cells=(Cell("code", "sch = 1", 1),), problems=())
        )
        (finding,) = view.findings
        assert "The convolution, scheduled" == finding.title
        assert ("22.5 of 30", "partial") == (finding.points, finding.verdict)
        assert "Vectorize the innermost loop" in finding.hint
        assert "part-1" == finding.anchor

    def test_a_cell_of_which_nothing_is_said_has_nothing_beside_it(self) -> None:
        assert () == views(everything())[1].findings

    def test_on_the_page_they_are_in_the_cell(self) -> None:
        page = render_html(everything()).decode()
        cell = page.partition('id="cell-2"')[2].partition('id="cell-3"')[0]
        assert "NameError" in cell
        assert 'data-n="3"' in cell.partition("marked")[2][:30]


class TestLines:
    def test_of_a_notebook_every_cell_begins_with_line_one(self) -> None:
        view = views(everything())[2]
        assert [1, 2, 3] == [line.number for line in view.lines]

    def test_of_a_script_they_are_those_of_the_file(self) -> None:
        submission = Submission("a.py", "", 2, 2, starts=(4, 9))
        problem = CellProblem(2, "NameError", "x", 10)
        cells = (Cell("code", "a\nb", 1), Cell("code", "c\nd", 2))
        one, two = views(of_cells(*cells, submission=submission, problems=(problem,)))
        assert [4, 5, 9, 10] == [line.number for line in (*one.lines, *two.lines)]
        assert [False, True] == [line.is_marked for line in two.lines]

    def test_empty_lines_at_the_top_count(self) -> None:
        text = render_html(of_cells(Cell("code", "\n\n\nx = 1", 1))).decode()
        assert 'data-n="4"' in text


class TestOutputs:
    def test_short_ones_are_open_and_long_ones_are_folded(self) -> None:
        short, long = "\n".join("a" * LONG), "\n".join("a" * (LONG + 1))
        cell = Cell("code", "x", 1, None, (CellOutput("stdout", short), CellOutput("stderr", long)))
        (view,) = views(of_cells(cell))
        assert ["", "printed as an error: 19 lines"] == [each.folded for each in view.outputs]

    def test_images_have_their_size_and_a_text(self) -> None:
        cell = Cell("code", "plot()", 1, None, (CellOutput("image", png(64, 48)),))
        page = render_html(of_cells(cell)).decode()
        assert 'width="64" height="48" alt="An image from this cell&#39;s output"' in page

    def test_all_that_a_cell_put_out_is_there(self) -> None:
        text = flat(read(render_html(everything())).text)
        assert "printed: tvm" in text
        assert "error: NameError" in text
        assert "result: <Axes>" in text


class TestReading:
    def test_headings_of_the_notebook_follow_the_page_s(self) -> None:
        tags = read(render_html(everything())).tags
        assert tags.index("h4") > tags.index("h3")

    def test_what_is_too_much_to_read_is_shown_as_it_is(self) -> None:
        cells = (Cell("code", "x = 1\n" * 1000, number) for number in range(1, READ // 5000))
        kinds = [
            {piece.kind for line in view.lines for piece in line.pieces}
            for view in views(of_cells(*cells))
        ]
        assert {"", "n"} == kinds[0]
        assert {""} == kinds[-1]

    def test_two_cells_of_one_number_have_one_place(self) -> None:
        cells = (Cell("code", "a", 1), Cell("code", "b", 1))
        assert ["cell-1", ""] == [view.anchor for view in views(of_cells(*cells))]

    def test_an_empty_cell_has_no_number(self) -> None:
        (view,) = views(of_cells(Cell("code", "")))
        assert ("", None) == (view.label, view.number)


class TestListings:
    def test_code_that_was_shown_is_coloured_and_escaped(self) -> None:
        page = render_html(everything()).decode()
        assert '<span class="k">def</span> <span class="f">f</span>' in page
        assert "1</span> &lt; <span" in page
        assert "code that was shown: @T.prim_func" in flat(read(page.encode()).text)

    def test_more_than_there_is_time_for_is_plain(self) -> None:
        outputs = (CellOutput("listing", "x = 1\n" * 1000),) * (READ_LISTINGS // 6000 + 1)
        (view,) = views(of_cells(Cell("code", "mod.show()", 1, None, outputs)))
        kinds = [{piece.kind for line in each.lines for piece in line} for each in view.outputs]
        assert ({"", "n"}, {""}) == (kinds[0], kinds[-1])

    def test_a_long_one_is_folded(self) -> None:
        output = CellOutput("listing", "\n".join("a" * (LONG + 1)))
        (view,) = views(of_cells(Cell("code", "mod.show()", 1, None, (output,))))
        assert "code that was shown: 19 lines" == view.outputs[0].folded


class TestHandout:
    GIVEN = Cell("markdown", "# One\n```\n# a remark\n```\n## *Two*", given=True)

    def page(self, *cells: Cell, **fields: object) -> str:
        return flat(read(render_html(of_cells(*cells, **fields))).text)

    def test_its_cells_are_folded_under_their_headings(self) -> None:
        cells = (self.GIVEN, Cell("code", "import a", 1, given=True), Cell("code", "mine", 2))
        found = read(render_html(of_cells(*cells)))
        assert "2 cells of the handout: One · Two" in flat(found.text)
        assert [("details", "class", "handout")] == [
            each for each in found.attributes if each[0] == "details"
        ]
        inside = found.tags[found.tags.index("details") : found.tags.index("/details")]
        assert 1 == inside.count("pre") - 1  # the code, and what is fenced in the text

    def test_what_is_said_something_of_is_not_folded(self) -> None:
        cells = (Cell("code", "boom()", 1, given=True), Cell("code", "import a", 2, given=True))
        problems = (CellProblem(1, "NameError", "boom", 1),)
        text = self.page(*cells, problems=problems)
        assert "NameError: boom 1 cell of the handout Code cell 2[2] import a" in text

    def test_own_cells_are_listed_with_what_became_of_them(self) -> None:
        cells = (
            Cell("code", "a", 1),
            Cell("code", "import a", 2, given=True),
            Cell("code", "b", 3),
        )
        report = of_cells(*cells, problems=(CellProblem(3, "NameError", "b", 1),))
        assert [("cell-1", ""), ("cell-3", "failed")] == [
            (each.anchor, each.verdict) for each in Notebook(report).own_cells(cells)
        ]
        assert "Your cells: Code cell 1[1] Code cell 3[3] ✗" in self.page(
            *cells, problems=report.problems
        )

    def test_one_own_cell_needs_no_list(self) -> None:
        assert "Your cells" not in self.page(Cell("code", "a", 1))

    def test_what_does_not_fit_is_not_linked(self) -> None:
        cells = tuple(Cell("code", "x" * 40_000, number) for number in range(1, 120))
        found = read(render_html(of_cells(*cells)))
        inner = {link[1:] for link in found.values("href") if link.startswith("#cell")}
        assert 50 < len(inner) < 119
        assert inner <= set(found.values("id"))
