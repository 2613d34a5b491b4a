#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints C source with a string for each file: page.css becomes page_css.

usage: embed.py FILE...
"""

import sys
from pathlib import Path

print('#include "page-files.h"')
for path in map(Path, sys.argv[1:]):
    print(f"const char {path.name.replace('.', '_').replace('-', '_')}[] =")
    for line in path.read_text().splitlines(keepends=True):
        text = line.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        print(f'"{text}"')
    print(";")
