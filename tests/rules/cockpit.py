#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Cockpit page obeys Cockpit's security policy, never makes HTML of text, and is complete.

Whether it is JavaScript at all is what the browser says in tests/integration/test-cockpit.py.
"""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from source import TOP, finish

PAGE = TOP / "cockpit"
# What parses text as HTML or as a program, or reaches past the daemon.
FORBIDDEN = re.compile(
    r"\b(innerHTML|outerHTML|insertAdjacentHTML|createContextualFragment|DOMParser|srcdoc|eval"
    r"|document\.write|new Function|cockpit\.(?:spawn|script|file|http)|XMLHttpRequest|fetch)\b")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The services that the page may talk to.
BUS_NAMES = {"org.idled1", "org.freedesktop.DBus"}
FUNCTION_MAX = 80  # lines


def check_script(path, files):
    text = path.read_text()
    code = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    for number, line in enumerate(code.split("\n"), 1):
        found = FORBIDDEN.search(line)
        if found:
            yield f"{path.name}:{number}: has {found[0]}"
        for name in re.findall(r"from '\./([^']+)'", line):
            if name not in files:
                yield f"{path.name}:{number}: imports {name}, which is not installed"
        # A translation's key must be one literal.
        if re.search(r"\b_\((?!\"[^\"]*\"\))", line):
            yield f"{path.name}:{number}: translates something else than one \"text\""
    start = None
    for number, line in enumerate(code.split("\n"), 1):
        if re.match(r"( {8})?(export )?(function )?\w+\(.*\) \{$", line):
            start = number
        elif re.match(r"( {8})?\}$", line) and start:
            if number - start - 1 > FUNCTION_MAX:
                yield f"{path.name}:{start}: a function of more than {FUNCTION_MAX} lines"
            start = None


def check_names(scripts):
    """No other service of the bus is named."""
    for path in scripts:
        for name in re.findall(r"'((?:org|net|com)\.[\w.]+)'", path.read_text()):
            if not any(name == n or name.startswith(n + ".") for n in BUS_NAMES):
                yield f"{path.name}: names {name}"


class Document(HTMLParser):
    """Collects what Cockpit's policy refuses, and files that are not there."""

    def __init__(self, files):
        super().__init__()
        self.files, self.problems, self.script = files, [], False

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.script = tag == "script"
        for name in attributes:
            if name == "style" or name.startswith("on"):
                self.problems.append(f"index.html: <{tag}> has {name}=")
        if tag == "style" or tag == "script" and "src" not in attributes:
            self.problems.append(f"index.html: has an inline <{tag}>")
        address = attributes.get("src") or attributes.get("href") or ""
        if ":" in address or address.startswith("/"):
            self.problems.append(f"index.html: fetches {address} from elsewhere")
        # Translations are Cockpit's to make.
        elif address and not address.startswith("../") and address not in {*self.files, "po.js"}:
            self.problems.append(f"index.html: {address} is not installed")

    def handle_data(self, data):
        if self.script and data.strip():
            self.problems.append("index.html: has an inline <script>")


def main():
    files = re.findall(r"^        '([\w.-]+)',$", (PAGE / "meson.build").read_text(), re.MULTILINE)
    scripts = sorted(PAGE.glob("*.js"))
    problems = [f"{name}: is installed, but not there" for name in files
                if not (PAGE / name).exists()]
    problems += [f"{path.name}: is not installed" for path in [*scripts, *PAGE.glob("*.css")]
                 if path.name not in files]
    for path in scripts:
        problems += check_script(path, files)
    problems += check_names(scripts)
    ElementTree.parse(PAGE / "org.idled.cockpit.metainfo.xml")
    document = Document(files)
    document.feed((PAGE / "index.html").read_text())
    problems += document.problems
    if "index" not in json.loads((PAGE / "manifest.json").read_text()).get("menu", {}):
        problems.append("manifest.json: no entry of Cockpit's menu shows the page")
    if re.search(r"@import|url\((?!['\"]?data:)", (PAGE / "idled.css").read_text()):
        problems.append("idled.css: fetches something")
    finish(problems, len(files))


main()
