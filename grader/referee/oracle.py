"""The answers: what PyTorch gives for the test set and for hidden inputs of this run.

Nothing of this module's values ever leaves the referee but the inputs.
"""

from __future__ import annotations

from functools import cached_property
from types import ModuleType
from typing import cast

import numpy as np
import numpy.typing as npt

from grader.assignment import OracleOptions
from grader.course import CourseAssignment
from grader.data import DataSet
from grader.referee.evidence import FloatArray


class Oracle:
    """Expected outputs of one grading run, which gradings of many submissions may share.

    `generator` is seeded with the run's secret seed. Test images and hidden inputs are mixed in an
    order of this run, so that a module cannot know which is which.
    """

    def __init__(
        self,
        module: ModuleType,
        options: OracleOptions,
        data: DataSet,
        generator: np.random.Generator,
    ) -> None:
        self._module = module
        self._parameters = data.parameters
        self.options = options
        images = data.inputs().reshape(-1, *options.input_shape)
        hidden = self._draw(generator, options.hidden_inputs)
        order = generator.permutation(len(images) + len(hidden))
        self.inputs = np.concatenate([images, hidden])[order]
        self.inputs.setflags(write=False)
        self.from_test_set: npt.NDArray[np.bool_] = order < len(images)
        self._filler = self._draw(generator, 64)

    def _draw(self, generator: np.random.Generator, count: int) -> npt.NDArray[np.float32]:
        shape = (count, *self.options.input_shape)
        scale = np.float32(self.options.hidden_scale)
        return np.asarray(scale * generator.standard_normal(shape, dtype=np.float32))

    @cached_property
    def desired(self) -> FloatArray:
        """PyTorch's outputs in double precision, shape (samples, *output shape)."""
        private = self.inputs.copy()
        desired = cast(FloatArray, self._module.expected(self._parameters, private))
        desired.setflags(write=False)
        return desired

    def batches(self, batch: int) -> npt.NDArray[np.float32]:
        """Return (batches, batch, *input shape); more hidden inputs fill up the last batch."""
        missing = -len(self.inputs) % batch
        filler = np.resize(self._filler, (missing, *self.options.input_shape))
        return np.concatenate([self.inputs, filler]).reshape(-1, batch, *self.options.input_shape)

    def workload(
        self, variant: str, data: FloatArray, weight: FloatArray, bias: FloatArray
    ) -> FloatArray:
        """PyTorch's outputs of the timed function, shape (ring, batch, *feature map)."""
        result = self._module.expected_workload(variant, data.copy(), weight.copy(), bias.copy())
        return cast(FloatArray, result)


def load_oracle(
    course_assignment: CourseAssignment, data: DataSet, seeds: np.random.SeedSequence
) -> Oracle:
    """Import an assignment's oracle and compute all of its answers (seconds)."""
    oracle = Oracle(
        course_assignment.load_oracle(),
        course_assignment.assignment.oracle,
        data,
        np.random.default_rng(seeds),
    )
    _ = oracle.desired  # computed now, while nothing waits for it
    return oracle
