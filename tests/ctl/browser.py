# SPDX-License-Identifier: LGPL-2.1-or-later
"""Headless Chromium for tests, by its DevTools protocol over a pipe: no port, no other program."""

import base64
import json
import os
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import zlib

TIMEOUT = 60


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page at a time. `problems` is what the page wrote to the console or was refused."""

    OPTIONS = ["--headless", "--hide-scrollbars", "--disable-extensions"]

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="idled-chromium-")
        command_read, self.command = os.pipe()
        self.answers, answers_write = os.pipe()
        self.number, self.buffer, self.session, self.problems = 0, b"", None, []

        def connect():
            # Chromium reads from 3 and writes to 4; neither may be closed by being moved.
            from_us, to_us = os.dup2(command_read, 100), os.dup2(answers_write, 101)
            os.dup2(from_us, 3)
            os.dup2(to_us, 4)
            os.closerange(5, 256)

        self.process = subprocess.Popen(
            [find(), *self.OPTIONS, "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--lang=en-US", f"--user-data-dir={self.directory}/profile",
             "--remote-debugging-pipe", "about:blank"],
            preexec_fn=connect, close_fds=False, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self.directory, "XDG_CONFIG_HOME": self.directory,
                 "XDG_CACHE_HOME": self.directory})
        os.close(command_read)
        os.close(answers_write)
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.command)
        os.close(self.answers)
        shutil.rmtree(self.directory, ignore_errors=True)

    def receive(self, wanted):
        """The first message that is wanted; of the others, problems are kept."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            message, found, rest = self.buffer.partition(b"\0")
            if found:
                self.buffer = rest
                message = json.loads(message)
                self.note(message)
                if wanted(message):
                    return message
                continue
            if not select.select([self.answers], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise AssertionError("chromium does not answer")
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise AssertionError("chromium ended")
            self.buffer += block

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if method == "Runtime.consoleAPICalled":
            self.problems.append(f"console: {about['args']}")
        elif method == "Runtime.exceptionThrown":
            self.problems.append(f"exception: {about['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.problems.append(f"log: {about['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith(("file:", "about:")):
                self.problems.append(f"request: {url[:200]}")

    def call(self, method, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.command, data):]
        answer = self.receive(lambda m: m.get("id") == number)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, scripts=True, width=1000, height=800, **media):
        """Loads a file. Media features: prefers_color_scheme="dark"."""
        self.problems = []
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": name.replace("_", "-"), "value": value} for name, value in media.items()])
        self.call("Page.navigate", url="file://" + str(path))
        self.receive(lambda m: m.get("method") == "Page.loadEventFired")

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page; of a promise, what it becomes."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, clickCount=1,
                      button="none" if kind == "mouseMoved" else "left")

    def drag(self, x, y, to_x):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left",
                  clickCount=1)
        for part in (x + (to_x - x) / 2, to_x):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=part, y=y, button="left",
                      buttons=1)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=y, button="left",
                  clickCount=1)

    def screenshot(self, whole=False, box=None):
        """The bytes of a PNG; `whole`: the whole page, not only the part that fits; `box`: the x, y,
        width and height of a part of it."""
        options = {}
        if box:
            options = {"captureBeyondViewport": True, "clip": {**box, "scale": 1}}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                                "scale": 1}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **options)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])


def read_page(test, path):
    """What a page shows: its title, its text, the cells of all tables by figure, what axes and lines are drawn by, and
    labels of points that stand outside their plot."""
    if not find():
        test.skipTest("needs chromium")
    window = Browser()
    test.addCleanup(window.close)
    window.open(path)
    window.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    window.evaluate("new Promise(done => setTimeout(done))")
    test.assertEqual(window.problems, [])
    return window.evaluate("""({ title : document.title, text : document.body.innerText,
        paths : [...document.querySelectorAll('.axis, .line')].map(p => p.getAttribute('d')),
        figures : [...document.querySelectorAll('figure')].map(f => [...f.querySelectorAll('tbody tr')].map(
                r => [...r.cells].map(c => c.textContent))),
        outside : [...document.querySelectorAll('circle + text')].filter(text => {
                const plot = text.closest('svg').querySelector('.axis').getBBox();
                const baseline = +text.getAttribute('y');
                return baseline < plot.y || baseline > plot.y + plot.height + 4; }).map(text => text.textContent) })""")


def pixels(png):
    """{(red, green, blue): how often} of a PNG as Chromium writes it: 8 bits, no interlacing."""
    at, data, counts = 8, b"", {}
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        block = png[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", block[:10])
        elif kind == b"IDAT":
            data += block
        at += length + 12
    data, step = zlib.decompress(data), {2: 3, 6: 4}[colour]
    above = bytearray(width * step)
    for row in range(height):
        begin = row * (width * step + 1)
        line = bytearray(data[begin + 1:begin + 1 + width * step])
        unfilter(data[begin], line, above, step)
        for i in range(0, len(line), step):
            key = (line[i], line[i + 1], line[i + 2])
            counts[key] = counts.get(key, 0) + 1
        above = line
    return counts


def unfilter(kind, line, above, step):
    """Undoes a PNG filter in place."""
    for i in range(len(line)):
        left, up = line[i - step] if i >= step else 0, above[i]
        corner = above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 2:
            guess = up
        elif kind == 3:
            guess = (left + up) // 2
        elif kind == 4:
            distance = left + up - corner
            guess = min((left, up, corner), key=lambda near: abs(distance - near))
        else:
            return
        line[i] = (line[i] + guess) & 0xff
