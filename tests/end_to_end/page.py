#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page at "/" in a real browser: live on every machine, what a screen reader says of it, contrast, order of headings, rows that
stay, a history when it opens, hostile names, no script, a hidden tab, an exporter that goes away. Prints when a warm browser painted it.

usage: page.py EXPORTER_BINARY REPOSITORY_ROOT [--whole] [FOLDER_FOR_PICTURES]
--whole: every simulated machine, each watched for a minute, which takes twelve. Otherwise four, two of which are watched for a quarter of one.
IGPU_UPDATE=1 rewrites end_to_end/page_trees.
"""
import base64
import difflib
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from exporter_under_test import Exporter, check, finish, wait_for  # noqa: E402

WIDTHS = [320, 390, 1440, 2560]
TREES = pathlib.Path(__file__).resolve().parent / "page_trees"
PARTS_OF_TEXT = {"generic", "none", "StaticText", "InlineTextBox", "LineBreak"}
HOSTILE = ["<img src=x onerror=\"document.title='owned'\">", "</td><script>document.title='owned'</script>", "\u202eevil\u0000", "a" * 300,
           "javascript:alert(1)", "'\"><svg onload=document.title='owned'>", "${document.title='owned'}", "__proto__", "constructor"]


class Browser:
    """Debian's chromium, by the protocol of its driver."""

    def __init__(self, folder, scripts=True):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.base = f"http://127.0.0.1:{port}"
        self.log = open(folder / "driver.log", "w")
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=self.log, stderr=self.log)
        wait_for(self.ready, "the driver of the browser is ready")
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                            f"--user-data-dir={folder}/profile"]}
        if not scripts:
            options["prefs"] = {"profile.managed_default_content_settings.javascript": 2}
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"}, "goog:chromeOptions": options}}})
        self.session = "/session/" + session["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait()
            self.log.close()

    def ready(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def call(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"FAIL {path}: {error.read().decode()[:500]}") from error

    def devtools(self, command, **parameters):
        return self.call("POST", self.session + "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def open(self, url, width=1280, dark=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": []})

    def complaints(self):
        """What it wrote to its console since the last call: also each violation of the page's policy."""
        return [entry["message"] for entry in self.call("POST", self.session + "/se/log", {"type": "browser"})]

    def picture(self, path):
        height = min(int(self.devtools("Page.getLayoutMetrics")["cssContentSize"]["height"]), 4000)
        shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": self.devtools("Page.getLayoutMetrics")["cssLayoutViewport"]["clientWidth"], "height": height, "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))


class Between(http.server.ThreadingHTTPServer):
    """Stands between the browser and the exporter: counts what is asked, changes readings, and goes away when told."""
    daemon_threads = True

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.exporter, self.asked, self.away, self.change = port, 0, False, lambda reading: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, *_):
        pass  # the browser went away

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked += 1
            if self.server.away:
                self.close_connection = True
                return
            with urllib.request.urlopen(f"http://127.0.0.1:{self.server.exporter}{self.path}", timeout=120) as answer:
                body, headers = answer.read(), answer.headers
            if self.path.startswith("/api/v1/snapshot?view=page"):
                reading = json.loads(body)
                self.server.change(reading)
                body = json.dumps(reading).encode()
            self.send_response(200)
            for name in ("Content-Type", "Content-Security-Policy", "X-Content-Type-Options"):
                if name in headers:
                    self.send_header(name, headers[name])
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass


def is_live(browser):
    return browser.run("return document.getElementById('still').hidden")


def spoken(browser):
    """The accessibility tree, a line for each role with its name, and the text of paragraphs. Without what differs from one reading,
    build or place to the next: values, the rows of processes, commands, the version."""
    nodes = {node["nodeId"]: node for node in browser.devtools("Accessibility.getFullAXTree")["nodes"]}
    lines = []

    def roles_of(node):
        return {node["role"]["value"]}.union(*(roles_of(nodes[child]) for child in node.get("childIds", []) if child in nodes))

    def text_of(node):
        own = [node["name"]["value"]] if node["role"]["value"] == "StaticText" else []
        return " ".join(own + [text_of(nodes[child]) for child in node.get("childIds", []) if child in nodes]).strip()

    def walk(node, depth):
        role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
        if role == "contentinfo" or (role == "row" and "columnheader" not in roles_of(node)):
            return
        if role == "paragraph" and "code" not in roles_of(node):
            name = text_of(node)
        name = re.sub(r"\b(high|full|warning): ", "", name)  # at some moments
        said = not node.get("ignored") and role not in PARTS_OF_TEXT
        if said:
            lines.append("  " * depth + f"{role} {re.sub(r'(?<![a-zA-Z0-9])[0-9][0-9.,]*', '#', name)}".rstrip() + "\n")
        for child in node.get("childIds", []):
            if child in nodes:
                walk(nodes[child], depth + said)

    for root in [node for node in nodes.values() if not node.get("parentId")]:
        walk(root, 0)
    # The commands depend on the place: from the first box of what to do, which has them, to the second.
    boxes = [i for i, line in enumerate(lines) if line.strip() == "strong"]
    of_place = len(boxes) > 1 and any("button Copy" in line for line in lines[boxes[0]:boxes[1]])
    return lines[:boxes[0] + 1] + lines[boxes[1]:] if of_place else lines


