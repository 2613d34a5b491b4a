#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""System calls of idled fail, or it is killed at them: every knob is restored, at the latest by
`idled --restore`, the exit status is true, and nothing waits for ever.

Each try arms one fault (shim.c) in one phase of the daemon's life on a described machine, with a
systemd on a private bus. A fault is PHASE:KIND:ERROR:N: the Nth call of this kind in the phase fails,
or all from there on if ERROR ends in "+", or SIGKILL comes in its place. Calls about files whose names
differ in numbers only stand for each other; SIGKILL comes at every call of KILLED.

What a try comes to:
  went on    the daemon served on, and ended with status 0 when it was asked to
  failed     it ended with status 1, or 78 if the configuration cannot be read
  killed     by the fault
  aborted    in a library that cannot go on without memory or descriptors: an end like a kill, after
             which everything is restored and a new instance does its work
  no call    the phase was over before the Nth call; does not count as a try

For other options than "a minute, another part each day" (--help), such as a fault that it printed:
  meson test -C build faults --verbose -t 0 --test-args="--all"
"""
import argparse
import collections
import datetime
import errno
import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

import dbus

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'integration'))
import idledtest  # noqa: E402
import systemdtest  # noqa: E402

CONTROL = struct.Struct('<4i16s2i216s')  # Control of shim.c
OFF, COUNT, LIST = range(3)
ERRORS = 'EIO', 'ENOSPC', 'EACCES', 'EMFILE', 'ENFILE', 'ENOMEM', 'EINTR', 'EIO+', 'ENOSPC+', 'EMFILE+'
KILLED = 'write', 'rename', 'unlink', 'open'
PATIENCE = 15  # seconds for an end, an answer, a tick
SANITIZER = 99  # the status of one that found something
UNITS = 'init.scope', 'system.slice', 'user.slice', 'game.scope'
FILES = {
    'proc/irq/default_smp_affinity': 'ff',
    'proc/irq/24/smp_affinity_list': '0-7',
    'sys/kernel/irq/24/actions': 'eth0',
    'proc/sys/vm/stat_interval': '1',
    'proc/sys/kernel/random/boot_id': '8d3e1c5a-0000-4000-8000-000000000001',
    'sys/devices/system/machinecheck/machinecheck0/check_interval': '300',
    'sys/devices/virtual/workqueue/cpumask': 'ff',
    **{'sys/fs/cgroup/%s/cpuset.cpus' % unit: '' for unit in UNITS},
    **{'sys/devices/system/cpu/cpu%d/power/pm_qos_resume_latency_us' % cpu: '0' for cpu in range(8)},
}
Fault = collections.namedtuple('Fault', 'phase kind error nth')


class Broken(Exception):
    """What a try shows to be wrong."""


def wait_for(condition, seconds=PATIENCE):
    """True as soon as it is; False if it takes too long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


