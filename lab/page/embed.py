#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints C source with a string for each file: page.css becomes page_css.

usage: embed.py FILE...
"""

import re
import sys
from pathlib import Path

print('#include "page/page-files.h"')
for path in map(Path, sys.argv[1:]):
    text = path.read_text(encoding="utf-8").replace("\r\n", "\n")
    if re.search(r"\r|<!--|</script|</style", text, re.IGNORECASE):
        sys.exit(f"{path}: cannot stand in an HTML element")
    print(f"const char {re.sub('[.-]', '_', path.name)}[] =")
    for line in text.splitlines(keepends=True):
        quoted = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("??", "?\\?")
        print(f'"{quoted}"')
    print(";")
