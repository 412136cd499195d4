"""The built-in set: drawn images and the parameters that were trained on such drawings.

It needs no network and no files but the package's own. `tools/train_builtin.py` made the
parameters.
"""

from __future__ import annotations

from importlib.resources import files

from grader.data.dataset import DataSet
from grader.data.drawing import draw_images
from grader.data.parameters import KNOWN, Parameters, decode_parameters
from grader.errors import DataError
from grader.language import Text, say

TEST_SEED = 2026

TEST_COUNT = 499
"""Number of test images. Batches of four leave a remainder, as in the real images at hand."""

_ALONE = say("{count} synthetic images drawn by the grader, because {reason}.")
_TRAINED = say(
    "{count} synthetic images drawn by the grader, with parameters trained on such images, because"
    " {reason}."
)


def builtin_data(parameter_file: str, reason: Text) -> DataSet:
    """Return the built-in set. `reason` is the clause that says why it is used.

    Raises DataError for a parameter file that has no stand-in.
    """
    parameters = builtin_parameters(parameter_file) if parameter_file else {}
    images, labels = draw_images(TEST_SEED, TEST_COUNT)
    detail = _TRAINED if parameters else _ALONE
    return DataSet(
        name="built-in",
        detail=say(detail, count=TEST_COUNT, reason=reason),
        images=images,
        labels=labels,
        parameters=parameters,
        parameter_file=parameter_file,
    )


def builtin_parameters(parameter_file: str) -> Parameters:
    """Return the parameters that stand in for a known file. Raises DataError for an unknown one."""
    if parameter_file not in KNOWN:
        raise DataError(
            f"The built-in set has no parameters called {parameter_file}.",
            "Name a folder that holds them with --data or GRADER_DATA.",
        )
    asset = KNOWN[parameter_file].asset
    content = (files("grader.data") / "assets" / asset).read_bytes()
    return decode_parameters(content, asset, parameter_file)