class Machine(systemdtest.WithUnits, idledtest.TestCase):
    """The described machine, and one process of idled at a time on it."""

    CONFIG = ('[Daemon]\nPolicies=userspace contract ondemand cpufreq cstates latency quiet\nMaxStretch=1\n'
              '[Park]\nBackend=systemd\n')

    def setUp(self):
        super().setUp()
        for name, text in FILES.items():
            self.put(name, text + '\n')
        self.configure('80%')
        self.start_systemd()
        self.mocked('KeepCgroups', os.path.join(self.root, 'sys/fs/cgroup'), '')
        self.mocked('AddUnit', 'game.scope', '-.slice')
        self.game = self.process('/game.scope')
        self.log, self.record, self.control = (os.path.join(self.directory, name)
                                               for name in ('log', 'run/undo', 'control'))
        with open(self.control, 'w+b') as file:
            file.truncate(CONTROL.size)
            self.map = mmap.mmap(file.fileno(), CONTROL.size)
        self.load, self.lasting = 0, False
        self.texts = {}  # path: when it was written, and what is in it
        self.found = self.values()
        self.launch('--version')
        self.addCleanup(self.kill)

    def configure(self, frequency):
        for name, text in (('userspace', 'IdleMask=7'), ('cstates', 'DeepestState=C1E'),
                           ('ondemand', 'Period=50ms\nDwell=100ms'),
                           ('cpufreq', 'EnergyPreference=power\nMaxFrequency=' + frequency)):
            self.write_config('policies/%s.conf' % name, '[Policy]\n%s\n' % text)

    def values(self):
        """The text of every file that idled may write."""
        for top in 'sys/devices', 'sys/fs/cgroup', 'proc/irq', 'proc/sys/vm':
            for directory, _, names in os.walk(os.path.join(self.root, top)):
                for path in (os.path.join(directory, name) for name in names):
                    written = os.stat(path).st_mtime_ns
                    if self.texts.get(path, (0,))[0] != written:
                        with open(path, encoding='ascii') as file:
                            self.texts[path] = written, file.read().strip()
        return {path: text for path, (_, text) in self.texts.items()}

    def changed(self):
        """The files that are not as they were found."""
        return ['%s: %s' % (path[len(self.root):], text) for path, text in self.values().items()
                if text != self.found.get(path)]

    # The fault

    def arm(self, fault, mode=COUNT):
        self.lasting = fault.error.endswith('+')
        number = 0 if fault.error == 'KILL' else getattr(errno, fault.error.rstrip('+'))
        os.truncate(self.control, CONTROL.size)
        self.map[:] = CONTROL.pack(mode, int(fault.nth), number, self.lasting, fault.kind.encode(),
                                   0, 0, b'')

    def disarm(self):
        self.map[:4] = struct.pack('<i', OFF)
        self.lasting = False

    def fired(self):
        """What the call was about that failed; None: there was none."""
        *_, failed, what = CONTROL.unpack(self.map[:])
        return what.rstrip(b'\0').decode(errors='replace') if failed else None

    # The process

    def launch(self, *more):
        environment = dict(os.environ, LD_PRELOAD=os.environ['FAULTS_SHIM'], FAULTS=self.control)
        for name in 'ASAN_OPTIONS', 'UBSAN_OPTIONS':
            environment[name] = '%s:exitcode=%d:verify_asan_link_order=0' % (
                os.environ.get(name, ''), SANITIZER)
        with open(self.log, 'wb') as log:
            self.idled = subprocess.Popen(
                [os.environ['IDLED'], *self.arguments(), '--bus-address', self.bus.address,
                 '--log-level', 'warning' if more else 'info', *more],
                env=environment, stdout=subprocess.DEVNULL, stderr=log)

    def runs(self):
        return self.idled.poll() is None

    def text(self):
        with open(self.log, encoding='utf-8', errors='replace') as file:
            return file.read()

    def begin(self):
        """Returns when the daemon serves, or has ended."""
        self.launch()
        if not wait_for(lambda: not self.runs() or re.search(r'\bidled \d', self.text())):
            raise Broken('does not start')

    def wait(self):
        if not wait_for(lambda: not self.runs()):
            raise Broken('does not end')
        return self.idled.returncode

    def kill(self):
        self.idled.kill()
        self.idled.wait()

    def ask(self, name, *arguments, interface=idledtest.MANAGER):
        """Calls a method. A fault may make it fail (None); one that is over must not leave it without
        an answer."""
        try:
            return self.object().get_dbus_method(name, interface)(
                *arguments, timeout=1 if self.lasting else PATIENCE)
        except dbus.DBusException as error:
            if error.get_dbus_name() == 'org.freedesktop.DBus.Error.NoReply' and \
                    'disconnected' not in str(error) and not self.lasting:
                raise Broken('%s is not answered' % name) from None
            return None

    def property(self, name):
        return self.ask('Get', idledtest.MANAGER, name, interface=idledtest.PROPERTIES)

    def allowed(self):
        """How many CPUs units may use."""
        text = self.read('sys/fs/cgroup/user.slice/cpuset.cpus')
        return text.count(',') + 1 if text else 8

    # Phases: what comes before the fault is armed, and what follows

    def before_start(self):
        """An instance was killed, so that there is something to restore."""
        self.begin()
        self.kill()

    def before_tick(self):
        self.begin()
        if not wait_for(lambda: self.allowed() < 7):
            raise Broken('does not park')

    before_hold = before_contract = before_reload = before_stop = before_tick
    before_restore = before_start

    def before_once(self):
        pass

    def do_start(self):
        self.begin()

    def do_tick(self):
        """CPUs were busy for longer than there was time: unparks them, and parks them again."""
        self.load += 1000000
        path = os.path.join(self.root, 'proc/stat')
        with open(path, 'r+', encoding='ascii') as file:
            text = re.sub(r'^(cpu\d*) +\d+', r'\1 %d' % self.load, file.read(), flags=re.M)
            file.seek(0)
            file.write(text)
        if wait_for(lambda: self.allowed() == 7, 1):
            wait_for(lambda: self.allowed() < 7, 1)

    def do_hold(self):
        self.hold(latency_us=dbus.UInt32(20), min_cores=dbus.UInt32(3), min_frequency_khz=dbus.UInt32(1000000))

    def do_contract(self):
        """A unit has a contract, and is kept to a kind of cores."""
        self.hold(kind='efficient', wakeup_p99_us=dbus.UInt32(5000), pid=dbus.UInt32(self.game))

    def hold(self, **request):
        answer = self.ask('Hold', dbus.Dictionary({'reason': 'a test', **request}, signature='sv'))
        if answer:
            os.close(answer[1].take())
            wait_for(lambda: not self.property('Holds'), 2)

    def do_reload(self):
        self.configure('60%')
        self.ask('Reload')
        self.configure('80%')

    def do_stop(self):
        self.idled.terminate()
        self.wait()

    def do_once(self):
        self.launch('--once')
        self.wait()

    def do_restore(self):
        self.launch('--restore')
        self.wait()

    # One try

    def check_ticks(self):
        """It goes on after a fault that is over."""
        seen = set()

        def ticked():
            seen.add(self.property('Ticks'))
            return len(seen - {None}) > 1
        if not wait_for(lambda: not self.runs() or ticked()):
            raise Broken('there are no ticks' if seen - {None} else 'it does not answer')

    def judge(self, fault, asked):
        """What the process came to."""
        status, changed = self.wait(), self.changed()
        if status == 0 and asked and not changed:
            return 'went on'
        if status == 1 and self.text() or \
                status == os.EX_CONFIG and fault.error.rstrip('+') in ('EACCES', 'ENOSPC'):
            return 'failed'
        if status == -signal.SIGKILL and fault.error == 'KILL':
            return 'killed'
        if status == -signal.SIGABRT:
            return 'aborted'
        raise Broken('status %d%s, changed: %s' % (status, '' if asked else ' by itself', changed[:3]))

    def repair(self, outcome):
        """`idled --restore` without a fault, if there is something to do; after an abort also --once."""
        for needed, action in ((self.changed() or os.path.exists(self.record), self.do_restore),
                               (outcome == 'aborted', self.do_once)):
            if needed:
                action()
                if self.idled.returncode != 0 or self.changed() or os.path.exists(self.record):
                    raise Broken('after it was %s, %s: status %d, changed: %s' % (
                        outcome, action.__name__, self.idled.returncode, self.changed()[:3]))

    def attempt(self, fault):
        """Returns the outcome."""
        getattr(self, 'before_' + fault.phase)()
        self.arm(fault)
        getattr(self, 'do_' + fault.phase)()
        if not self.lasting:
            self.disarm()
            self.check_ticks()
        asked = self.runs() or fault.phase in ('stop', 'once', 'restore')
        if self.runs():
            self.idled.terminate()
        outcome = self.judge(fault, asked)
        self.disarm()
        self.repair(outcome)
        return outcome if self.fired() is not None else 'no call'

    def list_faults(self, phase):
        """All faults of a phase, by its calls when none fails."""
        getattr(self, 'before_' + phase)()
        self.arm(Fault(phase, '', 'KILL', 0), LIST)
        getattr(self, 'do_' + phase)()
        self.disarm()
        numbers, alike = collections.Counter(), collections.defaultdict(list)
        with open(self.control, encoding='utf-8', errors='replace') as file:
            calls = file.read().rpartition('\0')[2].splitlines()
        for kind, _, what in (line.partition('\t') for line in calls):
            numbers[kind] += 1
            alike[kind, re.sub(r'\d+', 'N', what)].append(numbers[kind])
        if self.runs():
            self.do_stop()
        if self.idled.returncode != 0 or self.changed():
            raise Broken('%s without a fault: %s' % (phase, self.changed()))
        found = [Fault(phase, kind, 'KILL', nth) for kind in KILLED for nth in range(1, numbers[kind] + 1)]
        found += [Fault(phase, kind, error, nth) for (kind, _), nths in alike.items()
                  for nth in sorted({nths[0], nths[-1]}) for error in ERRORS]
        print('%-8s %5d calls, %5d faults' % (phase, sum(numbers.values()), len(found)), flush=True)
        return found


