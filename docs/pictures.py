"""Draw the pictures of README and site into `docs/images`.

PYTHONPATH=. python docs/pictures.py                        # diagrams, and figures of a run
PYTHONPATH=. python docs/pictures.py demo/report.html       # screenshots of a page, in Chromium
PYTHONPATH=. python docs/pictures.py examples/*.py          # what the examples draw
"""

import io
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from dualprune import Run, score, select
from dualprune.report.figures import beta_densities, coresets, figure
from dualprune.report.figures.canvas import render

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
BLUE, ORANGE, INK, PAPER, LINE = "#0072b2", "#d55e00", "#1f2733", "#ffffff", "#9aa5b5"
WIDEST = 1200
PLACES = {
    "dl.summary": "1",
    "#next-title": "2",
    "fieldset.controls": "3",
    ".what-if label": "4",
    "#moon": "5",
    "#card": "6",
    "#suspects-title": "7",
}


def text(
    x: float, y: float, words: str, *, size: int = 15, color: str = INK, weight: int = 400
) -> str:
    """Give words centred at a point."""
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" font-weight="{weight}" '
        f'text-anchor="middle">{words}</text>'
    )


def box(
    x: float, y: float, width: float, height: float, *, fill: str = "#eef3f9", line: str = BLUE
) -> str:
    """Give a rectangle with round corners."""
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="{fill}" '
        f'stroke="{line}" stroke-width="1.5"/>'
    )


def arrow(x1: float, y1: float, x2: float, y2: float, color: str = INK) -> str:
    """Give a line with a head."""
    return (
        f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}" stroke-width="1.8" '
        'marker-end="url(#head)"/>'
    )


def drawing(width: int, height: int, title: str, shapes: Iterable[str]) -> str:
    """Give an SVG file on white paper, so that it reads on a dark page, too."""
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
    )
    paper = f'<rect width="{width}" height="{height}" rx="10" fill="{PAPER}"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" font-family="system-ui, sans-serif">',
            f"<title>{title}</title>",
            head,
            paper,
            *shapes,
            "</svg>\n",
        ]
    )


def way_of_the_data() -> str:
    """Show the four stages, what does each step and what it needs."""
    stages = [
        ("your training", "or dualprune's", 20),
        ("Run", "signals on disk", 245),
        ("scores", "one per sample", 470),
        ("Coreset", "ids and a card", 695),
    ]
    steps = [
        ("record", "needs the model", 165),
        ("score", "needs arrays", 390),
        ("select", "needs a budget", 615),
    ]
    shapes = []
    for name, about, x in stages:
        shapes += [box(x, 40, 145, 70), text(x + 72, 70, name, size=17, weight=600)]
        shapes.append(text(x + 72, 93, about, size=13))
    for name, needs, x in steps:
        shapes += [
            arrow(x + 4, 75, x + 76, 75),
            text(x + 40, 62, name, size=14, color=BLUE, weight=600),
        ]
        shapes.append(text(x + 40, 135, needs, size=13, color=ORANGE))
    return drawing(860, 160, "From a training loop to a coreset", shapes)


def waves() -> str:
    """Show how ranges of ids are worked on by themselves, and how little comes together."""
    shapes = [text(60, 50, "ids", weight=600)]
    names = ["0 ... n", "n ... 2n", "2n ... 3n", "3n ... 4n"]
    rows = [
        (80, "score each range", "ten best, sizes of classes"),
        (180, "keys near the last one kept", "the threshold"),
        (280, "ids below the threshold", "the coreset"),
    ]
    for place, name in enumerate(names):
        x = 130 + 135 * place
        shapes += [box(x, 28, 120, 34, fill="#fff", line=LINE), text(x + 60, 50, name, size=14)]
        for y, _, _ in rows:
            shapes.append(box(x, y, 120, 40))
            shapes.append(arrow(x + 60, y + 42, x + 60, y + 62))
    for number, (y, work, result) in enumerate(rows, 1):
        shapes.append(text(60, y + 25, f"wave {number}", weight=600, color=BLUE))
        for place in range(4):
            shapes.append(
                text(190 + 135 * place, y + 25, ("score", "keys", "ids")[number - 1], size=14)
            )
        shapes.append(box(130, y + 64, 525, 24, fill="#fdf3ec", line=ORANGE))
        shapes.append(
            text(
                392,
                y + 81,
                f"{work}: {result}" if number > 1 else f"only this comes together: {result}",
                size=13,
            )
        )
    return drawing(690, 390, "Three waves over ranges of ids", shapes)


