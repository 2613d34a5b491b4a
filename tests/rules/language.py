#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Texts, messages and comments are plain English: they avoid the patterns of the table below.

Prints each use of a pattern, and what to write instead.
"""

import ast
import io
import re
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
     r"would|will|must|might|agrees?|begins?|decides?|gets?|knows?|means?|needs?|rounds?|says?|takes?|waits?)\b",
     ["it is left alone, for it is busy", "first, for it decides which exist"]),
    ("for (because)", "because",
     r"[,;:] for (?:then|otherwise|without|(?:the|its|their|an?|each|every|all|both|this|that|no|one) "
     r"(?:(?!(?:that|which|whose|there|when|if|in|of|on|with|and|or|to|as|where)\b)\w+ ){0,3}"
     r"(?:is|are|was|were|has|have|had|can|may|does|do|cannot|would|will|must|might|begins|decides|knows|needs|"
     r"rounds|takes|waits))\b",
     ["it is slow, for the kernel has no list", "it waits, for this would end it",
      "slow, for each answer waits for a CPU"]),
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
     r"\b(?:policy|policies|clients?|holds?|idled|kernels?|daemons?|process|processes|tasks?|it)"
     r" (?:that )?wants?\b",
     ["what policies wished for", "a policy wants a period", "a client that wants it"]),
    ("not to be had", "is not available", r"\b(?i:to be had|be had)\b", ["which is not to be had"]),
    ("by hand", "manually", r"\b(?i:by hand)\b", ["chosen by hand"]),
    ("it is seen to that", "idled ensures that",
     r"\b(?i:(?:is|are) seen to|seen? to it)\b(?! (?:be|have|do)\b)",
     ["it is seen to that all end"]),
    ("news", "events", r"\b(?i:news)\b", ["news of new tasks"]),
    ("theirs, somebody else's", "taken over", r"\b(?i:theirs|else's)\b", ["the value is theirs"]),
]

# Parts of names that paraphrase, and what to write instead; "nobody" is a user's name.
PARTS = {
    "tell|tells|telling|told|untold": "report, explain, describe, emit",
    "in_force|at_work": "effective, active",
    "looks?_(?:again|at|for)|looked_at": "check, read, retry, rescan",
    "(?:give|gives|gave|put|puts)_back": "restore",
    "somebody|everybody|anybody|whoever": "another_program, or what it is",
    "anew|news|whom": "again, changes, events",
    "of_nobody|nobody_(?:else|can|chose|reads|there)": "no_reader, unowned",
}

# Texts without any of these.
PLAIN = ["idled restores every knob that it changed.", "The back end gives each cgroup its CPUs.",
         "Users who log in see all CPUs.", "They exist, for example for a policy that is slow.", "wish->allowed",
         "A CPU has not been read yet.", "It must exist, for example in /run.", "Wish is a struct."]

# Not ours to word: inputs, recordings, and this list of patterns. Names of D-Bus and JSON stay.
OTHERS = {"tests/corpus", "tests/traces", "tests/machines", "tests/rules/language.py"}
PROSE = (".md", ".scd", ".scd.in")
CONF = (".conf", ".service.in", ".service")
YAML = (".yml", ".yaml")
SCRIPT = {"python": r"#!\S*[/ ]python3", "shell": r"#!\S*/(?:ba|busybox )?sh\b"}


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
    """(line, text) of comments and literals; adjoining ones are joined."""
    run, start, end = [], 0, 0
    for match in [*TOKEN.finditer(text), None]:
        if run and (match is None or match[0][0] != '"' or text[end:match.start()].strip()):
            yield start, "".join(run)
            run = []
        if match is None:
            return
        line = text.count("\n", 0, match.start()) + 1
        if match[0].startswith("/"):
            comment = re.sub(r"^[ \t]*/?\*+/?|\*/$|//", " ", match[0], flags=re.MULTILINE)
            yield line, re.sub(r"`[^`]*`", "x", comment)
        elif match[0].startswith('"'):
            start, end = start if run else line, match.end()
            run.append(match[0][1:-1].replace("\\n", " "))


def of_shell(text):
    """(line, text) of comments, and of strings and here-documents of several words."""
    yield from of_hash_comments(text)
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        for string in re.findall(r'"((?:\\.|[^"\\])*)"|\'([^\']*)\'', line):
            string = re.sub(r"\$\{[^}]*\}|\$\w+", "x", string[0] or string[1])
            if re.search(r"[a-z] +[a-z]", string):
                yield number, string
    for match in re.finditer(r"<<-?\s*(['\"]?)(\w+)\1.*\n((?:.*\n)*?)\s*\2\n", text):
        yield text.count("\n", 0, match.start(3)) + 1, match[3]


def of_yaml(text):
    """(line, text) of comments, and of values for people."""
    yield from of_hash_comments(text)
    for match in re.finditer(r"^[ -]*(?:name|summary|description|msg|fail_msg): *(.*)", text, re.MULTILINE):
        yield text.count("\n", 0, match.start()) + 1, match[1]


def of_xml(text):
    """(line, text) of comments and of what is between tags."""
    for match in re.finditer(r"<!--(.*?)-->|>([^<>]+)<", text, re.DOTALL):
        yield text.count("\n", 0, match.start()) + 1, match[1] or match[2]


def names(text, python):
    """(line, name) of all names in code."""
    if python:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string
    else:
        text = blanked(text)
        for match in re.finditer(r"[A-Za-z_]\w*", text):
            yield text.count("\n", 0, match.start()) + 1, match[0]


def paraphrases(text, python=False):
    """(line, name, what to write instead) of each name with a forbidden part, where it comes first."""
    seen = set()
    for line, name in names(text, python):
        if name in seen:
            continue
        seen.add(name)
        parts = "_" + re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() + "_"
        for part, instead in PARTS.items():
            if re.search(f"_(?:{part})_", parts):
                yield line, name, instead


FSTRING_PART = getattr(tokenize, "FSTRING_MIDDLE", -1)  # what Python 3.12 makes of f-strings


def of_python(text):
    """(line, text) of comments, docstrings, and other strings of several words."""
    docs = {node.body[0].value.lineno for node in ast.walk(ast.parse(text))
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and node.body
            and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")
        elif token.type == tokenize.STRING and token.start[0] in docs:
            yield token.start[0], token.string.strip("\"'")
        elif token.type == FSTRING_PART or token.type == tokenize.STRING and not re.match(r"[brBR]", token.string):
            string = re.sub(r"\{[^{}]*\}|\\n", " ", token.string.lstrip("f").strip("\"'"))
            if re.search(r"[a-z] +[a-z]", string):
                yield token.start[0], string


def texts(path):
    """(line, text) of all prose of a file."""
    name = relative(path)
    text = path.read_text()
    if name.endswith(PROSE):
        return of_prose(text)
    if name.endswith((".c", ".h", ".js", ".css")):
        return of_c(text)
    if name.endswith(".py") or re.match(SCRIPT["python"], text):
        return of_python(text)
    if name.endswith(YAML):
        return of_yaml(text)
    if name.endswith((".policy", ".html", ".xml")):
        return of_xml(text)
    if re.match(SCRIPT["shell"], text):
        return of_shell(text)
    return of_hash_comments(text)


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
    found = sorted(what for _, t in of_c(c) for what, *_ in uses(t))
    if found != ["anew", "beside", "by hand", "tell, told"]:
        yield f"self test: comments and strings of C have {found}"
    page = "# NAME\n\nIt is *told*\nanew.\n\n```\nanew\n```\n\nSee `news`.\n\n*Hold*(as wishes)\n"
    found = [(line + after, what) for line, t in of_prose(page) for what, _, _, after in uses(t)]
    if found != [(4, "anew")]:
        yield f"self test: a page has {found}"
    found = [f[:2] for f in paraphrases("int x; /* told */\nint NOBODY, of_nobody, Untold, retold;")]
    if found != [(2, "of_nobody"), (2, "Untold")]:
        yield f"self test: names of C have {found}"
    found = [f[:2] for f in paraphrases("x = 'told'\ndef look_again(inForce, looking): pass", True)]
    if found != [(2, "look_again"), (2, "inForce")]:
        yield f"self test: names of Python have {found}"
    shell = "# It is\n# told\necho \"idled is at work\" '$told' told\ncat <<END\nreads it anew\nEND\n"
    found = [(line + after, what) for line, t in of_shell(shell) for what, _, _, after in uses(t)]
    if found != [(2, "tell, told"), (3, "at work, in force"), (5, "anew")]:
        yield f"self test: a shell script has {found}"
    found = [what for _, t in of_yaml("# told\n- name: Read anew\n  path: theirs\n")
             for what, *_ in uses(t)]
    if found != ["tell, told", "anew"]:
        yield f"self test: YAML has {found}"
    found = [what for _, t in of_xml("<!-- told --><a news='news'>Read anew</a>")
             for what, *_ in uses(t)]
    if found != ["tell, told", "anew"]:
        yield f"self test: XML has {found}"
    python = '"""Reads it anew."""\n\nprint(f"the {told} is\\ntold", "told", r"he told it")\n'
    found = [what for _, t in of_python(python) for what, *_ in uses(t)]
    if found != ["anew", "tell, told"]:
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
        if name.endswith((*PROSE, *CONF, ".c", ".h", ".js", ".css", ".py", ".build", ".txt", ".in", *YAML,
                          ".policy", ".html", ".xml")) or \
                any(re.match(script, first) for script in SCRIPT.values()):
            yield path, name


def main():
    problems, checked = list(self_test()), 0
    for path, name in sources():
        checked += 1
        if name.endswith((".c", ".h", ".js", ".py")):
            problems += [f"{name}:{line}: the name {found}: write {instead}" for line, found, instead
                         in paraphrases(path.read_text(), name.endswith(".py"))]
        for line, text in texts(path):
            problems += [f'{name}:{line + after}: "{use}": instead of {what}: {instead}'
                         for what, instead, use, after in uses(text)]
    finish(problems, checked)


main()
