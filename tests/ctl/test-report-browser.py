#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pages of idlectl report in a real browser: with scripts and without, dark, zoomed, clicked, printed.

With SCREENSHOTS=DIR what the browser shows is kept there as PNG, and the print as PDF.
"""

import os
import re
import sys
import unittest
from pathlib import Path

import browser
from reports import make_page

DYGRAPHS = Path("/usr/share/javascript/dygraphs/dygraph.min.js")
PLOTS = "document.querySelectorAll('figure[id^=plot]')"
# Colours of the style sheet.
BUSY, DEEPEST = (0xd5, 0x5e, 0x00), (0x0a, 0x31, 0x61)
DARK_PAPER = (0x15, 0x18, 0x1c)


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

    def test_live(self):
        page = self.page(("usual", 16, 900))
        self.browser.open(page, height=1600)
        keep("live.png", self.whole)
        self.assertEqual(self.browser.problems, [])
        plots = self.browser.evaluate(PLOTS + ".length")
        self.assertGreaterEqual(plots, 7)
        self.assertEqual(self.browser.evaluate("document.documentElement.dataset.live"), "yes")
        self.assertEqual(self.visible("figure.live canvas") // 2, plots)
        self.assertEqual(self.visible("figure.live > svg"), 0)
        self.assertGreater(self.visible("figure:not(.live) > svg"), 2)  # histograms and sources
        self.assertGreater(self.visible(".hint"), 0)

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

    def test_without_scripts(self):
        self.browser.open(self.page(("usual", 16, 900)), scripts=False)
        keep("static.png", self.whole)
        self.assertEqual(self.visible("canvas"), 0)
        self.assertEqual(self.visible(".hint"), 0)
        self.assertGreaterEqual(self.visible("figure > svg"), 9)
        shown = browser.pixels(self.browser.screenshot(box=self.box("#plot-0-1 > svg")))
        self.assertGreater(shown.get(BUSY, 0), 1000)
        self.assertGreater(shown.get(DEEPEST, 0), 10000)

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
        """What is printed are the static plots, not pictures of the live ones."""
        self.browser.open(self.page(("usual", 16, 900)), prefers_color_scheme="dark")
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        keep("print.png", self.whole)
        self.assertEqual(self.visible("canvas"), 0)
        self.assertGreaterEqual(self.visible("figure > svg"), 9)
        self.browser.call("Emulation.setEmulatedMedia", media="")
        pdf = self.browser.pdf()
        keep("print.pdf", lambda: pdf)
        pages = re.findall(rb"/Type /Page\b", pdf)
        self.assertTrue(2 <= len(pages) <= 12, len(pages))
        self.assertNotIn(b"/Subtype /Image", pdf)
        self.assertEqual(self.browser.problems, [])

    def test_beside(self):
        """Two recordings are next to each other on a wide screen, below each other on a small one."""
        page = self.page(("usual", 16, 900), ("costly", 8, 600))
        places = ("[0, 1].map(r => document.getElementById(`plot-${r}-0`)"
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
        self.assertEqual(self.browser.evaluate("document.documentElement.dataset.live"), "yes")
        self.assertNotEqual(self.browser.evaluate("document.title"), "owned")
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('script').length"), 3)
        self.assertEqual(self.browser.evaluate("document.querySelectorAll('img, b').length"), 0)
        box = self.box(".plot")
        for x in range(int(box["x"]) + 60, int(box["x"] + box["width"]), 12):
            self.browser.click(x, box["y"] + 100)
        self.assertNotEqual(self.browser.evaluate("document.title"), "owned")
        self.assertEqual(self.browser.problems, [])

    def test_odd_recordings(self):
        """Nothing, one sample, nonsense, and a machine of 576 CPUs for an hour."""
        for kind in (("empty", 4, 0), ("usual", 4, 1), ("bare", 4, 60), ("wild", 4, 600),
                     ("usual", 576, 3600)):
            with self.subTest(kind):
                self.browser.open(self.page(kind))
                keep(f"{kind[0]}-{kind[1]}.png", self.whole)
                self.assertEqual(self.browser.problems, [])
                self.assertEqual(self.browser.evaluate("document.documentElement.dataset.live"), "yes")
                self.assertEqual(self.visible("figure.live .plot"),
                                 self.browser.evaluate("document.querySelectorAll('figure.live').length"))


if __name__ == "__main__":
    if not browser.find() or not DYGRAPHS.exists():
        print("needs chromium and libjs-dygraphs")
        sys.exit(77)
    unittest.main()
