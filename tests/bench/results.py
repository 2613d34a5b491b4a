# SPDX-License-Identifier: LGPL-2.1-or-later
"""What experiments in guests share: attempts that may fail, and a file that keeps what was measured."""

import json
import time


def attempt(say, title, text, function, *words):
    """Its result, which text() describes; None after a message if a command in the guest failed."""
    began = time.monotonic()
    try:
        found = function(*words)
    except (AssertionError, ValueError) as failure:
        say(f"{title} failed: {failure}")
        return None
    say(f"{title}: {text(found)} ({time.monotonic() - began:.0f} s)")
    return found


class Rows(list):
    """Those of the file, if one is named, which record() adds to."""

    def __init__(self, path):
        super().__init__()
        self.path = path
        if path and path.exists():
            self.extend(map(json.loads, path.read_text(encoding="utf-8").splitlines()))

    def record(self, row):
        self.append(row)
        if self.path:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
