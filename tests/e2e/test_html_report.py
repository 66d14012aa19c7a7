"""The page of a CI run: one group for each fault with its pictures, and how Chromium shows it."""
import html
import html.parser
import json
import pathlib
import re
import shlex
import shutil
import struct
import subprocess
import zlib

import pytest

from conftest import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
FAILING = ("scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity")


class Page(html.parser.HTMLParser):
    """Elements in order, each with the text that stands directly in it."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag != "meta":
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "text": "", **dict(attrs)})

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag, name=None):
        return [one for one in self.elements if one["tag"] == tag and (name is None or name in one.get("class", "").split())]


@pytest.fixture(scope="module")
def made(new_home):
    """The planted failing kernels of examples/, with the JSON of the same run."""
    home = new_home({})
    shutil.copytree(ROOT / "examples", home.project, dirs_exist_ok=True)
    run = home.run("ci", "--quick", "--coverage", "--report", "html=report.html", "--report", "json=report.json")
    assert run.returncode == 1, run.stdout + run.stderr
    return home, (home.project / "report.html").read_text(), json.loads((home.project / "report.json").read_text())


def test_each_fault_is_one_section_with_its_pictures_first(made):
    _, text, _ = made
    page = Page(text)
    assert page.open == []
    sections = text.split("<section id=")[1:]
    titles = [one["text"] for one in page.all("h3")]
    for op in FAILING:
        assert any(op in title for title in titles), op
    assert len(sections) == len(titles) <= 6, "faults, not cases"
    for section in sections:
        assert section.index('<div class="figures">') < section.index("<dl>")
    race = next(one for one in sections if "DataRace" in one)
    for caption in ("Error of y", "Input x", "Elements by size of error", "Error against size", "Error against value strategy"):
        assert f"<strong>{caption}" in race, caption
    assert "column (last axis)" in race and "not finite" in text and 'class="tiles"' in text
    assert race.count('class="bound"') == 3, "in the histogram and in both charts"
    assert "<mark>" in race and re.search(r"DataRace: \d+ cases?</span>", race)


def test_wrong_values_have_a_line_too_where_something_explains_them(made):
    _, text, _ = made
    rows = re.findall(r'<tr><td><a href="#finding-\d+">(\w+)</a></td><td>(\w+)</td><td>(.*?)</td>', text)
    assert len(rows) > 2 and all(place for _, _, place in rows), rows
    places = {(kind, op): place for kind, op, place in rows}
    wrong = next(place for (kind, op), place in places.items() if op == "rowmax_wrong_identity")
    assert re.search(r"\.cu:\d+$", wrong), places


def test_counts_and_bars_say_the_same_as_the_json(made):
    _, text, summary = made
    for op in FAILING:
        report = next(one for one in summary["ops"] if one["op_name"] == op)
        assert len(report["samples"]) == report["cases"]
        assert sum(not one["passed"] for one in report["samples"]) == report["failed"]
    shares = re.findall(r'<span class="share no"><i style="width:([\d.]+)%"></i></span><strong>(\d+) of (\d+) cases', text)
    assert len(shares) == len(text.split("<section id=")) - 1
    for width, part, whole in shares:
        assert float(width) == pytest.approx(100 * int(part) / int(whole), abs=0.06)


def test_bars_of_a_histogram_are_as_tall_as_their_counts(made):
    _, text, _ = made
    histograms = [one for one in text.split("<figure>") if "<strong>Elements by size of error" in one]
    assert histograms
    for one in histograms:
        bars = re.findall(r'<rect class="bar[^>]* height="([\d.]+)"/><text[^>]*>(\d+)</text>', one)
        most = max(int(count) for _, count in bars)
        for height, count in bars:
            assert float(height) == pytest.approx(max(1.5, 110 * int(count) / most), abs=0.06)


def test_the_comment_has_a_row_for_each_fault_with_its_smallest_case(made):
    home, text, _ = made
    comment = home.run("report", "--format", "pr-comment").stdout
    rows = re.findall(r"^\| (\w\S*) \| (\w+) \| \S+ \| (\d+) \| gpuemu reproduce .* \| (\d+ of \d+ cases) \|$", comment.replace("\\", ""), re.M)
    shown = re.findall(r"<strong>(\d+ of \d+ cases)</strong>.*?<dt>smallest case</dt><dd>[^<]*seed (\d+)</dd>", text, re.S)
    assert [(cases, seed) for _, _, seed, cases in rows] == shown and len(rows) >= 3


def test_links_lead_to_sections_and_commands_run(made):
    home, text, _ = made
    page = Page(text)
    places = {one["id"] for one in page.elements if "id" in one}
    links = [one["href"] for one in page.all("a")]
    assert links and all(link.startswith("#") and link[1:] in places for link in links)
    assert not any("src" in one for one in page.elements) and "url(" not in text and "://" not in text
    commands = {one["text"] for one in page.all("code", "copy")}
    assert {command.split()[1] for command in commands} >= {"minimize", "reproduce", "debug", "explain"}
    for verb in ("reproduce", "explain"):
        words = shlex.split(next(command for command in sorted(commands) if command.split()[1] == verb))
        done = home.run(*words[1:])
        assert done.returncode == 0, (words, done.stderr)


def test_a_report_of_stored_failures_has_pictures_too(made):
    home, _, _ = made
    done = home.run("report", "--since-hours", "1", "--format", "html")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("<strong>Error of y") >= 1 and "<strong>Input x" in done.stdout


def test_python_draws_the_same_figures(made):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pynng")
    gpuemu = pytest.importorskip("gpuemu")
    home, _, said = made
    home.start()
    with gpuemu.Client(str(home.socket)) as client:
        run = client.get_ci_summary()
        again = client.reproduce(run.worst.seed, run.worst.op_name, details=True)
        bare = client.reproduce(run.worst.seed, run.worst.op_name)
    home.stop()
    for figure in (run.worst.plot(), again.plot()):
        heat, histogram = figure.axes[:2]
        assert run.worst.op_name in heat.get_title()
        assert [line.get_label() for line in histogram.lines] == [f"bound {said['worst']['bound']:.3g}"]
    by_size, by_strategy = run.plot("rowmax_wrong_identity").axes
    cases = sum(len(dots.get_offsets()) for dots in by_size.collections)
    assert cases == sum(len(dots.get_offsets()) for dots in by_strategy.collections) == 10
    assert [line.get_label() for line in by_size.lines] == ["bound 1"]
    with pytest.raises(ValueError, match="details=True"):
        bare.plot()


def chromium(*words):
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *words],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def brightness(png):
    """The mean of all samples of the picture's rows, each as PNG filters it off; 0 to 255."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
        if kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    assert depth == 8 and colour in (2, 6)
    size = 3 if colour == 2 else 4
    raw, stride, last, total, count = zlib.decompress(packed), width * size + 1, None, 0, 0
    for start in range(0, len(raw), stride):
        row, kind = bytearray(raw[start + 1:start + stride]), raw[start]
        for i in range(len(row)):
            left = row[i - size] if i >= size else 0
            up = last[i] if last else 0
            corner = last[i - size] if last and i >= size else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                base = left + up - corner
                row[i] = (row[i] + min((abs(base - left), 0, left), (abs(base - up), 1, up), (abs(base - corner), 2, corner))[2]) & 255
        last = row
        total, count = total + sum(row[0::size]), count + len(row) // size
    return total / count


