"""The built pages in a browser, as wide as a phone and as a desk: ``make docs``, then these.

Every page is opened in a frame of that width by one browser that reaches no other host, and says
how wide it is, whether its pictures are there and how large, and what its list of pages holds.
"""

from __future__ import annotations

import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

BUILT = Path(__file__).resolve().parents[2] / "docs" / "_build" / "html"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
WIDTHS = (390, 1400)
THEME = re.compile(r"(search|genindex|py-modindex)\.html")
LOOK = """<!doctype html><meta charset="utf-8"><body><script>
const pages = PAGES, width = WIDTH, found = {};
const frame = document.createElement("iframe");
frame.style.cssText = `width:${width}px;height:900px;border:0`;
document.body.append(frame);
const open = page => new Promise(done => { frame.onload = done; frame.src = "/" + page; });
const wide = (page, body) => [...page.querySelectorAll("main *")].filter(e => {
  if (e.getBoundingClientRect().right <= width + 1) return false;
  for (let x = e; x && x !== body; x = x.parentElement) {
    const way = frame.contentWindow.getComputedStyle(x).overflowX;
    if (way === "auto" || way === "scroll" || way === "hidden") return false;
  }
  return true;
}).slice(0, 3).map(e => e.outerHTML.slice(0, 120));
(async () => {
  for (const name of pages) {
    await open(name);
    const page = frame.contentDocument, root = page.documentElement;
    const pictures = [...page.querySelectorAll("main img")].map(e => ({
      name: e.getAttribute("src").slice(0, 80), there: e.complete && e.naturalWidth > 0,
      shown: e.getBoundingClientRect().width, own: e.naturalWidth }));
    const links = page.querySelectorAll(".bd-sidebar-primary nav.bd-docs-nav a");
    const list = page.querySelector(".bd-sidebar-primary");
    found[name] = { width: root.scrollWidth, wide: wide(page, page.body), pictures,
      links: [...links].map(e => e.getAttribute("href")).length,
      more: [...page.querySelectorAll("button, summary")].filter(e => /^\\s*More\\s*$/.test(
        e.textContent)).length,
      listed: list ? frame.contentWindow.getComputedStyle(list).display !== "none" : false };
  }
  const result = document.createElement("pre");
  result.id = "result"; result.textContent = JSON.stringify(found);
  frame.remove(); document.body.append(result);
  await fetch("/result", { method: "POST", body: JSON.stringify(found) });
})();
</script></body>"""
SEARCH = """<!doctype html><meta charset="utf-8"><body><script>
const queries = QUERIES, found = {};
const frame = document.createElement("iframe");
document.body.append(frame);
const all = what => [...frame.contentDocument.querySelectorAll(`#search-results ${what}`)];
const finished = () => all("p").some(e => /finished/.test(e.textContent));
(async () => {
  for (const query of queries) {
    await new Promise(done => { frame.onload = done; frame.src = `/search.html?q=${query}`; });
    while (!finished()) await new Promise(later => setTimeout(later, 50));
    found[query] = all("li a").map(e => e.getAttribute("href").replace(/[#?].*/, ""));
  }
  await fetch("/result", { method: "POST", body: JSON.stringify(found) });
})();
</script></body>"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BROWSER, reason="there is no Chromium"),
    pytest.mark.skipif(
        not (BUILT / "genindex.html").exists(), reason="the pages are not built: make docs"
    ),
]


class Pages(http.server.SimpleHTTPRequestHandler):
    """The built pages, the one that looks at them, and what it found."""

    def __init__(self, *request, box, **options):
        self.box = box
        super().__init__(*request, directory=str(BUILT), **options)

    def do_GET(self):
        if self.path != "/look":
            super().do_GET()
            return
        body = self.box["page"].encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        self.box["found"] = json.loads(self.rfile.read(length))
        self.send_response(204)
        self.end_headers()
        self.box["done"].set()

    def log_message(self, *_):
        pass


def pages():
    """All pages; of the rule book and of the reference, which a script writes, every tenth."""
    own, made = [], []
    for path in sorted(BUILT.rglob("*.html")):
        name = path.relative_to(BUILT).as_posix()
        if name.startswith("_static/") or THEME.fullmatch(name):
            continue
        (made if name.startswith(("book/", "reference/generated/")) else own).append(name)
    return own + made[::10]


@functools.cache
def looked(width):
    """What a browser finds on each page, in a frame of a width in pixels."""
    names = json.dumps(pages())
    return found_by(LOOK.replace("PAGES", names).replace("WIDTH", str(width)))


def found_by(text):
    """What the script of a page finds, in a browser."""
    box = {"page": text, "done": threading.Event()}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, box=box))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    profile = BUILT.parent / "browser"
    browser = subprocess.Popen(
        [
            *[BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"],
            *["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
            *["--remote-debugging-port=0", "--window-size=1600,1000"],
            f"http://127.0.0.1:{server.server_port}/look",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert box["done"].wait(300), "the browser did not come to the end of the pages"
    finally:
        browser.terminate()
        browser.wait(20)
        server.shutdown()
        server.server_close()
        shutil.rmtree(profile, ignore_errors=True)
    return box["found"]


@pytest.mark.parametrize("width", WIDTHS)
def test_no_page_is_wider_than_the_window(width):
    found = looked(width)
    assert len(found) > 60
    wide = {name: (page["width"], page["wide"]) for name, page in found.items()}
    assert not {name: seen for name, seen in wide.items() if seen[0] > width or seen[1]}


@pytest.mark.parametrize("width", WIDTHS)
def test_pictures_are_there_and_can_be_read(width):
    """Letters of 12 pixels are drawn with at least 8; a wider picture scrolls in its place."""
    found = looked(width)
    pictures = [(name, p) for name, page in found.items() for p in page["pictures"]]
    assert len(pictures) > 8
    assert not [(name, p["name"]) for name, p in pictures if not p["there"]]
    small = [(n, p) for n, p in pictures if p["shown"] < 0.68 * p["own"]]
    assert not small


def test_the_list_of_pages_stands_beside_every_page():
    for name, page in looked(1400).items():
        assert page["listed"], name
        assert page["links"] > 35, name
        assert not page["more"], name


def test_each_page_is_in_the_list():
    """What the first page lists, at its two levels, leads to all pages that people wrote."""
    text = (BUILT / "index.html").read_text(encoding="utf-8")
    nav = re.search(r'<nav class="bd-docs-nav.*?</nav>', text, re.DOTALL)[0]
    listed = set(re.findall(r'href="([^"#]+)"', nav))
    own = {path.name for path in BUILT.glob("*.html")}
    assert own - listed <= {"index.html", "search.html", "genindex.html", "py-modindex.html"}


def test_a_search_finds_the_tape_and_the_gallery_first():
    queries = ["hessian", "norm", "neural network"]
    for query, found in found_by(SEARCH.replace("QUERIES", json.dumps(queries))).items():
        pages = [*dict.fromkeys(found)]
        assert pages[:2] == ["tape.html", "gallery.html"], query