PHASES = [name[3:] for name in vars(Machine) if name.startswith('do_')]


def in_turns(faults, seed):
    """In random order, but phases and kinds by turns."""
    turns = collections.Counter()

    def turn(fault):
        group = fault.phase, fault.kind, fault.error == 'KILL'
        turns[group] += 1
        return turns[group]
    random.Random(seed).shuffle(faults)
    return sorted(faults, key=turn)


def new_machine():
    machine = Machine()
    machine.setUp()
    return machine


def run(options, tried):
    """Counts in `tried`, and returns the faults that show something to be wrong."""
    machine, broken = new_machine(), []
    faults = options.faults or in_turns([fault for phase in options.phase or PHASES
                                         for fault in machine.list_faults(phase)], options.seed)
    began = said = time.monotonic()
    for number, fault in enumerate(faults):
        now, name = time.monotonic(), ':'.join(map(str, fault))
        if options.seconds and now - began > options.seconds:
            break
        if now - said > 10:
            print('%5d s, %d of %d' % (now - began, number, len(faults)), flush=True)
            said = now
        try:
            outcome, more = machine.attempt(fault), ''
        except Broken as problem:
            outcome = 'broken'
            more = '\n    '.join([': %s' % problem] + machine.text().splitlines()[-8:])
            broken.append(name)
        if outcome in ('aborted', 'broken'):
            print('%s: %s (%s)%s' % (outcome, name, machine.fired(), more), flush=True)
        if broken and broken[-1] == name:
            machine.doCleanups()
            machine = new_machine()
        tried[fault.phase, fault.kind][outcome] += 1
    machine.doCleanups()
    return broken


def main():
    parser = argparse.ArgumentParser(description='Lets system calls of idled fail.')
    parser.add_argument('faults', nargs='*', metavar='PHASE:KIND:ERROR:N',
                        type=lambda text: Fault(*text.split(':')))
    parser.add_argument('--all', action='store_true', help='every fault, which takes hours')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--seed', type=int, default=datetime.date.today().toordinal())
    parser.add_argument('--phase', action='append', choices=PHASES)
    options = parser.parse_args()
    if options.all or options.faults:
        options.seconds = 0
    print('seed %d' % options.seed)
    tried = collections.defaultdict(collections.Counter)
    broken = run(options, tried)
    for (phase, kind), outcomes in sorted(tried.items()):
        print('%-8s %-8s' % (phase, kind), dict(outcomes))
    total = sum(tried.values(), collections.Counter())
    number = sum(total.values()) - total['no call']
    print('%d faults tried:' % number, dict(total), *broken)
    sys.exit(1 if broken or number == 0 else 0)


main()