def check_tree(browser, what):
    """Whoever hears the page instead of seeing it: everything has a name, and the whole is what was reviewed."""
    for node in browser.devtools("Accessibility.getFullAXTree")["nodes"]:
        role, name = node.get("role", {}).get("value"), node.get("name", {}).get("value", "")
        if not node.get("ignored") and role in ("meter", "button", "link", "image", "img", "navigation", "heading", "columnheader"):
            check(name.strip(), f"{what}: a {role} has no name")
    file = TREES / f"{what}.txt"
    if not file.exists():
        return  # of the machines of --whole only the names are checked
    if os.environ.get("IGPU_UPDATE") == "1":
        time.sleep(3)  # what is asked for after the first reading
        file.write_text("".join(spoken(browser)))
    golden = file.read_text().splitlines(keepends=True)
    wait_for(lambda: spoken(browser) == golden,
             lambda: f"{what}: a screen reader says what {file.name} has; IGPU_UPDATE=1 rewrites it:\n" +
                     "".join(difflib.unified_diff(golden, spoken(browser), "reviewed", "now")))


def check_widths(browser, url, what, pictures):
    for width in WIDTHS:
        for dark in (False, True) if width == 1440 else (False,):
            browser.open(url, width, dark)
            wait_for(lambda: is_live(browser), f"{what}: live")
            name = f"{what}, {width}{' dark' if dark else ''}"
            check(browser.run("return document.documentElement.scrollWidth") <= width, f"{name}: it has to be scrolled sideways")
            pale = browser.run(PALE)
            check(pale == [], f"{name}: contrast below 4.5: {pale}")
            if width == 390:
                hidden = browser.run("return [...document.querySelectorAll('.chip')].filter((c) => c.getBoundingClientRect().bottom > 844).length")
                check(hidden == 0, f"{name}: {hidden} GPUs are below the first screen")
            if width == 1440 and what == "rack":
                users = browser.run("return [...document.querySelectorAll('.users tbody tr')].filter((r) => r.getBoundingClientRect().bottom <= 900).length")
                check(users > 0, f"{name}: the first users are below the first screen")
            if pictures:
                browser.picture(pictures / f"{what}-{width}{'-dark' if dark else ''}.png")


def check_machine(browser, url, what, pictures):
    check_widths(browser, url, what, pictures)
    levels = browser.run("return [...document.querySelectorAll('h1,h2,h3,h4')].filter((h) => h.checkVisibility()).map((h) => +h.tagName[1])")
    check(levels[:1] == [1] and all(b <= a + 1 for a, b in zip(levels, levels[1:])), f"{what}: order of headings {levels}")
    check_tree(browser, what)
    complaints = browser.complaints()
    check(complaints == [], f"{what}: the browser complains: {complaints}")


# Names and words of the chips.
CHIPS = "return [...document.querySelectorAll('.chip')].map((c) => c.querySelector('b').textContent + ': ' + c.querySelector('.word').textContent)"

# Texts that are hard to read on what is behind them: WCAG's contrast.
PALE = """
const light = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map((x) => x / 255).map((x) => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$|transparent/.test(colour)) return colour;
  }
  return 'rgb(255, 255, 255)';
};
const texts = [...document.body.querySelectorAll('*')].filter((e) => e.checkVisibility() && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
return texts.filter((e) => {
  const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05) < 4.5;
}).map((e) => e.textContent.trim().slice(0, 40));
"""

