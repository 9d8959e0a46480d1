"""Pages of docs: they are few and short, and what they name exists.

Every dotted path in backticks that begins with a package of this project can be imported or looked
up, every path of a file or folder exists, every link leads to a page and a heading, every import in
a code block names what is there. Every design page has its header, and docs/design/index.md lists
it so; docs/terms.md has at most 30 entries. Pages import nothing of the core but its public names.
"""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from chainrules_py import extend
from chainrules_py.cli.commands import commands
from tests.fake_gpu.backend import is_importable

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BUILT = {"_build", "generated", "jupyter_execute"}
PAGES = [
    *sorted(p for p in DOCS.rglob("*.md") if not BUILT & {*p.relative_to(DOCS).parts}),
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]
LINKING = [*PAGES, *(ROOT / f"{n}.md" for n in ("CHANGELOG", "SECURITY", "examples/README"))]
DESIGN = sorted(p for p in (DOCS / "design").glob("*.md") if p.name != "index.md")
PACKAGES = ["chainrules_py", *sorted(p.name for p in (ROOT / "backends").glob("chainrules_*"))]
# What a page tells people to make.
INVENTED = ("chainrules_yours", "backends/numpy", "yours.")
HEADER = re.compile(r"^\*Decision (\d+) · (\d{4}-\d\d-\d\d) · (.+)\*$", re.MULTILINE)
STATUS = re.compile(r"accepted|(in part )?superseded by \[\d+\]\([a-z-]+\.md\)")
ROW = re.compile(r"^\| (\d+) \| \[(.+?)\]\(([a-z-]+\.md)\) \| ([\d-]+) \| (.+?) \|$", re.MULTILINE)
BLOCK = re.compile(r"^```(?:\{code-cell\} )?python3?\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Modules that anybody may import; entry points and settings name others.
OPEN = (
    "chainrules_py",
    "chainrules_py.composites.higher_order",
    "chainrules_numpy.composites.mapping",
    "chainrules_kit",
    "chainrules_kit.custom_derivatives",
    "chainrules_compile",
    "chainrules_compile.c",
    "chainrules_py.extend",
    "chainrules_py.program",
    "chainrules_py.testing",
    "chainrules_py.ops",
)
PART = ("chainrules_py.testing.", "chainrules_py.ops.")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def text_of(page):
    return page.read_text(encoding="utf-8")


def in_backticks(text):
    """What stands in single backticks outside of code blocks."""
    prose = re.sub(r"^ *(```|~~~).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", prose)


def exists(dotted):
    """Whether a dotted path is a module, or an attribute of one."""
    parts = dotted.split(".")
    if parts[0] == "chainrules_cupy" and not is_importable():
        return True
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("chainrules_"):
                continue
            return True  # its library is not installed here
        for attribute in parts[cut:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


ENTRY_POINTS = {"backends", "compilers", "engines", "exporters", "rules", "writers"}
ENTRY_POINTS |= {"operations", "operators"}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_dotted_paths_exist(page):
    missing = []
    for code in in_backticks(text_of(page)):
        for dotted in re.findall(r"(?<![\w./])(chainrules_\w+(?:\.\w+)*)", code):
            top, _, rest = dotted.partition(".")
            group = top == "chainrules_py" and rest in ENTRY_POINTS
            known = top in PACKAGES
            if known and not group and not dotted.endswith(".py") and not exists(dotted):
                missing.append(dotted)
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_files_and_folders_exist(page):
    """A path is relative to the root, the core, the backends, or the page; ``{a,b}`` expands."""
    missing = []
    bases = [ROOT, ROOT / "chainrules_py", ROOT / "backends", page.parent]
    for code in in_backticks(text_of(page)):
        path = code.partition("::")[0].strip()
        is_file = re.fullmatch(r"[\w./*{},-]+\.(py|pyi|csv|md|toml|svg)", path)
        first = path.partition("/")[0]
        is_folder = "/" in path and (
            first in {"tests", "benchmarks", "docs", "examples", "backends"} or first in PACKAGES
        )
        if not (is_file or is_folder) or "/" not in path or any(w in path for w in INVENTED):
            continue
        if "_build" in path or "<" in path:  # made by a build; named by whoever adds one
            continue
        places = expand(path.rstrip("/"))
        missing += [one for one in places if not any([*base.glob(one)] for base in bases)]
    assert not missing


def anchors_of(page):
    """What links may name: labels, and headings in the form that MyST and Git hosts give them."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w\- ]", "", h.lower().strip()).replace(" ", "-") for h in headings]
    return {*slugs, *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_links_lead_to_a_page_and_a_heading(page):
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    broken = []
    for target in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", prose):
        file, _, anchor = target.partition("#")
        path = page.parent / file if file else page
        if not path.exists() or (anchor and anchor not in anchors_of(path)):
            broken.append(target)
    assert not broken


def test_pages_are_few():
    assert len([*DOCS.glob("*.md")]) <= 40
    assert len(DESIGN) <= 12


WORD = re.compile(r"\S*[^\W_]\S*")


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_paragraphs_have_at_most_90_words_and_cells_25(page):
    """But for tables that a script writes."""
    made = r"^```.*?^```|^<!-- [^\n]* begin.*?end -->"
    prose = re.sub(made, "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    long = []
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose):
        is_table = block.lstrip().startswith("|")
        pieces = re.split(r"(?<!\\)\||\n", block) if is_table else [block]
        limit = 25 if is_table else 90
        long += [piece.strip()[:60] for piece in pieces if len(WORD.findall(piece)) > limit]
    assert not long


@pytest.mark.parametrize("page", LINKING, ids=name_of)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page):
    """A renderer drops the cells beyond."""
    text = re.sub(r"^```.*?^```", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        rows = [re.sub(r"`[^`]*`", "", row) for row in table.splitlines()]
        assert len({row.count("|") - row.count(r"\|") for row in rows}) == 1, table[:200]


def test_the_commands_that_take_json_are_those_that_the_page_names():
    (listed,) = re.findall(r"; (.*) take `--json`", text_of(DOCS / "command-line.md"))
    takes = [
        name for name, c in commands.commands.items() if any(p.name == "as_json" for p in c.params)
    ]
    assert sorted(re.findall(r"`(\w+)`", listed)) == sorted(takes)


@pytest.mark.parametrize("page", DESIGN, ids=name_of)
def test_a_design_page_has_300_to_800_words(page):
    assert 300 <= len(WORD.findall(text_of(page))) <= 800


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_tests_that_are_named_exist(page):
    """A test is named by its file and its own name; the file by any end of its path."""
    missing = []
    for code in in_backticks(text_of(page)):
        file, _, test = code.partition("::")
        if test.isidentifier():
            sources = [*(ROOT / "tests").rglob(file.removeprefix("tests/"))]
            if not any(re.search(rf"^def {test}\(", text_of(p), re.MULTILINE) for p in sources):
                missing.append(code)
    assert not missing


def expand(path):
    """Paths that a path with one pair of braces stands for."""
    found = re.fullmatch(r"(.*)\{(.+)\}(.*)", path)
    if not found:
        return [path]
    before, middle, after = found.groups()
    return [f"{before}{m}{after}" for m in middle.split(",")]


def imports_of(text):
    """Pairs of module and name, for all imports in blocks of Python."""
    for block in re.findall(
        r"^```(?:\{code-cell\} )?python3?\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    ):
        for line in block.splitlines():
            if re.match(r"\s*(from|import) chainrules_", line):
                try:
                    tree = ast.parse(line.strip())
                except SyntaxError:  # several lines: the first tells the module
                    yield line.split()[1], None
                    continue
                for node in ast.walk(tree):
                    if isinstance(node, ast.Import):
                        yield from ((a.name, None) for a in node.names)
                    elif isinstance(node, ast.ImportFrom):
                        yield from ((node.module, a.name) for a in node.names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_pages_come_in_by_the_face_or_the_door(page):
    for module, name in imports_of(text_of(page)):
        if module.partition(".")[0] not in PACKAGES:
            continue
        assert exists(module if name is None else f"{module}.{name}"), (module, name)
        if module.startswith("chainrules_py"):
            assert module in OPEN or module.startswith(PART), module


@pytest.mark.parametrize("page", DESIGN, ids=name_of)
def test_design_page_has_number_date_and_status(page):
    title, _, rest = text_of(page).partition("\n")
    assert title.startswith("# ")
    header = HEADER.match(rest.lstrip("\n"))
    assert header, f"{page.name}: '*Decision N · YYYY-MM-DD · accepted*' belongs below the title"
    assert STATUS.fullmatch(header[3]), header[3]


def test_index_lists_each_design_page_as_its_header_says():
    index = text_of(DOCS / "design" / "index.md")
    row = re.compile(
        r"^\| (\d+) \| \[(.+?)\]\(([a-z-]+\.md)\) \| ([\d-]+) \| (.+?) \|$", re.MULTILINE
    )
    listed = {file: (n, title, date, status) for n, title, file, date, status in row.findall(index)}
    found = {}
    for page in DESIGN:
        n, date, status = HEADER.search(text_of(page)).groups()
        title = text_of(page).partition("\n")[0].removeprefix("# ")
        found[page.name] = (n, title, date, status)
    assert listed == found
    assert sorted(int(n) for n, *_ in found.values()) == [*range(1, len(found) + 1)]


def test_page_of_terms_has_at_most_thirty():
    text = text_of(DOCS / "terms.md")
    entries = re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE)
    assert 20 <= len(entries) <= 30
    assert len({*entries}) == len(entries)


SOURCES = [
    path
    for folder in ("chainrules_py", "backends", "tests", "benchmarks", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def test_pages_that_the_code_names_exist():
    named = re.compile(r"docs/[\w./-]+\.(?:md|csv|svg)")
    missing = [
        f"{name_of(source)}: {page}"
        for source in SOURCES
        for page in named.findall(text_of(source))
        if not (ROOT / page).exists()
    ]
    assert not missing


def test_the_page_of_the_engine_door_has_a_table_for_every_module():
    page = (DOCS / "extend.md").read_text()
    listed = [name for line in re.findall(r"```\{extend\} (.*)", page) for name in line.split()]
    homes = [f"{home}." for home in extend._HOMES]
    assert not [home for home in homes if not any([home.startswith(f"{x}.") for x in listed])]


@pytest.mark.parametrize(
    "path", sorted((ROOT / "chainrules_py" / "ops").glob("[a-z]*.py")), ids=lambda p: p.stem
)
def test_modules_of_operations_list_their_names(path):
    """Of which the documentation makes a table."""
    module = importlib.import_module(f"chainrules_py.ops.{path.stem}")
    assert all([hasattr(module, name) for name in module.__all__])


def test_each_package_with_pages_is_in_the_list_of_the_reference():
    """What a script writes is reached from a page, or the documentation does not build."""
    text = text_of(DOCS / "reference" / "index.md")
    listed = set(re.findall(r"^generated/([\w.]+)$", text, re.MULTILINE))
    source = ast.parse(text_of(DOCS / "_ext" / "api_pages.py"))
    lists = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in source.body
        if isinstance(node, ast.Assign) and node.targets[0].id in {"PACKAGES", "FACES"}
    }
    assert listed == {*lists["PACKAGES"], *lists["FACES"]}
    # Rows, which nobody imports; and the folder of small adapters, each of which has a page.
    without = {"chainrules_cupy", "chainrules_engines", "chainrules_numpy"}
    assert {*PACKAGES} - listed == without
