#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Texts, messages and comments are plain English: they avoid the patterns of the table below.

Prints each use of a pattern where a room has more than it may have. KNOWN has what is left in rooms
that have not been rewritten: its numbers may only become smaller.

usage: language.py [ROOM], which prints every use in the rooms whose names begin so
"""

import ast
import io
import re
import sys
import tokenize

from source import TOKEN, blanked, files, finish, relative

# What is wrong: what to write instead, a regular expression, and texts that it must find. Texts are
# matched with white space folded; "Wish" and the like are names in code.
PATTERNS = [
    ("somebody, nobody, everybody, whoever", "name the process, user or program",
     r"\b(?i:(?:some|any|every)(?:body|one)|nobody|whom?ever|whatever else)\b(?!:)",
     ["a knob that somebody changed", "Whoever asks", "by whomever", "everyone else"]),
    ("who, he, his (of a program)", "name the program",
     r"(?<![Pp]eople )(?<![Uu]sers )(?<![Uu]ser )(?<![Pp]erson )(?<!administrator )(?<!eader )"
     r"(?<!evelopers )(?<!omeone )\bwho\b|\b(?:he|his|him)\b",
     ["a process who asks", "told that he may"]),
    ("for (because)", "because",
     r"[,;:] for (?:it|they|we|there|none|no one) (?:is|are|was|were|has|have|had|can|may|does|do|"
     r"would|will|must|might)\b",
     ["it is left alone, for it is busy"]),
    ("for (because)", "because",
     r"[,;:] for (?:then|otherwise|without|(?:the|its|their|an?|each|every|all|both|this|that|no|one) "
     r"(?:(?!(?:that|which|whose|there|when|if|in|of|on|with|and|or|to|as|where)\b)\w+ ){0,3}"
     r"(?:is|are|was|were|has|have|had|can|may|does|do|cannot|would|will|must|might))\b",
     ["it is slow, for the kernel has no list", "it waits, for this would end it"]),
    ("tell, told", "report, show, print",
     r"\b(?i:tell|tells|told|telling)\b",
     ["a mistake is told with file and line", "colours are told apart"]),
    ("anew", "again", r"\b(?i:anew)\b", ["reads the file anew"]),
    ("give back, put back", "restore",
     r"\b(?i:give|gives|gave|given|giving|put|puts|putting) (?:[\w*_=]+ ){0,3}back\b(?! end)",
     ["it gives all CPUs back", "what was put back"]),
    ("shall, is to be, has to", "must; say what happens",
     r"\b(?i:shall)\b|\b(?:is|are|was|were) to (?:be|have|do|stay|get|close|die|fail|know)\b|"
     r"\b(?:has|have) to (?!the\b|a\b|an\b|do\b|each\b|it\b)",
     ["what shall be done", "it is to be read", "what it is to have", "the file has to exist"]),
    ("has not, takes not", "does not have, does not take",
     r"\b(?:has|have|had) not(?= (?:an?|the|any|it|this|that|them|these|all)\b|[.,;:)]|$)|"
     r"\b(?:takes?|knows?|needs|wants?|says?|gives?|goes|comes?|works?|sees?|makes?) not\b",
     ["that the kernel has not, it is", "if it knows not"]),
    ("at work, in force", "active, in effect",
     r"\b(?i:at work|in force)\b",
     ["policies at work", "the profile in force"]),
    ("beside", "next to, in addition to", r"\b(?i:beside)\b", ["the file beside it"]),
    ("a look, is looked at", "check, read, sample",
     r"\b(?i:a|one|each|every|second|last|next|this) look\b|"
     r"\b(?:is|are|was|were|be|been|being) (?:\w+ ){0,2}looked (?:at|for|up)\b",
     ["a look every 10 s", "what is looked at", "when it was last looked at"]),
    ("of what X, what Y says of Z", "split the sentence, name the thing",
     r"\b(?i:(?<!part )of what|of whom)\b|(?:^|[.;:] )Of (?!course)|\b(?:says?|said|speaks?|spoken) of\b",
     ["of what is set", "It ends. Of others it is kept", "what the profile says of it"]),
    ("wish, want (of policies and clients)", "request",
     r"(?<![\w_*`.>/&-])wish(?:es|ed|ing)?\b(?![\w_*`(/]|->|\.\w|\[)|"
     r"\b(?:policy|policies|clients?|holds?|idled|kernels?|daemons?|loads?|process|processes|tasks?|it)"
     r" (?:that )?(?:wants?|would have)\b",
     ["what policies wished for", "a policy wants a period", "a client that wants it"]),
    ("not to be had", "is not available", r"\b(?i:to be had|be had)\b", ["which is not to be had"]),
    ("by hand", "manually", r"\b(?i:by hand)\b", ["chosen by hand"]),
    ("it is seen to that", "idled ensures that",
     r"\b(?i:(?:is|are) seen to|seen? to it)\b(?! (?:be|have|do)\b)",
     ["it is seen to that all end"]),
    ("news", "events", r"\b(?i:news)\b", ["news of new tasks"]),
    ("theirs, somebody else's", "taken over", r"\b(?i:theirs|else's)\b", ["the value is theirs"]),
]

# Names in C that say no more than the first pattern; NOBODY is the user's number.
NAME = re.compile(r"\b(?!NOBODY\b)\w*(?:(?:some|no|every|any)body|(?:SOME|NO|EVERY|ANY)BODY)\w*")

# Texts without any of these.
PLAIN = ["idled restores every knob that it changed.", "The back end gives each cgroup its CPUs.",
         "Users who log in see all CPUs.", "They exist, for example for a policy that is slow.", "wish->allowed",
         "A CPU has not been read yet.", "It must exist, for example in /run.", "Wish is a struct."]

# Room or "room strings": uses that are left from before this rule, which may only become fewer.
KNOWN = {
    "tests": 10,
}

# Not ours to word: inputs, recordings, and this list of patterns.
OTHERS = {"tests/corpus", "tests/traces", "tests/machines", "tests/rules/language.py"}
PROSE = (".md", ".scd", ".scd.in")
CONF = (".conf", ".service.in", ".service")
SCRIPT = {"python": r"#!\S*[/ ]python3", "shell": r"#!\S*/(?:ba|busybox )?sh\b"}


def room_of(name):
    parts = name.split("/")
    if name.endswith(".md"):
        return "md"
    if len(parts) == 1:
        return "tools"
    return "/".join(parts[:2]) if parts[0] == "daemon" and len(parts) > 2 else parts[0]


def of_prose(text):
    """(line, text) of the paragraphs of a page, code left out."""
    text = re.sub(r"^```.*?^```$", lambda m: re.sub(r"[^\n]", "", m[0]), text,
                  flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"`[^`\n]*`|\*\w+\*\([^()]*\)", "x", text)  # signatures of D-Bus are no prose
    line = 1
    for part in re.split(r"(\n\s*\n)", text):
        if part.strip():
            yield line, re.sub(r"(?<!\w)_[^_\n]*_(?!\w)|\*[\w.-]+\*", "x", part)
        line += part.count("\n")


def of_hash_comments(text):
    """(line, text) of comments that begin with # or ;, and of summaries for people."""
    run, start = [], 0
    for number, line in enumerate([*text.split("\n"), ""], 1):
        comment = re.match(r"\s*[#;]\s?(.*)", line)
        if comment:
            start = start if run else number
            run.append(comment[1])
        else:
            if run:
                yield start, "\n".join(run)
            run = []
            if line.startswith(("Summary=", "Description=")):
                yield number, line


