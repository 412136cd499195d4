"""Names that are typed: whose a layout is, how grades are written, what a student is known by."""

from collections.abc import Mapping
from typing import Literal, get_args

Layout = Literal[
    "blackboard",  # before Canvas: of `L_1_2026_attempt_...` it would take the 1 for the user
    "canvas",
    "moodle",
    "gradescope",
    "brightspace",
    "classroom",
    "nbgrader",
    "folders",
]
LAYOUTS: tuple[Layout, ...] = get_args(Layout)

Form = Literal["csv", "json", "canvas", "moodle", "brightspace", "gradescope", "classroom"]
"""How grades are written."""
FORMS: tuple[Form, ...] = get_args(Form)

Packed = Literal["moodle", "canvas", "nbgrader"]
"""For whom students' pages are packed."""
PACKED: tuple[Packed, ...] = get_args(Packed)

Key = Literal[
    "canvas",
    "moodle",
    "moodle_user",
    "lti",
    "gradescope",
    "brightspace",
    "sid",
    "email",
    "user",
    "login",
    "folder",
    "number",
]
"""What a student can be known by, beside a name. `folder` may be any of the others, and `number`
one of Canvas: it is from a roster's column ID, which may as well hold numbers of the university.
`moodle` is a participant's number in one assignment, `moodle_user` the user's in the whole site.
`lti` is the user's id that an LMS tells its tools."""

OwnApi = Literal["canvas", "moodle"]
"""Systems that are asked by their own API."""

Platform = Literal["canvas", "moodle", "lti"]
"""Systems that are asked by an API: others than those two by that of LTI Advantage."""

PLATFORM_NAMES: Mapping[Platform, str] = {"canvas": "Canvas", "moodle": "Moodle", "lti": "LTI"}

ENDINGS: Mapping[Layout, tuple[str, Key]] = {
    "classroom": ("-", "login"),
    "blackboard": ("_", "user"),
}
"""Layouts whose names end in what a student is known by: what stands before that, and the key."""
