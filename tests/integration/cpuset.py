# SPDX-License-Identifier: LGPL-2.1-or-later
"""The tests on the running kernel: where its cpusets are, and a group of their own to confine."""
import os
import sys
from pathlib import Path


def cpuset_root():
    """Where cgroup v1's cpuset is mounted, or None."""
    for line in Path('/proc/mounts').read_text(encoding='utf-8').splitlines():
        _, where, kind, options = line.split()[:4]
        if kind == 'cgroup' and 'cpuset' in options.split(','):
            return Path(where)
    return None


def cpu_set(text):
    """The CPUs of a list as the kernel writes it."""
    cpus = set()
    for part in filter(None, text.strip().split(',')):
        first, _, last = part.partition('-')
        cpus |= set(range(int(first), int(last or first) + 1))
    return cpus


def make_cpuset(path):
    """A group that has what the one around it has."""
    path.mkdir()
    for file in ('cpuset.mems', 'cpuset.cpus'):
        (path / file).write_text((path.parent / file).read_text())
    return path


class OwnGroup:
    """For a TestCase whose daemon confines nothing but one group that it makes itself."""

    POLICY = 'userspace'

    def make_group(self, name):
        self.group = make_cpuset(cpuset_root() / name)
        self.addCleanup(self.group.rmdir)
        self.before = self.knob()
        self.conf = Path(self.directory, 'conf')
        self.conf.mkdir()
        self.configure('')

    def configure(self, more):
        (self.conf / 'idled.conf').write_text(
            '[Daemon]\nPolicies=%s\n[Park]\nBackend=cgroup\nUnits=%s\n%s'
            % (self.POLICY, self.group.name, more))

    def arguments(self):
        return self.arguments_here(self.conf)

    def knob(self, group=None):
        """The CPUs of the group, or of another one."""
        return ((group or self.group) / 'cpuset.cpus').read_text().strip()

    def wait_knob(self, value, group=None):
        from idledtest import wait_until  # benchmarks, which use this file too, do without
        group = group or self.group
        wait_until(lambda: self.knob(group) == value, '%s to have CPUs %s' % (group.name, value))

    def park(self, cpu=1):
        """Keeps the group off the CPU, or skips the test where that cannot be."""
        self.set_idle_mask(str(cpu))
        if not self.get('Parked'):
            self.skipTest('this machine keeps CPU %d: %s'
                          % (cpu, self.call('Explain')[cpu]['text']))


def main_on_cpusets():
    root = cpuset_root()
    if os.geteuid() != 0 or not root or not os.access(root / 'cgroup.procs', os.W_OK) or \
            (os.cpu_count() or 1) < 2:
        print('needs root, two CPUs and a writable cgroup v1 cpuset: skipped')
        sys.exit(77)
    from idledtest import main
    main()