@needs_chromium
def test_the_page_is_dark_where_the_reader_is(made, tmp_path):
    home, _, _ = made
    page, shades = home.project / "report.html", {}
    for name, words in (("light", ()), ("dark", ("--blink-settings=preferredColorScheme=0",))):
        picture = tmp_path / f"{name}.png"
        chromium(f"--screenshot={picture}", "--window-size=600,500", *words, page.as_uri())
        shades[name] = brightness(picture)
    assert shades["light"] > 200 and shades["dark"] < 70, shades


MEASURE = """<!DOCTYPE html><iframe id=f style="border:0;width:{width}px;height:900px" srcdoc="{page}"></iframe><pre id=o></pre><script>
document.getElementById('f').onload = (event) => {{
  const page = event.target.contentDocument, width = (one) => one.getBoundingClientRect().width;
  const bars = [...page.querySelectorAll('.share')].filter((one) => width(one) > 0);
  const svgs = [...page.querySelectorAll('svg')].filter((one) => width(one) > 0);
  document.getElementById('o').textContent = 'MEASURED' + JSON.stringify({{
    page: page.documentElement.scrollWidth,
    bars: bars.map((one) => [width(one.firstElementChild) / width(one), parseFloat(one.firstElementChild.style.width)]),
    svgs: svgs.map((one) => [one.getBoundingClientRect().height / width(one), one.viewBox.baseVal.height / one.viewBox.baseVal.width]),
    sections: [...page.querySelectorAll('section')].map(width),
    columns: new Set([...page.querySelectorAll('section')[1].querySelectorAll('figure')].map((one) => one.getBoundingClientRect().left)).size,
  }}) + 'END';
}};
</script>"""


@needs_chromium
@pytest.mark.parametrize("width, columns", [(390, 1), (1200, 3)])
def test_the_page_fits_phones_and_keeps_its_proportions(made, tmp_path, width, columns):
    _, text, _ = made
    # The page forbids scripts; the one that measures stands around it.
    open_page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    assert open_page != text
    measure = tmp_path / "measure.html"
    measure.write_text(MEASURE.format(width=width, page=html.escape(open_page)))
    dom = chromium("--dump-dom", "--virtual-time-budget=10000", "--window-size=1400,1000", measure.as_uri())
    found = json.loads(html.unescape(dom.split("MEASURED{", 1)[1].split("}END", 1)[0]).join("{}"))
    assert found["page"] <= width, "nothing sticks out"
    assert found["columns"] == columns
    assert found["bars"] and found["svgs"]
    for shown, said in found["bars"]:
        assert shown == pytest.approx(said / 100, abs=0.01)
    for shown, drawn in found["svgs"]:
        assert shown == pytest.approx(drawn, rel=0.02)