# Rows whose place or height changed since the call before; null if rows have come or gone meanwhile, with which others move.
MOVED = """
const rows = [...document.querySelectorAll('.chip, .gpu, .engine, .tile, .panel tbody tr')];
const before = window.seen;
window.seen = new Map(rows.map((row) => [row, row.getBoundingClientRect()]));
if (!before || before.size !== rows.length || rows.some((row) => !before.has(row))) return null;
const texts = (row) => row.textContent.trim().slice(0, 30);
return rows.filter((row) => {
  const [was, is] = [before.get(row), window.seen.get(row)];
  return was.top !== is.top || was.height !== is.height;
}).map(texts);
"""


def check_stillness(browser, url, what, seconds):
    """Nothing jumps while somebody reads it."""
    browser.open(url, 1440)
    wait_for(lambda: is_live(browser), f"{what}: live")
    time.sleep(3)  # the second reading has what the first had no window for
    same = 0
    for _ in range(2 * seconds):
        moved = browser.run(MOVED)
        same += moved is not None
        check(not moved, f"{what}: rows moved: {moved}")
        time.sleep(0.5)
    check(same > seconds / 2, f"{what}: rows came and went all the time ({same})")


def check_history(browser, exporter):
    """Lines that are there when the page opens, from readings that others asked for."""
    for _ in range(3):
        urllib.request.urlopen(exporter.url, timeout=60).read()
        time.sleep(5.2)
    browser.open(exporter.url.removesuffix("metrics"))
    points = "return [...document.querySelectorAll('.engine .stroke')].map((p) => (p.getAttribute('d').match(/[ML]/g) || []).length)"
    # The first reading of the page draws: before there could be three of its own.
    drawn = wait_for(lambda: browser.run(points), "lines")
    check(min(drawn) >= 3, f"points of the engines' lines when it opens: {drawn}")
    last = "[...document.querySelectorAll('.range button')].pop()"
    browser.run(f"{last}.click()")
    check(browser.run(f"return {last}.getAttribute('aria-pressed')") == "true", "the last minute")
    check(browser.run("return document.querySelector('.engine svg').getAttribute('aria-label')").startswith("last minute: "), "lines of a minute")
    browser.run("""const line = document.querySelector('.engine svg'), box = line.getBoundingClientRect();
                   line.dispatchEvent(new PointerEvent('pointermove', {clientX: box.right - 1, clientY: box.top + 1}))""")
    tip = browser.run("return document.querySelector('.tip').innerText")
    check(re.search(r"\d.* %.*peak .* %", tip), f"value and peak under the pointer: {tip!r}")


def check_users(browser, exporter):
    """Sorted by name until a column is chosen; what is typed filters."""
    browser.open(exporter.url.removesuffix("metrics"), 1440)
    wait_for(lambda: is_live(browser), "live")
    names = "return [...document.querySelectorAll('.users tbody tr')].map((row) => row.cells[0].textContent)"
    shown = browser.run(names)
    check(len(shown) > 5 and shown == sorted(shown, key=str.casefold), f"users by name: {shown}")
    busiest = "[...document.querySelectorAll('.users th button')].find((b) => b.textContent === 'video')"
    browser.run(f"{busiest}.click()")
    loads = [float(text.removesuffix(" %")) if "%" in text else 0 for text in browser.run(
        "return [...document.querySelectorAll('.users td.c-video')].map((cell) => cell.textContent)")]
    check(loads == sorted(loads, reverse=True), f"users by video: {loads}")
    check(browser.run(f"return {busiest}.parentElement.getAttribute('aria-sort')") == "descending", "the sorted column says so")
    browser.run("""document.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}));
                   const filter = document.querySelector('.users input'); filter.value = 'FFmpeg'; filter.dispatchEvent(new Event('input'))""")
    check(browser.run("return document.activeElement === document.querySelector('.users input')"), "the key / begins to filter")
    processes = browser.run("return [...document.querySelectorAll('.users td.c-process')].map((cell) => cell.textContent)")
    check(processes and all("ffmpeg" in text for text in processes), f"filtered by ffmpeg: {processes}")


def check_channels(browser, exporter):
    """Pictures a second, and who is the workload of a process."""
    browser.open(exporter.url.removesuffix("metrics"), 1440)
    channels = "return [...document.querySelectorAll('.channels tbody tr')].map((row) => row.cells[0].textContent)"
    wait_for(lambda: "jellyfin" in browser.run(channels), "a channel for each workload")
    rates = "return [...document.querySelectorAll('.channels td.r')].map((cell) => parseFloat(cell.textContent))"
    wait_for(lambda: any((rate or 0) > 10 for rate in browser.run(rates)), "pictures a second")
    users = browser.run("return [...document.querySelectorAll('.users tbody tr')].map((row) => row.innerText)")
    check(any("jellyfin" in user and "ffmpeg" in user for user in users), f"a process in its workload: {users}")


