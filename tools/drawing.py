"""Drawings of ten kinds of clothes, 28 x 28 grey values, classes in Fashion-MNIST's order.

The drawings are our own: outlines of garments with random position, size, shear, cut, texture,
shading and noise. They stand in for the real images where there is no network. The same seed gives
the same bytes on every machine (see below).
"""

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Small vector shapes on a stack of 28 x 28 canvases, all images of the stack at once.
#
# A shape is a field: one number for each pixel, positive inside and negative outside, in units of
# the garment (about 12 pixels), so that union, intersection and difference are maximum, minimum and
# negation. This is the usual algebra of signed distance functions.
#
# Only operations whose result IEEE 754 fixes are used: + - * /, square root, minimum, maximum,
# floor. No sine, no exponential, no sums over an axis, because libraries differ in their last bits.
# So every machine and every NumPy draws the same bytes.


SIDE = 28
"""Pixels along one side of an image."""

UNIT = 12.0
"""Pixels of one garment unit."""

Field = npt.NDArray[np.float64]
Number = Field | float
"""One number for the whole stack, or one for each image: a field of shape (count, 1, 1)."""


class Draws:
    """Random numbers that no version of NumPy changes.

    Philox is a counter-based generator, and NumPy promises the stream of raw words of a bit
    generator (NEP 19), but not that of `Generator.uniform`. The 53 upper bits of a word are the
    fraction.
    """

    def __init__(self, seed: int, stream: int, count: int) -> None:
        self._words = np.random.Philox(key=(stream << 64) | seed)
        self._count = count

    def fractions(self, *shape: int) -> Field:
        """Return uniform numbers in [0, 1) of the given shape."""
        words = self._words.random_raw(int(np.prod(shape)))
        fractions: Field = ((words >> np.uint64(11)) * 2.0**-53).reshape(shape)
        return fractions

    def vary(self, low: float, high: float) -> Field:
        """Return one number in [low, high) for each image, shape (count, 1, 1)."""
        return low + (high - low) * self.fractions(self._count, 1, 1)

    def chance(self, probability: float) -> npt.NDArray[np.bool_]:
        """Return for each image whether something of this probability happens, (count, 1, 1)."""
        return self.fractions(self._count, 1, 1) < probability


def profile(y: Field, *knots: tuple[Number, Number]) -> Field:
    """Interpolate linearly between `knots` (place, value), constant beyond the first and the last.

    Places ascend.
    """
    value = y * 0.0 + knots[0][1]
    for (start, low), (end, high) in pairwise(knots):
        value = value + (high - low) * np.clip((y - start) / (end - start), 0.0, 1.0)
    return value


def band(values: Field, low: Number, high: Number) -> Field:
    """Return the strip in which `values` lie between `low` and `high`."""
    return np.minimum(values - low, high - values)


def disc(x: Field, y: Field, centre: tuple[Number, Number], radii: tuple[Number, Number]) -> Field:
    """Return an ellipse with axes along x and y."""
    across, along = (x - centre[0]) / radii[0], (y - centre[1]) / radii[1]
    return (1.0 - np.sqrt(across * across + along * along)) * np.minimum(radii[0], radii[1])


def stroke(
    x: Field, y: Field, start: tuple[Number, Number], end: tuple[Number, Number], width: Number
) -> Field:
    """Return a line from `start` to `end` with round ends; `width` is half its breadth."""
    run, rise = end[0] - start[0], end[1] - start[1]
    place = ((x - start[0]) * run + (y - start[1]) * rise) / (run * run + rise * rise)
    place = np.clip(place, 0.0, 1.0)
    across, along = x - start[0] - place * run, y - start[1] - place * rise
    return width - np.sqrt(across * across + along * along)


def join(*shapes: Field) -> Field:
    """Return the union of shapes."""
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = np.maximum(whole, shape)
    return whole


def meet(*shapes: Field) -> Field:
    """Return the intersection of shapes."""
    whole = shapes[0]
    for shape in shapes[1:]:
        whole = np.minimum(whole, shape)
    return whole


