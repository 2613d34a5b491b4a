# SPDX-License-Identifier: LGPL-2.1-or-later
"""The browser of tests/ctl for a page of Cockpit: keys, and pages from the network."""
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / 'ctl'))
import browser  # pylint: disable=wrong-import-position

PROGRAM = browser.find()


class Browser(browser.Browser):
    """`faults` are errors and warnings on the console. Requests that fail because a test stops the daemon
    are not among these."""

    OPTIONS = ['--headless=new']

    def __init__(self):
        self.faults = []
        super().__init__()

    def note(self, message):
        name, details = message.get('method'), message.get('params', {})
        bad = name == 'Runtime.exceptionThrown' or \
            name == 'Runtime.consoleAPICalled' and details['type'] in ('error', 'warning', 'assert') \
            or name == 'Log.entryAdded' and details['entry']['level'] in ('error', 'warning')
        if bad:
            self.faults.append(json.dumps(details))

    def open(self, url):  # pylint: disable=arguments-differ,arguments-renamed
        self.call('Page.navigate', url=url)

    def resize(self, width, height, scale=1):
        """In units of CSS; pictures have `scale` times as many pixels."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=scale, mobile=False)

    def prefer(self, scheme):
        """light or dark"""
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def press(self, key, **more):
        for kind in ('keyDown', 'keyUp'):
            self.call('Input.dispatchKeyEvent', type=kind, key=key, **more)

    def type(self, text):
        """Into what has the focus."""
        self.call('Input.insertText', text=text)

    def picture(self, path):
        Path(path).write_bytes(self.screenshot())