def shown(browser):
    return browser.run("return document.body.innerText")


def check_machines(browser, exporters, pictures):
    for profile, exporter in exporters.items():
        check_machine(browser, exporter.url.removesuffix("metrics"), profile, pictures)
        text = shown(browser)
        if profile == "rack":
            check("Users" in text and "video 1" in text and "W" in text, f"rack: {text[:500]}")
            check(len(browser.run(CHIPS)) == 3, f"rack: {browser.run(CHIPS)}")
            meters = browser.run("return [...document.querySelectorAll('[role=meter]')].map((m) => m.getAttribute('aria-valuetext'))")
            check(len(meters) > 12 and all(re.fullmatch(r"[0-9.]+ %(, high|, full)?", meter) for meter in meters), f"rack: engines {meters}")
        if profile == "locked":
            check("Missing:" in text and "Copy" in text, f"locked: {text[:500]}")
            check("Iris Xe Graphics: NO PERMISSION" in browser.run(CHIPS), f"locked: {browser.run(CHIPS)}")
            browser.run("document.querySelector('.command button').click()")
        if profile == "asleep":
            check("Asleep. Values appear when a program wakes it." in text, f"asleep: {text[:500]}")
            check(any(chip.endswith(": ASLEEP") for chip in browser.run(CHIPS)), f"asleep: {browser.run(CHIPS)}")
        if profile == "none":
            check("No Intel GPU" in text and "0 GPUs" in text, f"no GPU: {text[:500]}")


def check_eight(browser, between, pictures):
    def eight(reading):
        cards = reading["gpus"][1:]
        reading["gpus"] = [cards[i % 2] | {"device": f"0000:{i + 1:02x}:00.0", "card": f"card{i}"} for i in range(8)]
        reading["gpus"][3]["state"] = {"word": "LIMITED", "why": "pl1, thermal, memory"}
        reading["gpus"][6]["state"] = {"word": "ASLEEP"}

    between.change = eight
    check_widths(browser, between.url, "eight", pictures)
    check(len(browser.run(CHIPS)) == 8, f"eight: {browser.run(CHIPS)}")
    between.change = lambda reading: None


def check_hostile(browser, between, pictures):
    def hostile(reading):
        for gpu in reading["gpus"]:
            gpu["name"] = HOSTILE[0]
            for number in range(60):
                name = HOSTILE[number % len(HOSTILE)]
                gpu["processes"].append({"pid": 100 + number, "comm": name, "place": HOSTILE[1], "busy": {name: 0.5}})
            gpu["workloads"] += [{"workload": name, "busy": {}} for name in HOSTILE]
            gpu["out_of_service"] = "wedged"
            gpu["state"] = {"word": "HUNG", "why": HOSTILE[1], "since": 5}
            gpu["hangs"] = [{"kind": HOSTILE[0], "class": "video", "count": 2}]
            gpu["hang_causes"] = [{"pid": 100, "comm": HOSTILE[1], "hangs": 2}]
            gpu["throttle_reasons"] = [HOSTILE[5]]
            gpu["more"] = [{"title": HOSTILE[0], "rows": [{"name": HOSTILE[1], "value": HOSTILE[2]}]}]
            gpu["temperatures"] = [{"sensor": HOSTILE[0]}, {"sensor": HOSTILE[1], "celsius": 50}]

    between.change = hostile
    check_machine(browser, between.url, "hostile", pictures)
    text = shown(browser)
    check("is wedged" in text and HOSTILE[1] in text, f"hostile names as text, faults first: {text[:800]}")
    check(browser.run("return document.title") == socket.gethostname() + " · Intel GPUs", "a name ran as a script")
    check(browser.run("return document.querySelectorAll('main script, main img, iframe, object').length") == 0, "a name became markup")
    check(any("HUNG" in chip for chip in browser.run(CHIPS)), f"hostile: {browser.run(CHIPS)}")
    rows = "return document.querySelector('.users tbody').children.length"
    check(browser.run(rows) == 50, "fifty rows at first")
    browser.run("document.querySelector('.users > button').click()")
    check(browser.run(rows) > 50, "all rows when asked for")
    between.change = lambda reading: None


