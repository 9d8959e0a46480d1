"""Pages whose programs are run: what a program gives stands below it, and is compared.

A notebook page has ``{code-cell}`` blocks, whose outputs the documentation's build adds. A plain
page has ``python`` blocks, each with its output in a ``text`` block below, so that it can be read
on any Git host. ``python -m tests.house.pages tape jax`` runs plain pages, each in a process of its
own, and writes their outputs, pictures and tables anew; without a name, all of them.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from chainrules_py.cli import OBSTACLES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CELL = re.compile(r"^```\{code-cell\} python3\n((?::[^\n]*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?"
    r"(?P<pictures>(?:\n!\[[^\]\n]*\]\(_static/[\w./-]+\)\n)*)",
    re.MULTILINE | re.DOTALL,
)
NOT_RUN = "<!-- not run -->\n"
ERROR = re.compile(r"^\w*(Error|Exception|Warning)\b:?", re.MULTILINE)
TABLE = re.compile(r"(<!-- table: ([\w.-]+)(?:, (\d+) columns)? -->\n\n)(?:\|.*\n)+")
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[+-]?\d+)?")
TIME = re.compile(r"\d+\.?\d* (?:us|µs|ms)\b")
DRIVER = """\
import ast, contextlib, io, json, linecache, pprint, re, sys, traceback
from pathlib import Path

SPACE = {"__name__": "__main__"}
NAME = re.compile(r"^(?:\\w+\\.)+(?=\\w+(?:Error|Exception|Warning)\\b)", re.MULTILINE)

def spelled(value):
    text = repr(value)
    if len(text) > 100 and "\\n" not in text:
        text = pprint.pformat(value, width=100, sort_dicts=False)
    return text

def given(text, name):
    *body, last = ast.parse(text).body or [ast.Pass(lineno=1, col_offset=0)]  # comments alone
    ends_in_value = isinstance(last, ast.Expr) and not text.rstrip().endswith(";")
    exec(compile(ast.Module(body if ends_in_value else [*body, last], []), name, "exec"), SPACE)
    if ends_in_value:
        value = eval(compile(ast.Expression(last.value), name, "eval"), SPACE)
        if hasattr(value, "_repr_svg_"):
            Path(FOLDER, f"{i}-1.svg").write_text(value._repr_svg_(), encoding="utf-8")
        elif value is not None:
            print(spelled(value))

def drawn(i):
    pyplot = sys.modules.get("matplotlib.pyplot")
    numbers = pyplot.get_fignums() if pyplot else []
    for number in numbers:
        pyplot.figure(number).savefig(Path(FOLDER) / f"{i}-{number}.png", bbox_inches="tight")
    if numbers:
        pyplot.close("all")

found = []
for i, (text, raises) in enumerate(BLOCKS):
    name, said = f"<block {i}>", io.StringIO()
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    with contextlib.redirect_stdout(said):
        try:
            given(text, name)
        except Exception as error:
            if not raises:
                raise
            print(NAME.sub("", "".join(traceback.format_exception_only(error))), end="")
        else:
            assert not raises, f"this block is meant to raise: {text}"
    drawn(i)
    found.append(said.getvalue())
