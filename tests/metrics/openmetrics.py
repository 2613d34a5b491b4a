# SPDX-License-Identifier: LGPL-2.1-or-later
"""A parser of OpenMetrics 1.0 that refuses what the standard forbids, also where Prometheus does not.

parse(text) returns {family: Family}. Only the types that idlectl prints are known: gauge, counter,
info, stateset; no timestamps, no exemplars.
"""
import re
from dataclasses import dataclass, field

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\n"])*)"')
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
SUFFIXES = {"gauge": "", "counter": "_total", "info": "_info", "stateset": ""}
ESCAPES = {"\\\\": "\\", "\\n": "\n", '\\"': '"'}


class Wrong(Exception):
    pass


@dataclass
class Family:
    name: str
    type: str = None
    unit: str = None
    help: str = None
    samples: dict = field(default_factory=dict)  # {labels, sorted: value}

    def get(self, **labels):
        return self.samples[tuple(sorted(labels.items()))]


def unescape(text):
    return re.sub(r'\\[\\n"]', lambda m: ESCAPES[m[0]], text)


def parse_labels(text):
    """The labels of `a="b",c="d"}...`, and what follows the brace."""
    labels, position = {}, 0
    while text[position] != "}":
        match = LABEL.match(text, position)
        if not match:
            raise Wrong(f"no label at {text[position:]!r}")
        if match[1] in labels or match[1].startswith("__"):
            raise Wrong(f"label {match[1]} twice, or reserved")
        labels[match[1]] = unescape(match[2])
        position = match.end()
        if text[position] == ",":
            position += 1
            if text[position] == "}":
                raise Wrong("a comma before the brace")
        elif text[position] != "}":
            raise Wrong(f"found {text[position:]!r}, expected , or }}")
    return labels, text[position + 1:]


def check_sample(family, name, labels, text):
    if name != family.name + SUFFIXES[family.type]:
        raise Wrong(f"sample {name} in family {family.name} of type {family.type}")
    if not NUMBER.fullmatch(text):
        raise Wrong(f"{text!r} is not a finite number")
    value, key = float(text), tuple(sorted(labels.items()))
    if key in family.samples:
        raise Wrong(f"the labels {key} twice")
    if family.type == "counter" and value < 0:
        raise Wrong("a counter below 0")
    if family.type == "info" and value != 1:
        raise Wrong("an info that is not 1")
    if family.type == "stateset" and (value not in (0, 1) or family.name not in labels):
        raise Wrong("a state set without its state, or neither 0 nor 1")
    family.samples[key] = value


def check_head(family):
    """Checks the head before the first sample."""
    if not family.type or not family.help:
        raise Wrong(f"{family.name} has no type or no help")
    if family.unit and not family.name.endswith("_" + family.unit):
        raise Wrong(f"{family.name} does not end in its unit {family.unit}")
    if family.unit and family.type in ("info", "stateset"):
        raise Wrong(f"{family.name} has a unit")
    if any(family.name.endswith(s) for s in ("_total", "_info", "_created")):
        raise Wrong(f"{family.name} ends in the suffix of a sample")


def parse_head(families, current, line):
    """Takes "# TYPE name counter"; returns the family that it is of."""
    try:
        kind, name, value = line[2:].split(" ", 2)
    except ValueError:
        raise Wrong("a comment that is none of the standard's") from None
    if kind not in ("TYPE", "UNIT", "HELP") or not NAME.fullmatch(name):
        raise Wrong("a comment that is none of the standard's")
    if not current or current.name != name:
        if name in families:
            raise Wrong(f"family {name} is interrupted")
        current = families[name] = Family(name)
    if current.samples or getattr(current, kind.lower()) is not None:
        raise Wrong(f"{kind} behind samples, or twice")
    if kind == "TYPE" and value not in SUFFIXES:
        raise Wrong(f"type {value}")
    if kind == "HELP" and re.search(r'(?<!\\)(?:\\\\)*"', value):
        raise Wrong("a quote that is not escaped")
    setattr(current, kind.lower(), unescape(value) if kind == "HELP" else value)
    return current


def parse_line(families, current, line):
    if line.startswith("#"):
        return parse_head(families, current, line)
    match = NAME.match(line)
    if not match or not current:
        raise Wrong("neither a comment nor a sample of a family")
    rest, labels = line[match.end():], {}
    if rest.startswith("{"):
        labels, rest = parse_labels(rest[1:])
    if not rest.startswith(" "):
        raise Wrong("no blank before the value")
    check_head(current)
    check_sample(current, match[0], labels, rest[1:])
    return current


def parse(text):
    """Parses bytes, and returns families by name."""
    text, families, current = text.decode("utf-8"), {}, None
    if not text.endswith("# EOF\n"):
        raise Wrong("does not end with # EOF and a line end")
    for number, line in enumerate(text.split("\n")[:-2], 1):
        try:
            current = parse_line(families, current, line)
        except (Wrong, IndexError) as error:
            raise Wrong(f"line {number}, {line!r}: {error}") from None
    names = [f.name + SUFFIXES[f.type] for f in families.values()]
    if len(set(names) | set(families)) != len(set(families) | set(names)) or \
            len(names) != len(set(names)):
        raise Wrong("names of samples clash")
    for family in families.values():
        if not family.samples:
            raise Wrong(f"{family.name} has no sample")
    return families