def check_life(browser, between):
    browser.open(between.url)
    wait_for(lambda: is_live(browser), "live")
    before = between.asked
    wait_for(lambda: between.asked > before + 2, "it asks again and again")
    # Hidden: nothing is asked; visible: at once.
    hide = "Object.defineProperty(document, 'hidden', {{configurable: true, value: {}}}); document.dispatchEvent(new Event('visibilitychange'))"
    browser.run(hide.format("true"))

    def is_quiet():
        before = between.asked
        time.sleep(4)
        return between.asked == before

    wait_for(is_quiet, "a hidden tab asks no more")
    before = between.asked
    browser.run(hide.format("false"))
    wait_for(lambda: between.asked > before, "a visible tab asks")
    # The exporter goes away and comes back.
    status = "return document.getElementById('status').innerText"
    between.away = True
    wait_for(lambda: "old" in browser.run(status), "it says that the values are old")
    between.away = False
    wait_for(lambda: browser.run(status) == "", "it comes back by itself")
    browser.complaints()  # of the failed requests
    # A GPU that can be read again: the findings follow without a reload.
    def locked(reading):
        reading["gpus"][0]["missing"] = ["engine_busy"]
    asked = "return performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/doctor')).length"
    between.change = locked
    wait_for(lambda: browser.run(asked) > 0, "it asks the doctor when something is missing")


def check_plain(folder, exporters, pictures):
    """Without scripts: a table."""
    with Browser(folder, scripts=False) as browser:
        browser.open(exporters["rack"].url.removesuffix("metrics"), 320)
        tree = [node.get("name", {}).get("value", "") for node in browser.devtools("Accessibility.getFullAXTree")["nodes"]]
        for word in ("engines", "power", "ffmpeg", "Everything readable is being read."):
            check(word in tree, f"without scripts there is no \"{word}\"")
        check("GPUs at a glance" not in tree, "scripts ran")
        if pictures:
            browser.picture(pictures / "plain-320.png")


def report_paint(browser, url):
    """Measured and not checked: it depends on the machine's load."""
    painted = []
    for _ in range(5):
        browser.open(url)
        painted += wait_for(lambda: browser.run("return performance.getEntriesByName('first-contentful-paint').map((e) => e.startTime)"), "a paint")
    print(f"first contentful paint after {', '.join(f'{time:.0f}' for time in painted)} ms")


def main():
    binary = sys.argv[1]
    whole = "--whole" in sys.argv[3:]
    pictures = next((pathlib.Path(given) for given in sys.argv[3:] if given != "--whole"), None)
    if not shutil.which("chromedriver"):
        raise SystemExit("FAIL there is no chromedriver: apt install chromium chromium-driver")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        folder = pathlib.Path(folder)
        for name in ("sys/class/drm", "browser", "plain"):
            os.makedirs(folder / name)
        arguments = {profile: [f"--simulate={profile}"] for profile in ("rack", "locked", "asleep")}
        arguments["rack"].append("--no-collector.health")  # which finds a fault after a while: others than that are made up here
        if whole:
            arguments |= {profile: [f"--simulate={profile}"] for profile in ("hypervisor", "npu", "battlemage", "arc-a770", "tgl-broadcast")}
        arguments["none"] = [f"--path.sysfs={folder}/sys"]
        arguments["channels"] = ["--simulate=rack", "--collector.jobs", "--collector.workloads", "--no-collector.health"]
        exporters = {name: Exporter(binary, folder / f"{name}.log", *given) for name, given in arguments.items()}
        try:
            between = Between(exporters["rack"].port)
            with Browser(folder / "browser") as browser:
                check_machines(browser, {name: exporter for name, exporter in exporters.items() if name != "channels"}, pictures)
                for name in exporters if whole else ("rack", "locked"):
                    check_stillness(browser, exporters[name].url.removesuffix("metrics"), name, 60 if whole else 15)
                check_history(browser, exporters["rack"])
                check_users(browser, exporters["rack"])
                check_channels(browser, exporters["channels"])
                report_paint(browser, exporters["rack"].url.removesuffix("metrics"))
                check_eight(browser, between, pictures)
                check_hostile(browser, between, pictures)
                check_life(browser, between)
            check_plain(folder / "plain", exporters, pictures)
        finally:
            for exporter in exporters.values():
                exporter.stop()
    finish(f"{len(exporters)} machines at {len(WIDTHS)} widths, ")


if __name__ == "__main__":
    main()