def of_c(text):
    """(line, text, whether it is a string) of comments and literals; adjoining ones are joined."""
    run, start, end = [], 0, 0
    for match in [*TOKEN.finditer(text), None]:
        if run and (match is None or match[0][0] != '"' or text[end:match.start()].strip()):
            yield start, "".join(run), True
            run = []
        if match is None:
            return
        line = text.count("\n", 0, match.start()) + 1
        if match[0].startswith("/"):
            comment = re.sub(r"^[ \t]*/?\*+/?|\*/$|//", " ", match[0], flags=re.MULTILINE)
            yield line, re.sub(r"`[^`]*`", "x", comment), False
        elif match[0].startswith('"'):
            start, end = start if run else line, match.end()
            run.append(match[0][1:-1].replace("\\n", " "))


def names_of_c(text):
    """(line, name) of names that do not name the thing."""
    for match in NAME.finditer(blanked(text)):
        yield text.count("\n", 0, match.start()) + 1, match[0]


def of_python(text):
    """The same of Python: docstrings count as comments, and strings of several words are for people."""
    docs = {node.body[0].value.lineno for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
            and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# "), False
        elif token.type == tokenize.STRING and token.start[0] in docs:
            yield token.start[0], token.string.strip("\"'"), False
        elif token.type == tokenize.STRING and not re.match(r"[brBR]", token.string):
            string = re.sub(r"\{[^{}]*\}|\\n", " ", token.string.lstrip("f").strip("\"'"))
            if re.search(r"[a-z] +[a-z]", string):
                yield token.start[0], string, True


def texts(path):
    """(line, text, whether it is a string for people) of a file."""
    name = relative(path)
    text = path.read_text()
    if name.endswith(PROSE):
        return [(*t, False) for t in of_prose(text)]
    if name.endswith((".c", ".h", ".js", ".css")):
        return of_c(text)
    if name.endswith(".py") or re.match(SCRIPT["python"], text):
        return of_python(text)
    return [(*t, False) for t in of_hash_comments(text)]


def uses(text):
    """(what, instead, found, lines after the first) of every use of a pattern."""
    lines = [number for number, line in enumerate(text.split("\n")) for _ in line.split()]
    folded = " ".join(text.split())
    for what, instead, pattern, _ in PATTERNS:
        for match in re.finditer(pattern, folded):
            begin = max(0, match.start() - 30)
            word = folded[:match.end()].rstrip().count(" ")
            yield what, instead, folded[begin:match.end() + 30], lines[word]


def self_test():
    for what, _, pattern, examples in PATTERNS:
        for example in examples:
            if not re.search(pattern, example):
                yield f"self test: {what} is not found in {example!r}"
    for plain in PLAIN:
        for what, _, found, _ in uses(plain):
            yield f"self test: {what} is found in {found!r}"
    c = '/* Reads it\n * anew. */ f("told", "by" /* x */,\n"x " \n"by "\n"hand"); // beside'
    found = sorted((what, is_string) for _, t, is_string in of_c(c) for what, *_ in uses(t))
    if found != [("anew", False), ("beside", False), ("by hand", True), ("tell, told", True)]:
        yield f"self test: comments and strings of C have {found}"
    page = "# NAME\n\nIt is *told*\nanew.\n\n```\nanew\n```\n\nSee `news`.\n\n*Hold*(as wishes)\n"
    found = [(line + after, what) for line, t in of_prose(page) for what, _, _, after in uses(t)]
    if found != [(4, "anew")]:
        yield f"self test: a page has {found}"
    found = list(names_of_c("int x; /* nobody */\nint NOBODY, of_nobody;"))
    if found != [(2, "of_nobody")]:
        yield f"self test: names of C have {found}"
    python = '"""Reads it anew."""\n\nprint(f"the {told} is\\ntold", "told", r"he told it")\n'
    found = [(what, is_string) for _, t, is_string in of_python(python) for what, *_ in uses(t)]
    if found != [("anew", False), ("tell, told", True)]:
        yield f"self test: comments and strings of Python have {found}"
    conf = "[Park]\n# Reads it\n# anew\n#Key=1\nName=told\n"
    found = [(line + after, what) for line, t in of_hash_comments(conf)
             for what, _, _, after in uses(t)]
    if found != [(3, "anew")]:
        yield f"self test: a configuration file has {found}"


def sources():
    for path in files(""):
        name = relative(path)
        if any(name == o or name.startswith(o + "/") for o in OTHERS):
            continue
        first = path.read_bytes()[:40].decode(errors="replace")
        if name.endswith((*PROSE, *CONF, ".c", ".h", ".js", ".css", ".py", ".build", ".txt", ".in")) or \
                any(re.match(script, first) for script in SCRIPT.values()):
            yield path, name


def main():
    problems, found, checked = list(self_test()), {}, 0
    for path, name in sources():
        checked += 1
        if name.endswith((".c", ".h")):
            for line, found_name in names_of_c(path.read_text()):
                problems.append(f"{name}:{line}: {found_name}: expected a name that says what it is")
        for line, text, is_string in texts(path):
            for what, instead, use, after in uses(text):
                room = room_of(name) + (" strings" if is_string else "")
                found.setdefault(room, []).append(
                    f'{name}:{line + after}: "{use}": instead of {what}: {instead}')
    asked = sys.argv[1] if len(sys.argv) > 1 else None
    for room, all_uses in sorted(found.items()):
        if asked is not None:
            if room.startswith(asked):
                print("\n".join(all_uses))
        elif len(all_uses) > KNOWN.get(room, 0):
            problems += all_uses
            problems.append(f"{room}: {len(all_uses)}, expected at most {KNOWN.get(room, 0)}")
    for room, known in KNOWN.items():
        if len(found.get(room, [])) < known:
            print(f"{room}: lower its number in KNOWN from {known} to {len(found.get(room, []))}")
    if asked is None:
        finish(problems, checked)
    print({room: len(u) for room, u in sorted(found.items())})


main()
