# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of idlelab prove share: a machine whose energy counters follow what idled has set, by known
watts."""
import json
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

from idledtest import TestCase

EPP = 'sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference'
GOVERNOR = 'sys/devices/system/cpu/cpufreq/policy0/scaling_governor'
RAPL = 'sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj'

# By preference; "balance_power" is what the machine begins with.
WATTS = {'performance': 20, 'balance_performance': 18, 'balance_power': 16, 'power': 12}
WAITING = 0.02  # share of the time


class World(threading.Thread):
    """Energy, load and pressure, as time goes by."""

    def __init__(self, root, watts):
        super().__init__(daemon=True)
        self.root, self.watts = Path(root), watts
        self.frozen = self.over = False
        self.joules = 1.0
        begin = (self.root / 'proc/stat').read_text()
        self.rest = '\n'.join(line for line in begin.splitlines() if not line.startswith('cpu'))
        self.files = {}

    def write(self, name, text):
        """In place and in one piece: always of the same length."""
        if name not in self.files:
            (self.root / name).write_text('')
            self.files[name] = os.open(self.root / name, os.O_WRONLY)
        os.pwrite(self.files[name], text.encode(), 0)

    def advance(self, seconds):
        busy, idle = int(seconds * 25), int(seconds * 75)
        rows = ['cpu%d %010d 0 0 %010d 0 0 0 0 0 0' % (cpu, busy, idle) for cpu in range(8)]
        rows.insert(0, 'cpu %011d 0 0 %011d 0 0 0 0 0 0' % (8 * busy, 8 * idle))
        self.write('proc/stat', '\n'.join(rows) + '\n' + self.rest + '\n')
        self.write('proc/pressure/cpu',
                   'some avg10=0.00 avg60=0.00 avg300=0.00 total=%012d\n' % (seconds * WAITING * 1e6))
        if not self.frozen:
            self.write(RAPL, '%012d\n' % (self.joules * 1e6))

    def hurry(self):
        """Time that the world is late is energy that counts for the wrong block."""
        try:
            os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(1))
        except OSError:
            pass

    def run(self):
        self.hurry()
        before = begin = time.monotonic()
        while not self.over:
            try:
                now = time.monotonic()
                self.joules += self.watts(self.root) * (now - before)
                before = now
                self.advance(now - begin + 10000)
            except (OSError, KeyError):
                pass  # a file is being written
            time.sleep(0.002)

    def begin(self, test):
        """Until the test ends."""
        self.advance(10000)
        self.start()
        test.addCleanup(self.end)

    def end(self):
        self.over = True
        self.join()
        for fd in self.files.values():
            os.close(fd)


class BatteryWorld(World):
    """Where energy comes from a battery alone, which counts steps of 10 mWh."""

    SUPPLY = 'sys/class/power_supply/BAT0'

    def __init__(self, root, watts, status='Discharging'):
        super().__init__(root, watts)
        shutil.rmtree(self.root / 'sys/class/powercap', ignore_errors=True)
        shutil.rmtree(self.root / 'sys/class/power_supply', ignore_errors=True)
        (self.root / self.SUPPLY).mkdir(parents=True)
        for name, text in ('type', 'Battery'), ('present', '1'), ('status', status), ('energy_full', '90000000'):
            (self.root / self.SUPPLY / name).write_text(text + '\n')

    def advance(self, seconds):
        self.frozen = True  # no RAPL
        super().advance(seconds)
        left = 80000000 - int(self.joules / 36) * 10000
        self.write(self.SUPPLY + '/energy_now', '%012d\n' % left)


class TaskWorld(World):
    """With the clock of the scheduler. `rates`: how often a second each CPU changes to a task and for how many
    microseconds it runs that, by whether the setting that saves is active."""

    def __init__(self, root, watts):
        super().__init__(root, watts)
        self.switches = self.nsec = 1e6
        self.at = None

    def advance(self, seconds):
        times, usec = self.rates[is_saving(self.root)]
        passed = seconds - self.at if self.at else 0
        self.at = seconds
        self.switches += times * passed
        self.nsec += times * usec * 1000 * passed
        self.write('proc/schedstat', 'version 15\n' + ''.join(
            'cpu%d 0 0 0 0 0 0 %015d 0 %012d\n' % (cpu, self.nsec, self.switches) for cpu in range(8)))
        super().advance(seconds)


def is_saving(root):
    return (root / EPP).read_text().strip() == 'power'


def by_preference(root):
    return WATTS[(root / EPP).read_text().strip()]


def by_governor(root):
    return {'powersave': 10, 'performance': 14}[(root / GOVERNOR).read_text().strip()]


class ProveCase(TestCase):
    MACHINE = 'synthetic-laptop'
    CONFIG = '[Daemon]\nPolicies=cpufreq userspace\n'
    QUICK = ('--block', '400ms', '--wash-out', '100ms')

    def setUp(self):
        super().setUp()
        self.write_config('policies/cpufreq.conf', '[Policy]\nEnergyPreference=power\n')
        self.before = self.knobs()

    def world(self, watts=by_preference):
        world = World(self.root, watts)
        world.begin(self)
        return world

    def start_in_world(self, watts=by_preference):
        world = self.world(watts)
        self.start()
        return world

    def knobs(self):
        base = Path(self.root, 'sys/devices/system/cpu')
        names = ('scaling_governor', 'energy_performance_preference', 'disable',
                 'pm_qos_resume_latency_us')
        return {str(p): p.read_text().strip() for n in names for p in base.rglob(n)}

    def preference(self):
        return Path(self.root, EPP).read_text().strip()

    def places(self):
        return ['--root', self.root, '--run', os.path.join(self.directory, 'run'),
                '--bus-address', self.bus.address]

    def spawn_prove(self, *arguments, **more):
        return self.popen(
            [os.environ['IDLELAB'], 'prove', *self.places(), *self.QUICK, *arguments],
            **{'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, **more})

    def prove(self, *arguments, status=0):
        process = self.spawn_prove('--json', *arguments)
        output, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, output + errors)
        return json.loads(output) if output else errors