(Path(FOLDER) / "found.json").write_text(json.dumps(found))
"""


@dataclass(frozen=True)
class Block:
    """A program of a page, and what the page says that it gives."""

    code: str
    shown: str
    raises: bool
    hidden: bool = False


def text_of(page: str) -> str:
    """What stands on a page."""
    return (DOCS / f"{page}.md").read_text(encoding="utf-8")


def is_notebook(page: str) -> bool:
    """Whether the build of the documentation runs a page."""
    return "file_format: mystnb" in text_of(page)[:200]


def blocks(page: str) -> list[Block]:
    """The programs that are run, in order."""
    text = text_of(page)
    if is_notebook(page):
        text = re.sub(r"^%.*$", "", text, flags=re.MULTILINE)  # a notebook's own commands
        return [
            Block(code.lstrip("\n"), "", "raises-exception" in tags, "remove-cell" in tags)
            for tags, code in CELL.findall(text)
            if code.strip()
        ]
    return [
        Block(found["code"], found["shown"] or "", bool(ERROR.search(found["shown"] or "")))
        for found in BLOCK.finditer(text)
        if not text[: found.start()].endswith(NOT_RUN)
    ]


def run(
    programs: list[Block], folder: Path, python: str = sys.executable, where: Path = DOCS
) -> list[str]:
    """Return what each program gives, in one new process; its pictures are put into the folder."""
    script = folder / "blocks.py"
    told = [(block.code, block.raises) for block in programs]
    script.write_text(f"BLOCKS, FOLDER = {told!r}, {str(folder)!r}\n{DRIVER}", encoding="utf-8")
    # Sets of names, of which a text may be made, are in one order.
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [python, str(script)],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found: list[str] = json.loads((folder / "found.json").read_text(encoding="utf-8"))
    return [tidy(text) for text in found]


def tidy(text: str) -> str:
    """Return an output without what is of this machine."""
    text = re.sub(r"<block \d+>", "this page", text)
    text = re.sub(r"[^\s'\"(]*/site-packages/", "", text)
    text = text.replace(f"{ROOT}/backends/", "").replace(f"{ROOT}/", "")
    text = re.sub(
        r"^Explanation:\n(?: .*\n?)*", "", text, flags=re.MULTILINE
    )  # hypothesis', of lines
    lines = [line.rstrip() for line in text.splitlines()]
    return "".join([f"{line}\n" for line in lines]) if text.strip() else ""


def same(shown: str, found: str) -> bool:
    """Whether outputs agree: words exactly, numbers to rounding; spaces and times do not count."""
    shown, found = (TIME.sub("#", text) for text in (shown, found))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", found).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(found), strict=True)
    return all([math.isclose(float(a), float(b), rel_tol=1e-5, abs_tol=1e-9) for a, b in pairs])


def table(name: str, columns: int | None = None) -> str:
    """Return a file of the documentation, or what the doctor finds, as a table in Markdown."""
    if name == "obstacles":
        rows = [["called", "write"]]
        rows += [[f"`{one_line(text)}`" for text in (x.before, x.after)] for x in OBSTACLES]
    else:
        with (DOCS / name).open(encoding="utf-8", newline="") as file:
            rows = [row[:columns] for row in csv.reader(file)]
    head, *body = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join([f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *body]])


def one_line(body: str) -> str:
    """Return the statements of a function's body that show what is called, in one line."""
    lines = [line.strip().removeprefix("return ") for line in body.split("\n")]
    return "; ".join([line for line in lines if line not in ("np.sum(b)", "np.sum(y)")])


def with_tables(text: str) -> str:
    """Return the text of a page with its tables made anew."""

    def one(found: re.Match[str]) -> str:
        return found[1] + table(found[2], int(found[3]) if found[3] else None)

    return TABLE.sub(one, text)


def write(page: str) -> None:
    """Run a page, and write what it gives; an output that agrees stays as it is."""
    text = text_of(page)
    pictures = DOCS / "_static" / page
    with tempfile.TemporaryDirectory() as name:
        found = iter(enumerate(run(blocks(page), Path(name))))

        def one(block: re.Match[str]) -> str:
            if text[: block.start()].endswith(NOT_RUN):
                return block[0]
            i, given = next(found)
            if same(block["shown"] or "", given):
                given = block["shown"] or ""
            made = f"```python\n{block['code']}```\n"
            made += f"\n```text\n{given}```\n" if given else ""
            drawn = sorted(Path(name).glob(f"{i}-*"))
            titles = re.findall(r"!\[([^\]\n]*)\]\(_static/([\w./-]+)\)", block["pictures"])
            titles += [("A picture", f"{page}/{path.name}") for path in drawn[len(titles) :]]
            for (title, path), picture in zip(titles, drawn, strict=True):
                pictures.mkdir(exist_ok=True)
                (DOCS / "_static" / path).write_bytes(picture.read_bytes())
                made += f"\n![{title}](_static/{path})\n"
            return made

        (DOCS / f"{page}.md").write_text(with_tables(BLOCK.sub(one, text)), encoding="utf-8")


PLAIN = [
    path.stem
    for path in sorted(DOCS.glob("*.md"))
    if not is_notebook(path.stem)
    and ("<!-- table: " in text_of(path.stem) or any([b.shown for b in blocks(path.stem)]))
]
"""The pages that show outputs on any Git host: those that README links, among others."""


if __name__ == "__main__":
    for chosen in sys.argv[1:] or PLAIN:
        write(chosen)
