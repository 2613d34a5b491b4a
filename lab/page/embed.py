#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints C source with the frame of a page as two strings, page_head and page_tail: the data stand between them.

usage: embed.py PAGE.HTML PAGE.CSS PAGE.JS DYGRAPHS.JS
"""

import base64
import hashlib
import re
import sys
from pathlib import Path


def read(name):
    return Path(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def embedded(name):
    """The text of a script or style."""
    text = read(name)
    if re.search(r"\r|<!--|</script|</style", text, re.IGNORECASE):
        sys.exit(f"{name}: cannot stand in an HTML element")
    return text


def source(text):
    """What allows a text in a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def literal(name, text):
    print(f"const char {name}[] =")
    for line in text.splitlines(keepends=True):
        quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        print(f'"{quoted}"')
    print(";")


style, script, dygraphs = map(embedded, sys.argv[2:])
parts = {"page.css": style, "page.js": script, "dygraphs": dygraphs, "style-src": source(style),
         "script-src": f"{source(dygraphs)} {source(script)}"}
frame = re.sub(r"\n<!--.*?-->", "", read(sys.argv[1]))
head, tail = (re.sub(r"\{([\w.-]+)\}", lambda found: parts[found[1]], half) for half in frame.split("{data}"))
print('#include "page/page.h"')
literal("page_head", head)
literal("page_tail", tail)