def only_where(condition: npt.NDArray[np.bool_], shape: Field) -> Field:
    """Return the shape on the images where the condition holds, nothing on the others."""
    return np.where(condition, shape, -1.0)


def coverage(shape: Field) -> Field:
    """Return how much of each pixel a shape covers, from 0 to 1, with an edge of one pixel."""
    return np.clip(0.5 + shape * UNIT, 0.0, 1.0)


def wave(values: Field) -> Field:
    """Return a triangle wave of period 1 between -1 and 1."""
    return 4.0 * np.abs(values - np.floor(values) - 0.5) - 1.0


_CLASSES = 10
_ORDER_STREAM = _CLASSES


class Figure(NamedTuple):
    """A garment: its outline, the dark lines on it, and the light parts of it (soles, cuffs)."""

    outline: Field
    dark: Field
    light: Field


def draw_images(seed: int, count: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """Return images, uint8 (count, 28, 28), and their labels, uint8 (count,), in random order.

    The classes are as equal in number as `count` allows. `seed` is at least 0 and below 2**64.
    """
    order = np.argsort(Draws(seed, _ORDER_STREAM, count).fractions(count), kind="stable")
    labels = (np.arange(count) % _CLASSES).astype(np.uint8)[order]
    images = np.zeros((count, SIDE, SIDE), np.uint8)
    for label, figure in enumerate(_FIGURES):
        (chosen,) = np.nonzero(labels == label)
        images[chosen] = _draw_class(figure, Draws(seed, label, len(chosen)), len(chosen))
    return images, labels


def _draw_class(
    figure: Callable[[Field, Field, Draws], Figure], draws: Draws, count: int
) -> npt.NDArray[np.uint8]:
    x, y = _place(draws)
    outline, dark, light = figure(x, y, draws)
    shade = _texture(x, y, draws) * (1.0 - draws.vary(0.25, 0.6) * coverage(dark))
    shade = shade + (1.0 - shade) * draws.vary(0.3, 0.7) * coverage(light)
    noise = 1.0 + draws.vary(0.02, 0.16) * (2.0 * draws.fractions(count, SIDE, SIDE) - 1.0)
    grey = 255.0 * coverage(outline) * np.clip(shade * noise, 0.0, 1.0)
    pixels: npt.NDArray[np.uint8] = np.floor(grey + 0.5).astype(np.uint8)
    return pixels


def _place(draws: Draws) -> tuple[Field, Field]:
    """Return every pixel's garment coordinates (count, 28, 28): x to the right, y down from 0."""
    pixels = (np.arange(SIDE) - (SIDE - 1) / 2) / UNIT
    across, down = pixels[None, None, :], pixels[None, :, None]
    y = (down - draws.vary(-0.09, 0.09)) / draws.vary(0.86, 1.06)
    x = (across - draws.vary(-0.1, 0.1) - draws.vary(-0.08, 0.08) * y) / draws.vary(0.84, 1.1)
    return x, y


def _texture(x: Field, y: Field, draws: Draws) -> Field:
    """Return brightness before lines and noise: plain, striped, checked; shaded to a side."""
    base = draws.vary(0.4, 0.98) - draws.vary(-0.12, 0.12) * x - draws.vary(-0.08, 0.12) * y
    depth = draws.vary(0.08, 0.3)
    across = only_where(draws.chance(0.2), wave(y * draws.vary(2.0, 4.5) + draws.vary(0.0, 1.0)))
    along = only_where(draws.chance(0.15), wave(x * draws.vary(2.0, 4.5) + draws.vary(0.0, 1.0)))
    return np.clip(base * (1.0 - depth * (across + along + 2.0)), 0.12, 1.0)


# --- tops -----------------------------------------------------------------------------------------


def _torso(x: Field, y: Field, draws: Draws, top: Field, hem: Field) -> Field:
    """Return a body from the shoulders to the hem, a little narrower at the waist."""
    chest, waist = draws.vary(0.42, 0.54), draws.vary(0.38, 0.52)
    half = profile(y, (top, chest + 0.02), (0.0, waist), (hem, waist + draws.vary(0.0, 0.08)))
    shoulder = y - top - draws.vary(0.12, 0.3) * np.abs(x)
    return meet(half - np.abs(x), shoulder, hem - y)


def _sleeves(x: Field, y: Field, draws: Draws, top: Field, length: Field) -> Field:
    """Return both sleeves: bars that leave the shoulders and hang down by `length`."""
    spread = draws.vary(0.22, 0.42)
    start = (0.38, top + 0.2)
    end = (0.46 + spread * (0.3 + 0.4 * length), top + 0.2 + length)
    return stroke(np.abs(x), y, start, end, draws.vary(0.1, 0.15))


def _neck(x: Field, y: Field, draws: Draws, top: Field, depth: Field) -> Field:
    return disc(x, y, (0.0, top - 0.02), (draws.vary(0.15, 0.25), depth))


def _t_shirt(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem = draws.vary(-0.9, -0.72), draws.vary(0.66, 0.98)
    # Some sleeves are long enough for a shirt's and some are missing: classes overlap a little.
    sleeves = _sleeves(x, y, draws, top, draws.vary(0.15, 0.62))
    sleeves = only_where(draws.chance(0.9), sleeves)
    body = join(_torso(x, y, draws, top, hem), sleeves)
    outline = meet(body, -_neck(x, y, draws, top, draws.vary(0.12, 0.36)))
    return Figure(outline, only_where(draws.chance(0.3), _print(x, y, draws)), outline * 0.0 - 1.0)


def _print(x: Field, y: Field, draws: Draws) -> Field:
    radii = (draws.vary(0.1, 0.26), draws.vary(0.08, 0.24))
    return disc(x, y, (0.0, draws.vary(-0.3, 0.0)), radii)


def _pullover(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem = draws.vary(-0.88, -0.7), draws.vary(0.66, 0.92)
    sleeves = _sleeves(x, y, draws, top, draws.vary(1.0, 1.4))
    outline = join(_torso(x, y, draws, top, hem), meet(sleeves, hem + 0.1 - y))
    outline = meet(outline, -_neck(x, y, draws, top, draws.vary(0.05, 0.16)))
    ribs = join(band(y, hem - 0.16, hem - 0.1), only_where(draws.chance(0.4), _print(x, y, draws)))
    return Figure(outline, ribs, outline * 0.0 - 1.0)


def _coat(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem = draws.vary(-0.98, -0.84), draws.vary(0.84, 1.04)
    sleeves = _sleeves(x, y, draws, top, draws.vary(1.05, 1.4))
    outline = join(_torso(x, y, draws, top, hem), sleeves)
    lapel = stroke(np.abs(x), y, (draws.vary(0.16, 0.24), top), (0.0, draws.vary(-0.45, 0.0)), 0.03)
    opening = band(x, -0.035, 0.035)
    pockets = stroke(np.abs(x), y, (0.18, draws.vary(0.2, 0.4)), (0.32, draws.vary(0.2, 0.4)), 0.03)
    dark = join(opening, lapel, only_where(draws.chance(0.6), pockets))
    return Figure(outline, dark, outline * 0.0 - 1.0)


def _shirt(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem = draws.vary(-0.95, -0.78), draws.vary(0.7, 1.0)
    length = np.where(draws.chance(0.3), draws.vary(0.3, 0.6), draws.vary(0.85, 1.4))
    # A shirt's hem is round.
    round_hem = hem + 0.07 * wave(0.8 * x)
    outline = join(
        meet(_torso(x, y, draws, top, hem + 0.07), round_hem - y),
        _sleeves(x, y, draws, top, length),
    )
    outline = meet(outline, -_neck(x, y, draws, top, draws.vary(0.1, 0.2)))
    buttons = meet(0.045 - np.abs(x), wave(y * draws.vary(2.2, 3.4)) * 0.1)
    dark = only_where(draws.chance(0.85), meet(buttons, y - top - 0.15))
    collar = stroke(np.abs(x), y, (0.2, top + 0.06), (0.05, top + 0.26), 0.055)
    return Figure(outline, dark, only_where(draws.chance(0.85), collar))


# --- dresses, trousers and bags -------------------------------------------------------------------


def _dress(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem, waist = draws.vary(-1.05, -0.9), draws.vary(0.9, 1.08), draws.vary(-0.35, 0.05)
    narrow, wide = draws.vary(0.16, 0.28), draws.vary(0.3, 0.62)
    half = profile(y, (top, draws.vary(0.22, 0.36)), (waist, narrow), (hem, wide))
    sleeves = only_where(draws.chance(0.4), _dress_sleeves(x, y, draws, top))
    body = meet(half - np.abs(x), band(y, top, hem))
    outline = meet(join(body, sleeves), -_neck(x, y, draws, top, draws.vary(0.1, 0.4)))
    belt = only_where(draws.chance(0.5), band(y, waist - 0.04, waist + 0.04))
    return Figure(outline, belt, outline * 0.0 - 1.0)


def _dress_sleeves(x: Field, y: Field, draws: Draws, top: Field) -> Field:
    end = (draws.vary(0.4, 0.56), top + draws.vary(0.3, 0.9))
    return stroke(np.abs(x), y, (0.22, top + 0.12), end, draws.vary(0.07, 0.1))


def _trouser(x: Field, y: Field, draws: Draws) -> Figure:
    top, hem, crotch = draws.vary(-1.08, -0.95), draws.vary(0.95, 1.1), draws.vary(-0.6, -0.2)
    half = profile(y, (top, draws.vary(0.24, 0.36)), (crotch, 0.38), (hem, draws.vary(0.26, 0.5)))
    gap = profile(y, (crotch, -0.02), (hem, draws.vary(0.05, 0.2)))
    outline = meet(half - np.abs(x), np.abs(x) - gap, band(y, top, hem))
    pockets = stroke(np.abs(x), y, (0.16, top + 0.1), (0.3, top + 0.34), 0.025)
    dark = join(band(y, top + 0.07, top + 0.12), only_where(draws.chance(0.6), pockets))
    return Figure(outline, dark, outline * 0.0 - 1.0)


def _bag(x: Field, y: Field, draws: Draws) -> Figure:
    top, bottom = draws.vary(-0.4, 0.05), draws.vary(0.6, 0.98)
    half = profile(y, (top, draws.vary(0.55, 0.9)), (bottom, draws.vary(0.65, 1.0)))
    body = meet(half - np.abs(x), band(y, top, bottom))
    reach, height = draws.vary(0.3, 0.55), draws.vary(0.3, 0.62)
    ring = draws.vary(0.05, 0.1) - np.abs(disc(x, y, (0.0, top), (reach, height)))
    handle = only_where(draws.chance(0.85), meet(ring, top + 0.1 - y))
    flap = top + (bottom - top) * draws.vary(0.2, 0.5)
    clasp = disc(x, y, (0.0, flap), (draws.vary(0.06, 0.12), 0.08))
    return Figure(join(body, handle), band(y, flap - 0.03, flap + 0.03), clasp)


# --- shoes, toes to the left as in Fashion-MNIST --------------------------------------------------


def _sole(x: Field, floor: Field, toe: Field, heel: Field, y: Field, thickness: Field) -> Field:
    return meet(band(y, floor - thickness, floor), band(x, toe, heel))


def _sandal(x: Field, y: Field, draws: Draws) -> Figure:
    toe, heel, floor = draws.vary(-1.05, -0.9), draws.vary(0.85, 1.05), draws.vary(0.35, 0.65)
    lift = np.where(draws.chance(0.4), draws.vary(0.3, 0.6), draws.vary(0.0, 0.2))
    raised = floor - lift
    # The foot lies flat at the toes and climbs to the heel; a high heel stands on a block.
    foot = profile(x, (-0.3, floor), (0.6, raised)) - draws.vary(0.12, 0.22)
    sole = meet(y - foot, profile(x, (-0.3, floor), (0.6, raised + 0.05)) - y, band(x, toe, heel))
    block = meet(band(x, heel - draws.vary(0.12, 0.5), heel), band(y, raised, floor))
    ankle = raised - draws.vary(0.45, 0.7)
    width = draws.vary(0.05, 0.1)
    front = draws.vary(0.25, 0.4)
    straps = join(
        stroke(x, y, (heel - 0.08, raised), (heel - 0.14, ankle), width),
        stroke(x, y, (heel - 0.14, ankle), (front, ankle + 0.12), width),
        only_where(
            draws.chance(0.5), stroke(x, y, (front, ankle + 0.12), (-0.45, floor - 0.4), width)
        ),
        stroke(x, y, (toe + 0.22, floor - 0.15), (-0.45, floor - 0.4), width),
        stroke(x, y, (-0.45, floor - 0.4), (draws.vary(-0.2, 0.05), floor - 0.18), width),
    )
    empty = x * 0.0 + y * 0.0 - 1.0
    return Figure(join(sole, block, straps), empty, empty)


def _sneaker(x: Field, y: Field, draws: Draws) -> Figure:
    toe, heel, floor = draws.vary(-1.08, -0.95), draws.vary(0.9, 1.05), draws.vary(0.3, 0.55)
    collar = floor - draws.vary(0.62, 0.9)
    # How high the shoe is: low at the toe, then the tongue, then level to the heel.
    top = profile(
        x,
        (toe, floor - draws.vary(0.16, 0.26)),
        (toe + 0.2, floor - draws.vary(0.3, 0.42)),
        (-0.35, floor - draws.vary(0.42, 0.52)),
        (0.25, collar),
        (0.6, collar + 0.08),
        (heel, collar + draws.vary(0.0, 0.12)),
    )
    outline = meet(y - top, floor - y, band(x, toe, heel))
    laces = meet(band(x, -0.4, 0.2), band(y, top, top + 0.2), 0.1 * wave(5.0 * x))
    stripe = stroke(x, y, (0.0, floor - 0.15), (draws.vary(0.2, 0.6), collar + 0.1), 0.06)
    dark = join(laces, only_where(draws.chance(0.6), stripe))
    sole = _sole(x, floor, toe, heel, y, draws.vary(0.08, 0.16))
    return Figure(outline, dark, only_where(draws.chance(0.8), sole))


def _ankle_boot(x: Field, y: Field, draws: Draws) -> Figure:
    toe, heel, floor = draws.vary(-1.05, -0.85), draws.vary(0.6, 0.85), draws.vary(0.72, 0.95)
    shaft = floor - draws.vary(0.95, 1.7)
    instep = draws.vary(-0.25, 0.05)
    top = profile(
        x,
        (toe, floor - draws.vary(0.2, 0.36)),
        (instep - 0.1, floor - draws.vary(0.5, 0.7)),
        (instep + 0.08, shaft),
        (heel, shaft + draws.vary(-0.1, 0.06)),
    )
    block = meet(band(x, draws.vary(0.2, 0.4), heel), floor + draws.vary(0.05, 0.2) - y)
    outline = meet(y - top, band(x, toe, heel), join(floor - y, block))
    zipper = stroke(x, y, (draws.vary(0.2, 0.4), shaft), (0.3, floor - 0.3), 0.03)
    sole = _sole(x, floor, toe, heel, y, draws.vary(0.06, 0.12))
    dark = join(only_where(draws.chance(0.6), zipper), only_where(draws.chance(0.6), sole))
    return Figure(outline, dark, outline * 0.0 - 1.0)


_FIGURES = (
    _t_shirt,
    _trouser,
    _pullover,
    _dress,
    _coat,
    _sandal,
    _shirt,
    _sneaker,
    _bag,
    _ankle_boot,
)