def moons(run: Run) -> bytes:
    """Show what DUAL with Beta sampling keeps at three shares."""
    p = run["target_prob"]
    confidence, variability = score.confidence(p), score.variability(p)
    kept = {
        f"keep {keep:.0%}": select.beta(
            score.dual(p), confidence, k=round(keep * run.samples), seed=0
        )
        for keep in (0.7, 0.3, 0.1)
    }
    canvas = figure(11, 3.4)
    coresets(canvas.subplots(1, 3), variability, confidence, kept)
    return small_png(render(canvas, "png"))


def densities(run: Run) -> bytes:
    """Show how the density of Beta sampling moves with the share pruned."""
    p = run["target_prob"]
    best = score.dual(p).argsort()[-10:]
    canvas = figure(7, 3.2)
    beta_densities(
        canvas.subplots(),
        float(score.confidence(p)[best].mean()),
        pruned=(0.3, 0.5, 0.7, 0.8, 0.9),
        c_d=3.0,
    )
    return small_png(render(canvas, "png"))


def small_png(content: bytes, colors: int = 128) -> bytes:
    """Give the same picture with few colours, which is much smaller."""
    image = (
        Image.open(io.BytesIO(content)).convert("RGB").quantize(colors, dither=Image.Dither.NONE)
    )
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def screenshots(report: Path) -> dict[str, bytes]:
    """Open the page as a person would; give its map alone, and the whole with numbers on it."""
    from tests.browsing import look, open_browser, visit  # noqa: PLC0415 - only this needs a browser

    with open_browser() as browser:
        look(browser, width=1200)
        size = {"width": 1200, "height": 2120, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        visit(browser, report.resolve())
        browser.execute_script("document.documentElement.style.overflow = 'hidden'")
        page = Image.open(io.BytesIO(browser.get_screenshot_as_png())).convert("RGB")
        corners = {number: _corner(browser, css) for css, number in PLACES.items()}
        left, top = _corner(browser, "#moon")
        width, height = browser.execute_script(
            "const m = document.getElementById('moon'); return [m.offsetWidth, m.offsetHeight]"
        )
    top_of_controls = corners["3"][1]
    cropped = page.crop((left - 10, top_of_controls - 8, left + width + 10, top + height + 4))
    return {"map.png": _as_png(cropped), "page.png": _as_png(_numbered(page, corners))}


def _corner(browser: Any, css: str) -> tuple[float, float]:
    corner = (
        "const r = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [r.left, r.top]"
    )
    x, y = browser.execute_script(corner, css)
    return x, y


def _numbered(page: Image.Image, corners: dict[str, tuple[float, float]]) -> Image.Image:
    """Put the numbers of the legend on the page, beside what they mean."""
    wide = Image.new("RGB", (page.width + 60, page.height), page.getpixel((2, 2)))
    wide.paste(page, (60, 0))
    pen, font = ImageDraw.Draw(wide), ImageFont.load_default(26)
    for number, (x, y) in corners.items():
        middle = (60 + max(x - 26, -30), y + 16)
        pen.circle(middle, 21, fill=ORANGE)
        pen.text(middle, number, fill="white", font=font, anchor="mm")
    return wide.resize((wide.width * 2 // 3, wide.height * 2 // 3), Image.Resampling.LANCZOS)


def _as_png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return small_png(file.getvalue(), colors=64)


def drawn_by(script: Path) -> bytes:
    """Run an example; give the picture that it leaves, not wider than a page."""
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, script.resolve()], cwd=folder, check=True)  # noqa: S603
        with Image.open(Path(folder) / f"{script.stem}.png") as picture:
            picture.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
            return _as_png(picture.convert("RGB"))


def main(paths: list[str]) -> None:
    """Write the pictures of these pages and examples; of none, the diagrams and figures."""
    files = {} if paths else own_pictures()
    for path in map(Path, paths):
        if path.suffix == ".py":
            files[f"gallery/{path.stem}.png"] = drawn_by(path)
        else:
            files |= screenshots(path)
    for name, content in files.items():
        (IMAGES / name).parent.mkdir(parents=True, exist_ok=True)
        (IMAGES / name).write_bytes(content)
        print(f"{len(content):>8,} {name}")


def own_pictures() -> dict[str, bytes]:
    """Give the diagrams, and the figures of a recorded run."""
    run = Run(ROOT / "tests" / "runs" / "cifar10")
    files = {"way.svg": way_of_the_data().encode(), "waves.svg": waves().encode()}
    return files | {"moons.png": moons(run), "densities.png": densities(run)}


if __name__ == "__main__":
    main(sys.argv[1:])
