"""Every cheat gains nothing, and the work beside it keeps exactly the points that it is due."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.cheats.fixtures import (
    CELLS,
    FOLDER,
    LEVELS,
    OWN_CELLS,
    Cheat,
    all_cheats,
    fill_in,
    read_header,
    shared_cell,
    split_cells,
)
from tests.cheats.gradings import Gradings
from tests.cheats.host import Host, as_root
from tests.endtoend.batches import LEVEL, require_measured
from tests.expectation import mismatches

LEAST_CHEATS = 423
"""So many there are at least: a folder that is not found must not look like success."""

CHEATS = all_cheats()
NO_CHEATS = [*FOLDER.glob("[!_]*.py"), *CELLS.rglob("*.py")]


def _parameter(cheat: Cheat) -> object:
    marks = [pytest.mark.timed if cheat.is_timed else pytest.mark.graded]
    return pytest.param(cheat, id=f"{cheat.group}/{cheat.name}", marks=marks)


@pytest.mark.parametrize("cheat", [_parameter(cheat) for cheat in CHEATS])
def test_a_cheat_gets_what_it_is_due(cheat: Cheat, grade_all: Gradings) -> None:
    graded = grade_all.result(cheat)
    report = graded.report
    assert report is not None, graded.messages
    assert report.graded is not None, graded.messages
    assert report.sandbox.level == (LEVEL or report.sandbox.level)
    reached = [each.message for each in report.problems if each.error == "Escaped"]
    assert [] == graded.survivors
    assert () == graded.leftovers
    assert graded.intact
    if cheat.is_stopped(report.sandbox.level, as_root=as_root()):
        assert [] == reached
        require_measured(report)
        assert () == mismatches(cheat.expectation, report)
    else:
        assert reached, f"{report.problems} of a cheat that only a stronger sandbox stops"


@pytest.mark.graded
def test_all_of_them_could_be_graded(grade_all: Gradings) -> None:
    for cheat in grade_all.untimed() or [next(each for each in CHEATS if not each.is_timed)]:
        grade_all.result(cheat)
    assert [(0, said) for _, said in grade_all.ends] == grade_all.ends


class TestFolder:
    def test_every_file_of_a_group_is_a_cheat(self) -> None:
        assert set() == {path.suffix for path in FOLDER.rglob("*.*")} - {".py", ".pyc", ".md"}
        assert len(CHEATS) == len(list(FOLDER.rglob("[!_]*.py"))) - len(NO_CHEATS)

    def test_there_are_enough_and_no_name_is_given_twice(self) -> None:
        counts = Counter(cheat.name for cheat in CHEATS)
        assert [] == [name for name, count in counts.items() if count > 1]
        assert len(CHEATS) >= LEAST_CHEATS

    def test_a_description_fits_its_cells(self, subtests: pytest.Subtests) -> None:
        for cheat in CHEATS:
            with subtests.test(cheat.name):
                description = cheat.description
                assert description.about.endswith(".")
                own = [name for name in description.cells if name.startswith(OWN_CELLS)]
                numbered = [f"{OWN_CELLS}{number + 1}" for number in range(len(cheat.own_cells))]
                assert own in ([OWN_CELLS], numbered)
                assert cheat.own_cells
                for name in set(description.cells) - set(own):
                    assert shared_cell(description.assignment, name).is_file()
                if "none" != description.stops_at or description.stops_at_for_root:
                    assert any("Escaped(" in cell for cell in cheat.own_cells)


HEADER = """\
# /// cheat
# about = \"\"\"Nothing is done, \\
#     and that is all.\"\"\"
# assignment = "small"
# cells = ["@"]
#
# [expect]
# score = 10
# ///
# A remark.
"""
CELL = "# %%\npass\n"


class TestHeader:
    def test_it_is_toml_in_comments(self) -> None:
        description = read_header(HEADER + CELL)
        assert "Nothing is done, and that is all." == description.about
        assert 10 == description.expect.score
        assert "none" == description.stops_at

    @pytest.mark.parametrize(
        "line", ['# stop_at = "basic"\n', "# [expect.parts]\n", "# score = \n", '# stops_at = ""\n']
    )
    def test_what_no_description_has_is_an_error(self, line: str) -> None:
        with pytest.raises(ValueError, match=r"unknown field|Invalid"):
            read_header(HEADER.replace("#\n", f"{line}#\n", 1) + CELL)

    @pytest.mark.parametrize(
        "text",
        [
            CELL,
            HEADER,
            CELL + HEADER + CELL,
            HEADER + "left = out\n" + CELL,
            HEADER.replace("# score", "score") + CELL,
            HEADER.replace("# ///\n", "", 1) + CELL,
        ],
    )
    def test_it_stands_whole_before_the_first_cell(self, text: str) -> None:
        with pytest.raises(ValueError, match="does not begin with"):
            read_header(text)


class TestAssembly:
    def test_only_known_names_in_braces_are_replaced(self) -> None:
        text = "f'{port} {x} {{}}'"
        assert "f'80 {x} {{}}'" == fill_in(text, {"port": "80"})

    def test_cells_start_at_percent_signs(self) -> None:
        assert ("a = 1\n", "b = 2\n") == split_cells("# About.\n# %%\na = 1\n# %% two\nb = 2\n")

    def test_a_stronger_level_stops_what_a_weaker_one_stops(self) -> None:
        for cheat in CHEATS:
            for root in (False, True):
                assert cheat.is_stopped("strong", as_root=root)
                stopped = [cheat.is_stopped(level, as_root=root) for level in LEVELS]
                assert sorted(stopped) == stopped


def test_what_cheats_look_for_is_really_there(host: Host) -> None:
    assert host.intact()
    (victim,) = host.survivors(f"time.sleep(3600) {host.marker}")
    assert host.marker in victim
