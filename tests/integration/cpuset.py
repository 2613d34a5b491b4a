# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where the tests on the running kernel find its cpusets."""
from pathlib import Path


def cpuset_root():
    """Where cgroup v1's cpuset is mounted, or None."""
    for line in Path('/proc/mounts').read_text(encoding='utf-8').splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'cpuset' in options.split(','):
            return Path(where)
    return None
