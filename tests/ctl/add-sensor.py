#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints lib/model/measured.c with one more property, as HACKING.md (Add a sensor) has it.

An idlectl with this table shows which files a new sensor changes: with the row in tests/ctl/measured.py,
all tests of the verbs pass, and only tests/ctl/golden/normal.txt has one more line.
"""
import sys
from pathlib import Path

ROW = """        { .property = "Added",
          .signature = "d",
          .offset = offsetof(Snapshot, load),
          .sense = SENSE_LOAD,
          .group = "added",
          .keys = { "added_percent" },
          .line = "Added",
          .after = "%",
          .decimals = 1,
          .help = "A sensor that only the tests have." },
"""
END = "        { .property = NULL },\n"

text = Path(sys.argv[1]).read_text()
if text.count(END) != 1:
    sys.exit(f"{sys.argv[1]}: expected one end of measured_properties, {END.strip()!r}")
sys.stdout.write(text.replace(END, ROW + END))
