#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages of idlelab report in a real browser: with scripts and without, dark, zoomed, clicked, printed.

With SCREENSHOTS=DIR what the browser shows is kept there as PNG, and the print as PDF.
"""

import os
import re
import sys
import unittest
from pathlib import Path

import browser
from reports import make_page

DRAWN = "document.documentElement.dataset.drawn"
PLOTS = "document.querySelectorAll('figure[id^=plot]')"
# Colours of the style sheet.
BUSY, DEEPEST = (0xd5, 0x5e, 0x00), (0x0a, 0x31, 0x61)
DARK_PAPER = (0x15, 0x18, 0x1c)
MARK = (0x6b, 0x75, 0x80)


def keep(name, take):
    """Writes what take() returns to a file, if screenshots are asked for."""
    if os.environ.get("SCREENSHOTS"):
        Path(os.environ["SCREENSHOTS"], name).write_bytes(take())


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def page(self, *recordings):
        return make_page(self, *recordings)

    def whole(self):
        return self.browser.screenshot(whole=True)

    def box(self, selector):
        """The place of an element in the window, which is not scrolled."""
        box = self.browser.evaluate(f"document.querySelector('{selector}').getBoundingClientRect().toJSON()")
        return {key: box[key] for key in ("x", "y", "width", "height")}

    def visible(self, selector):
        """How many elements take room on the screen."""
        return self.browser.evaluate(f"[...document.querySelectorAll('{selector}')]"
                                     ".filter(e => e.getBoundingClientRect().height > 0).length")

    def shown(self, kind, *words):
        """The text of a page about a recording of this kind, which has these words."""
        self.browser.open(self.page(kind), height=1600)
        self.assertEqual(self.browser.problems, [])
        text = self.browser.evaluate("document.body.innerText")
        for word in words:
            self.assertIn(word, text)
        return text

    def test_live(self):
        text = self.shown(("usual", 16, 900), "was recorded for 15 min 0 s", "Parked CPUs over load",
                          "Where all CPUs spent their time", "Power saved", "95 % interval", "it saves energy",
                          "Wake-up latency", "Wake-up sources", "nvme0q1", "ondemand: load of",
                          "hold 4 of user 1000", "16 CPUs in 8 cores", "16, 8, 2", "were parked", "Half are at most")
        self.assertNotRegex(text, "undefined|null|NaN")
        keep("live.png", self.whole)
        self.assertGreater(self.visible("tr[id^=event-0-]"), 2)
        plots = self.browser.evaluate(PLOTS + ".length")
        self.assertGreaterEqual(plots, 7)
        self.assertEqual(self.browser.evaluate(DRAWN), "yes")
        self.assertEqual(self.visible("figure canvas") // 2, plots)
        self.assertGreater(self.visible("figure > svg"), 2)  # histograms and sources
        # Counts of sleeps begin at 1, although the smallest is larger.
        title = "[...document.querySelectorAll('h2, h3, h4')].find(h => h.textContent == 'Lengths of sleeps')"
        texts = f"[...{title}.parentElement.querySelectorAll('svg text')].map(text => text.textContent)"
        self.assertIn("1", self.browser.evaluate(texts))
        self.assertGreater(self.visible(".hint"), 0)

    def test_costly(self):
        """Parking that costs is said to."""
        text = self.shown(("costly", 16, 900), "it costs energy")
        self.assertRegex(text, r"Policy ondemand cost [0-9.]+ k?J more \(95 % interval: \d")
        self.assertNotRegex(text, r"saved -|-\d[\d.]* k?J|it saves energy")

    def test_bare(self):
        """No RAPL, no cpuidle, no idled: said, and no plots of them."""
        text = self.shown(("bare", 4, 60), "Nothing of idled was recorded", "Parked CPUs over load")
        self.assertNotRegex(text, "Power saved|Wake-up sources|parked cores|were parked|0.00 W|null|NaN")

    def test_huge(self):
        self.shown(("usual", 576, 3600), "Each point of a plot unites up to")

    def test_time_zone(self):
        self.browser.open(make_page(self, ("usual", 4, 60), TZ="IST-5:30"))
        self.assertIn("2025-11-22 19:30:00", self.browser.evaluate("document.body.innerText"))
        self.browser.evaluate("document.querySelector('figure details').open = true")
        self.browser.evaluate("new Promise(done => setTimeout(done))")
        self.assertIn("time (IST)", self.browser.evaluate("document.querySelector('figure').innerText"))

    def test_values_and_zoom(self):
        """The legend has the values where the pointer is; a zoom of one plot is one of all."""
        self.browser.open(self.page(("usual", 16, 900)), height=1600)
        box = self.box(".plot")
        legend = "document.querySelector('.legend').textContent"
        names = self.browser.evaluate(legend)
        middle = box["x"] + box["width"] / 2
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=middle, y=box["y"] + 60)
        text = self.browser.evaluate(legend)
        self.assertRegex(text, r"^2025-11-22 14:0\d:\d\d.*busy CPUs \(load\) \d.*parked CPUs \d")
        self.assertNotEqual(text, names)
        ticks = ("[...document.querySelectorAll('.plot')].map(p => "
                 "[...p.querySelectorAll('.dygraph-axis-label-x')].map(e => e.textContent).join())")
        before = self.browser.evaluate(ticks)
        self.browser.drag(middle, box["y"] + 60, middle + 60)
        after = self.browser.evaluate(ticks)
        self.assertEqual(len(set(after)), 1)
        self.assertNotEqual(before[0], after[0])
        keep("zoomed.png", self.browser.screenshot)
        # Events stay visible where a line of the grid is.
        shown = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-0")))
        self.assertGreater(shown[MARK], 300)
        self.assertEqual(self.browser.problems, [])

    def test_reason(self):
        """A click near a vertical line shows its reason, and marks it in the table."""
        self.browser.open(self.page(("usual", 16, 900)), height=1600)
        self.assertEqual(self.visible(".reason"), 0)
        box = self.box(".plot")
        for x in range(int(box["x"]) + 60, int(box["x"] + box["width"]), 12):
            self.browser.click(x, box["y"] + 100)
            if self.browser.evaluate("document.querySelector('.reason').textContent"):
                break
        reason = self.browser.evaluate("document.querySelector('.reason').textContent")
        self.assertRegex(reason, r"^2025-11-22 14:\d\d:\d\d: transition .*ondemand: load of")
        chosen = self.browser.evaluate("document.querySelector('tr.chosen').textContent")
        self.assertIn("transition", chosen)
        self.assertIn(chosen[:19], reason)
        self.assertEqual(self.browser.problems, [])

    def key(self, name, shift=False):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=name, modifiers=8 if shift else 0,
                              **({"text": name} if len(name) == 1 and kind == "keyDown" else {}))

    def test_keys(self):
        """Arrows show values and, with Shift, events and their reasons; + zooms all plots, 0 ends that."""
        self.browser.open(self.page(("usual", 16, 900)), height=1600)
        self.browser.evaluate("document.querySelector('.plot').focus()")
        legend = "document.querySelector('.legend').textContent"
        self.key("ArrowRight")
        first = self.browser.evaluate(legend)
        self.assertRegex(first, r"^2025-11-22 14:00:00.*busy CPUs \(load\) \d")
        self.key("ArrowRight")
        self.assertNotEqual(self.browser.evaluate(legend), first)
        self.key("ArrowRight", shift=True)
        self.assertRegex(self.browser.evaluate("document.querySelector('.reason').textContent"),
                         r"transition .*ondemand: load of")
        ticks = ("[...document.querySelectorAll('.plot')].map(p => "
                 "[...p.querySelectorAll('.dygraph-axis-label-x')].map(e => e.textContent).join())")
        before = self.browser.evaluate(ticks)
        self.key("+")
        zoomed = self.browser.evaluate(ticks)
        self.assertEqual(len(set(zoomed)), 1)
        self.assertNotEqual(zoomed, before)
        self.key("0")
        self.assertEqual(self.browser.evaluate(ticks), before)
        self.assertEqual(self.browser.problems, [])

    def test_tables(self):
        """Each plot has its values as a table, with all of them or a person's worth."""
        self.browser.open(self.page(("usual", 16, 900)), height=1600)
        self.browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        self.browser.evaluate("new Promise(done => setTimeout(done))")
        rows = self.browser.evaluate("[...document.querySelectorAll('figure')].map(f => "
                                     "f.querySelectorAll('tbody tr').length)")
        self.assertGreater(len(rows), 8)
        self.assertTrue(all(0 < n for n in rows), rows)

    def test_without_scripts(self):
        """The page says what it needs."""
        self.browser.open(self.page(("usual", 16, 900)), scripts=False)
        self.assertEqual(self.visible("canvas"), 0)
        self.assertEqual(self.visible("noscript p"), 1)

    def test_dark(self):
        self.browser.open(self.page(("usual", 16, 900)), prefers_color_scheme="dark")
        keep("dark.png", self.whole)
        shown = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-0")))
        self.assertGreater(shown[DARK_PAPER], sum(shown.values()) / 2)
        # The same page turns light, and its plots with it.
        self.browser.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "light"}])
        shown = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-0")))
        self.assertGreater(shown[(255, 255, 255)], sum(shown.values()) / 2)
        self.assertNotIn(DARK_PAPER, shown)
        self.assertEqual(self.browser.problems, [])

    def test_print(self):
        """A dark page is printed light, with all its plots, and is dark again afterwards."""
        self.browser.open(self.page(("usual", 16, 900)), prefers_color_scheme="dark")
        dark = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-0")))
        pdf = self.browser.pdf()
        keep("print.pdf", lambda: pdf)
        pages = re.findall(rb"/Type /Page\b", pdf)
        self.assertTrue(2 <= len(pages) <= 12, len(pages))
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.browser.evaluate("dispatchEvent(new Event('beforeprint'))")
        paper = browser.pixels(self.browser.screenshot(box=self.box("#plot-1-0")))
        self.assertGreater(paper.get(DEEPEST, 0), 10000)
        self.assertGreater(paper.get(BUSY, 0), 1000)
        self.assertNotIn(DARK_PAPER, paper)
        self.browser.call("Emulation.setEmulatedMedia", media="", features=[
            {"name": "prefers-color-scheme", "value": "dark"}])
        self.browser.evaluate("dispatchEvent(new Event('afterprint'))")
        after = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-0")))
        self.assertEqual(dark[DARK_PAPER], after[DARK_PAPER])
        self.assertEqual(self.browser.problems, [])

    def test_beside(self):
        """Two recordings are next to each other on a wide screen, below each other on a small one."""
        page = self.page(("usual", 16, 900), ("costly", 8, 600))
        places = ("[0, 1].map(r => document.getElementById(`plot-0-${r}`)"
                  ".getBoundingClientRect().toJSON())")
        self.browser.open(page, width=1600)
        keep("beside.png", self.whole)
        left, right = self.browser.evaluate(places)
        self.assertEqual(left["y"], right["y"])
        self.assertGreaterEqual(right["x"], left["x"] + left["width"])
        self.browser.open(page, width=420)
        keep("narrow.png", self.whole)
        above, below = self.browser.evaluate(places)
        self.assertGreaterEqual(below["y"], above["y"] + above["height"])
        self.assertLessEqual(self.browser.evaluate("document.documentElement.scrollWidth"), 420)
        self.assertEqual(self.browser.problems, [])

    def test_hostile(self):
        """Whatever names contain, nothing of it runs or becomes an element."""
        page = self.page(("hostile", 4, 300))
        self.browser.open(page, height=1600)
        keep("hostile.png", self.whole)
        self.assertEqual(self.browser.problems, [])
        self.assertEqual(self.browser.evaluate(DRAWN), "yes")
        self.assertNotEqual(self.browser.evaluate("document.title"), "owned")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('script').length"), 3)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img, b').length"), 0)
        box = self.box(".plot")
        for x in range(int(box["x"]) + 60, int(box["x"] + box["width"]), 12):
            self.browser.click(x, box["y"] + 100)
        self.assertNotEqual(self.browser.evaluate("document.title"), "owned")
        self.assertEqual(self.browser.problems, [])

    def test_odd_recordings(self):
        """Nothing, one sample, and nonsense."""
        for kind in (("empty", 4, 0), ("usual", 4, 1), ("bare", 4, 60), ("wild", 4, 600)):
            with self.subTest(kind):
                self.browser.open(self.page(kind))
                keep(f"{kind[0]}-{kind[1]}.png", self.whole)
                self.assertEqual(self.browser.problems, [])
                self.assertEqual(self.browser.evaluate(DRAWN), "yes")
                self.assertEqual(self.visible("figure.live .plot"),
                                 self.browser.evaluate("document.querySelectorAll('figure.live').length"))


if __name__ == "__main__":
    if not browser.find():
        print("needs chromium")
        sys.exit(77)
    unittest.main()
