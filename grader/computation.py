"""What a part computes, as `assignment.toml` says it: tensors, their dtypes, and tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, NamedTuple, TypeVar

import msgspec

from grader.language import Text, foreign

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
NonNegative = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
Points = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]*\Z")]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the tables of an assignment file: a misspelt key is an error.

    `shared` are options of which all checks of a part have one value: evidence is gathered once.
    """

    shared: ClassVar[tuple[str, ...]] = ()


class OracleOptions(Table, frozen=True):
    """How outputs are compared: |actual - desired| <= atol + rtol * |desired|.

    `hidden_inputs` random inputs of `hidden_scale * randn` are drawn from the run's secret seed,
    beside the whole test set. `input_shape` is one sample's shape, without the batch.
    """

    input_shape: tuple[PositiveInt, ...]
    output_shape: tuple[PositiveInt, ...]
    rtol: Positive = 1e-4
    atol: Positive = 1e-5
    hidden_inputs: PositiveInt = 256
    hidden_scale: Positive = 0.1

    @property
    def dtype(self) -> str:
        """Return the dtype of the output."""
        return "float32"


_BY_TYPE = -1.0


class Tolerance(NamedTuple):
    """How far right outputs may be off: by `atol` and by `rtol` of what they should be."""

    rtol: float
    atol: float


TOLERANCES: Mapping[str, Tolerance] = {
    **dict.fromkeys(("bool", "int8", "uint8", "int32", "int64"), Tolerance(0.0, 0.0)),
    "float16": Tolerance(1e-2, 1e-3),
    "bfloat16": Tolerance(5e-2, 1e-2),
    "float32": Tolerance(1e-4, 1e-5),
    "float64": Tolerance(1e-9, 1e-12),
}
"""The dtypes of computations, and what their outputs are compared by where nothing else is said.

Integers are right or wrong. A rounding in float16 is off by 2**-11 of the number, in bfloat16 by
2**-9; where a sum of some dozen numbers is rounded after each, by that times a few."""

Integers = tuple[
    Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
    Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)],
]

_WHOLE_RANGE = frozenset({"bool", "int8", "uint8"})
_FEW = 10
"""Integers of 32 bits and more are drawn from -10 to 10: large enough to tell sums apart, too small
to overflow."""

MOST_EXTENT = 2**20


