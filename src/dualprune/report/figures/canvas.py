"""What all figures share: an empty figure, its files, colours, and names as plain text."""

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dualprune.errors import MissingError
from dualprune.files import write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

# Okabe and Ito, 2008: distinct with every kind of colour vision. Their yellow is too pale here.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
BLUE, ORANGE = COLORS[:2]
GREY = "#c3c9d4"  # samples that are not marked
REFERENCE = "#5f6673"  # reference lines

_DPI = 150


def figure(width: float, height: float) -> "Figure":
    """Make an empty figure, in inches, that leaves room for its labels and legends by itself."""
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingError("figures need matplotlib: pip install 'dualprune[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: "Figure", path: Path) -> tuple[Path, Path]:
    """Write `path`.png and `path`.svg; the same figure always has the same bytes."""
    png, svg = (path.with_name(f"{path.name}.{suffix}") for suffix in ("png", "svg"))
    write(png, render(figure, "png"))
    write(svg, render(figure, "svg"))
    return png, svg


def render(figure: "Figure", suffix: Literal["png", "svg"]) -> bytes:
    """Give the content of an image file, without a date or random names in it."""
    from matplotlib import rc_context  # noqa: PLC0415 - optional

    image = io.BytesIO()
    undated: dict[str, Any] = {"Date": None} if suffix == "svg" else {}
    with rc_context({"svg.hashsalt": "dualprune", "svg.fonttype": "path"}):
        figure.savefig(image, format=suffix, dpi=_DPI, metadata=undated)
    return image.getvalue()


def plain(text: str) -> str:
    r"""Escape a name, so that it is not read as a formula.

    >>> print(plain("$x$"))
    \$x\$
    """
    return text.replace("$", r"\$")


def ramp() -> "Colormap":
    """Give colours from blue for low to orange for high, none of them pale on white."""
    from matplotlib import colormaps  # noqa: PLC0415 - optional
    from matplotlib.colors import ListedColormap  # noqa: PLC0415

    return ListedColormap([colormaps["plasma"](0.8 * step / 255) for step in range(256)])


def diverging() -> "Colormap":
    """Give colours from orange for losses to blue for gains, all pale enough for black text."""
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415 - optional

    return LinearSegmentedColormap.from_list("losses and gains", ["#f5a669", "#ffffff", "#7db8e0"])


def tidy(axes: "Axes") -> None:
    """Remove the top and the right border."""
    axes.spines[["top", "right"]].set_visible(False)


def percent(share: float, _: object = None) -> str:
    """Write a share in percent, for the ticks of an axis.

    >>> percent(0.3), percent(0.0125)
    ('30', '1.25')
    """
    return f"{100 * share:.6g}"


def legend_beside(
    axes: "Axes", handles: Sequence[Any], names: Iterable[str], *, markers: float = 1
) -> None:
    """Add a legend at the right of the axes, where it covers no data."""
    axes.legend(
        handles,
        [plain(name) for name in names],  # passed here, so that a name may begin with an underscore
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        markerscale=markers,
        frameon=False,
    )
