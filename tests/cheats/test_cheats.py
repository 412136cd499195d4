"""Every cheat gains nothing, and the work beside it keeps exactly the points that it is due."""

from __future__ import annotations

from collections import Counter

import pytest

from grader.authoring.expectation import mismatches
from tests.cheats.fixtures import (
    LEVELS,
    OWN_CELLS,
    Cheat,
    all_cheats,
    fill_in,
    group_folders,
    shared_cell,
    split_cells,
)
from tests.cheats.gradings import Gradings
from tests.cheats.host import Host, as_root
from tests.endtoend.batches import LEVEL

LEAST_CHEATS = 200
"""So many there are at least: a folder that is not found must not look like success."""

CHEATS = all_cheats()


def _parameter(cheat: Cheat) -> object:
    marks = [pytest.mark.timed if cheat.is_timed else pytest.mark.graded]
    return pytest.param(cheat, id=f"{cheat.group}/{cheat.name}", marks=marks)


@pytest.mark.parametrize("cheat", [_parameter(cheat) for cheat in CHEATS])
def test_a_cheat_gets_what_it_is_due(cheat: Cheat, grade_all: Gradings) -> None:
    graded = grade_all.result(cheat)
    report = graded.report
    assert 0 == graded.code, graded.messages
    assert report is not None
    assert report.sandbox.level == (LEVEL or report.sandbox.level)
    reached = [each.message for each in report.problems if each.error == "Escaped"]
    if cheat.is_stopped(report.sandbox.level, as_root=as_root()):
        assert [] == reached
        assert () == mismatches(cheat.expectation, report)
    else:
        assert reached, f"{report.problems} of a cheat that only a stronger sandbox stops"
    assert [] == graded.survivors
    assert () == graded.leftovers
    assert graded.intact


class TestFolder:
    def test_every_cheat_has_both_of_its_files(self) -> None:
        for folder in group_folders():
            names = {suffix: _names(folder.glob(f"*{suffix}")) for suffix in (".py", ".toml")}
            assert names[".toml"] == names[".py"] - {"__init__"}

    def test_there_are_enough_and_no_name_is_given_twice(self) -> None:
        counts = Counter(cheat.name for cheat in CHEATS)
        assert [] == [name for name, count in counts.items() if count > 1]
        assert len(CHEATS) >= LEAST_CHEATS

    @pytest.mark.parametrize("cheat", [pytest.param(each, id=each.name) for each in CHEATS])
    def test_a_description_fits_its_cells(self, cheat: Cheat) -> None:
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


def _names(paths: object) -> set[str]:
    return {path.stem for path in paths}  # type: ignore[attr-defined]