class TensorTable(Table, frozen=True):
    """Shape and dtype of one tensor, without an axis for the batch.

    `axes` names the axes, from the first one, whose extents vary from case to case, `""` those that
    do not; `shape` is what is drawn.
    """

    shape: tuple[Annotated[int, msgspec.Meta(gt=0, le=MOST_EXTENT)], ...]
    dtype: str = "float32"
    axes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.axes) > len(self.shape):
            raise ValueError(f"a tensor of {len(self.shape)} axes has {len(self.axes)} `axes`")
        if self.dtype not in TOLERANCES:
            raise ValueError(
                f"there is no `dtype` {self.dtype!r}; use one of {', '.join(TOLERANCES)}"
            )

    def extents(self, shape: tuple[int, ...] | None = None) -> dict[str, int]:
        """Return the extents of the named axes in a shape: the tensor's own if none is given."""
        return {name: e for name, e in zip(self.axes, shape or self.shape, strict=False) if name}

    def shape_at(self, extents: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape where named axes have these extents."""
        names = (*self.axes, *[""] * (len(self.shape) - len(self.axes)))
        return tuple(extents.get(n, e) for n, e in zip(names, self.shape, strict=True))

    @property
    def spelled(self) -> str:
        """Return the shape as people write it, an axis that varies by its name."""
        names = (*self.axes, *[""] * (len(self.shape) - len(self.axes)))
        return f"[{', '.join(n or str(e) for n, e in zip(names, self.shape, strict=True))}]"

    @property
    def is_integer(self) -> bool:
        """Say whether the items are integers or truth values, which are exact."""
        return self.dtype.startswith(("int", "uint", "bool"))

    @property
    def widest(self) -> tuple[int, int]:
        """Return the least and the largest integer of the dtype."""
        if self.dtype == "bool":
            return 0, 1
        values = 2 ** int(self.dtype.lstrip("uint"))
        return (0, values - 1) if self.dtype[0] == "u" else (-(values // 2), values // 2 - 1)


class ArgumentTable(TensorTable, frozen=True):
    """One argument of a computation. `name` is what messages call it.

    `range` are the least and the largest integer that is drawn for it: without one, all that the
    dtype has where it is a short one, and -10 to 10 otherwise. `positive` draws floats without
    their sign, as variances are.
    """

    name: str = ""
    range: Integers | None = None
    positive: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.positive and self.is_integer:
            raise ValueError(f"{self.dtype} has no `positive`; give it a `range`")
        if self.range is None:
            return
        least, largest = self.widest if self.is_integer else (0, -1)
        if not least <= self.range[0] <= self.range[1] <= largest:
            raise ValueError(f"{self.dtype} has no `range` from {self.range[0]} to {self.range[1]}")

    @property
    def drawn(self) -> tuple[int, int]:
        """Return the least and the largest integer that is drawn."""
        if self.range is not None:
            return self.range
        return self.widest if self.dtype in _WHOLE_RANGE else (-_FEW, _FEW)


class CaseTable(Table, frozen=True):
    """Samples that the course's `inputs(seed, case)` makes, beside those that are drawn.

    `name` is the `case` that it is asked for, `count` times. A report calls them by their `title`,
    those that are `hidden` by a number alone.
    """

    name: Slug
    title: str = ""
    titles: dict[str, str] = {}
    count: PositiveInt = 8
    hidden: bool = False

    @property
    def named(self) -> Text:
        """The title in all of its languages; the name where there is none."""
        return foreign(self.title or self.name, self.titles)


class Computation(Table, frozen=True):
    """What a part computes when it is not the model of `[oracle]`: a function of tensors.

    It is run `cases` times on arguments drawn from the run's secret seed: `scale * randn` for
    floats, for integers what the argument says. Outputs are compared by `rtol` and `atol`, or where
    they are not given by those of the dtype. The course's `oracle.py` has a function of the same
    name (with `_` for `-`), which gets the parameters and the arguments, each with a leading axis
    over the cases, and returns the outputs likewise, in double precision or as integers. Instead of
    that, `model` may name a PyTorch model of the course's `models.py`, which is drawn from the seed
    as well. Samples of each `case` come before those that are drawn, of which there may be none.
    """

    id: Slug
    arguments: Annotated[tuple[ArgumentTable, ...], msgspec.Meta(min_length=1)]
    outputs: Annotated[tuple[TensorTable, ...], msgspec.Meta(min_length=1)]
    cases: Annotated[int, msgspec.Meta(ge=0)] = 64
    scale: Positive = 1.0
    rtol: NonNegative = _BY_TYPE
    atol: NonNegative = _BY_TYPE
    model: str = ""
    case: tuple[CaseTable, ...] = ()

    def __post_init__(self) -> None:
        names = [each.name for each in self.case]
        if len({*names}) < len(names):
            raise ValueError(f"computation {self.id} has two cases of the same name")
        if not self.cases and self.model:
            raise ValueError(f"computation {self.id} has no `cases`, and its model needs some")
        self._demand_axes()
        named = [each.name for each in self.arguments if each.name]
        if len({*named}) < len(named):
            raise ValueError(f"computation {self.id} has two arguments of the same `name`")
        if names and not all(each.name for each in self.arguments):
            raise ValueError(f"the arguments of computation {self.id} need a `name`, for its cases")
        if len({each.dtype for each in self.outputs}) > 1:
            raise ValueError(f"the outputs of computation {self.id} have several dtypes")
        for name, by_type in TOLERANCES[self.dtype]._asdict().items():
            if getattr(self, name) == _BY_TYPE:
                msgspec.structs.force_setattr(self, name, by_type)

    def _demand_axes(self) -> None:
        known: dict[str, int] = {}
        for each in self.arguments:
            for name, extent in each.extents().items():
                if known.setdefault(name, extent) != extent:
                    raise ValueError(
                        f"the axis {name!r} of computation {self.id} has two extents in `shape`"
                    )
        for output in self.outputs:
            for name, extent in output.extents().items():
                if known.get(name) != extent:
                    raise ValueError(
                        f"the axis {name!r} of an output of computation {self.id} is none of its"
                        " arguments', or of another extent"
                    )

    @property
    def extents(self) -> dict[str, int]:
        """Return the extents of the axes that vary, where arguments are drawn."""
        return {name: e for each in self.arguments for name, e in each.extents().items()}

    def extents_of(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int] | None:
        """Return the extents of the axes that vary in arguments of these shapes.

        None where they are no shapes of its arguments: a fixed axis has another extent, or one that
        varies has two.
        """
        found: dict[str, int] = {}
        for table, shape in zip(self.arguments, shapes, strict=True):
            if len(shape) != len(table.shape):
                return None
            found |= {n: found.get(n, e) for n, e in table.extents(shape).items()}
            if table.shape_at(found) != shape:
                return None
        return found

    def at(self, extents: Mapping[str, int]) -> Computation:
        """Return the computation with other extents of the axes that vary, and no case."""
        if not extents:
            return self
        return msgspec.structs.replace(
            self,
            arguments=tuple(_at(each, extents) for each in self.arguments),
            outputs=tuple(_at(each, extents) for each in self.outputs),
        )

    @property
    def samples(self) -> int:
        """Return how many samples there are: those of named cases, and those that are drawn."""
        return self.cases + sum(each.count for each in self.case)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Return the shape of what is compared: several outputs are laid one behind the other."""
        if len(self.outputs) == 1:
            return self.outputs[0].shape
        return (sum(math.prod(each.shape) for each in self.outputs),)

    @property
    def dtype(self) -> str:
        """Return the dtype of the outputs."""
        return self.outputs[0].dtype


_Tensor = TypeVar("_Tensor", bound=TensorTable)


def _at(table: _Tensor, extents: Mapping[str, int]) -> _Tensor:
    return msgspec.structs.replace(table, shape=table.shape_at(extents))


Comparison = OracleOptions | Computation
"""What outputs are compared by: both have `rtol`, `atol`, `output_shape` and `dtype`."""
