# SPDX-License-Identifier: LGPL-2.1-or-later
"""The examples of README.md that a user of an installed idled can run."""
import re
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
HEADINGS = 'Configure', 'Ask', 'Profiles and applications'


def examples():
    """The blocks of commands below each heading: [(heading, commands)]."""
    text = (TOP / 'README.md').read_text(encoding='utf-8')
    sections = re.split(r'(?m)^## (.*)\n', text)[1:]
    found = [(heading, block) for heading, section in zip(sections[::2], sections[1::2])
             if heading in HEADINGS for block in re.findall(r'(?ms)^```\n(.*?)^```\n', section)]
    assert {heading for heading, _ in found} == set(HEADINGS)
    return found
