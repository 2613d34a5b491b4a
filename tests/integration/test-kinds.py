#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kinds of cores for units: holds and application rules on described machines, with a systemd that has
given answers. Processes are real; their facts and cgroups are files of the machine."""
import json
import os

import dbus
from holdstest import HOLD, Case
from idledtest import main, wait_until
from systemdtest import WithUnits

MODE = 'sys/bus/platform/drivers/amd_x3d_vcache/AMDI0101:00/amd_x3d_mode'


class Kinds(WithUnits, Case):
    MACHINE = 'synthetic-x3d'
    CONFIG = '[Daemon]\nPolicies=userspace\n[Park]\nBackend=systemd\n'
    CACHE = [*range(8), *range(16, 24)]
    OTHERS = [*range(8, 16), *range(24, 32)]

    def setUp(self):
        super().setUp()
        self.start_systemd()
        self.put('sys/fs/cgroup/cgroup.controllers', 'cpuset\n')

    def mode(self):
        return self.read(MODE).split('\n')[0]

    def obstacle(self, path):
        return self.get('Obstacle', path, HOLD)

    def begin(self, kind='cache'):
        """A hold for a game in a scope of its own: its object, and the descriptor."""
        self.mocked('AddUnit', 'game.scope', 'user.slice')
        return self.hold(kind=kind, pid=self.process('/user.slice/game.scope'))

    def test_hold(self):
        self.start()
        path, descriptor = self.begin()
        self.assertEqual(self.unit_limits('game.scope'), [self.CACHE])
        self.assertEqual((self.obstacle(path), self.mode()), ('', 'cache'))
        self.assertEqual(self.get('Request', path, HOLD), {'kind': 'cache'})
        self.assertEqual(self.get('Degraded'), [])
        listed = self.idlectl('holds')
        self.assertIn('On cores of kind cache.', listed.stdout, listed.stderr)
        self.assertEqual(self.get('Unit', path, HOLD), '/user.slice/game.scope')
        self.assertRegex(self.idlectl('why').stdout, 'game.scope: AllowedCPUs=0-7,16-23, before: all, for cores of '
                         r'kind cache; requested\s+by user')
        self.close(descriptor)
        wait_until(lambda: self.unit_limits('game.scope')[-1] == [], 'no limit')
        self.assertEqual(self.mode(), 'frequency')

    def test_late_driver(self):
        """AMD's driver is loaded after idled has started."""
        os.rename(os.path.join(self.root, MODE), os.path.join(self.root, 'mode'))
        self.start()
        _, descriptor = self.begin()
        os.rename(os.path.join(self.root, 'mode'), os.path.join(self.root, MODE))
        self.call('Reload')
        self.assertEqual(self.mode(), 'cache')
        self.close(descriptor)
        wait_until(lambda: self.mode() == 'frequency', 'as it was found')

    def test_file_of_the_limit(self):
        """systemd's file goes with the limit."""
        os.makedirs(os.path.join(self.root, 'run/systemd/system'))
        control = os.path.join(self.root, 'run/systemd/system.control')
        self.mocked('KeepFiles', control)
        self.start()
        _, descriptor = self.begin()
        self.assertEqual(os.listdir(control), ['game.scope.d'])
        self.assertEqual({str(knob[0]) for knob in self.get('Knobs')}, {'drop-in', 'kinds', 'x3d'})
        self.close(descriptor)
        wait_until(lambda: not os.listdir(control), 'no file')
        self.assertEqual(self.unit_limits('game.scope')[-1], [])

    def test_pause_ends_it(self):
        self.start()
        self.begin()
        pause = self.pause('a test')
        wait_until(lambda: self.unit_limits('game.scope')[-1] == [], 'no limit')
        self.assertEqual(self.mode(), 'frequency')
        os.close(pause)
        wait_until(lambda: self.unit_limits('game.scope')[-1] == self.CACHE, 'the limit again')

    def test_parked_kind(self):
        """The unit never has a CPU that is parked, and always one that is active."""
        self.start()
        path, _ = self.begin()
        self.set_idle_mask('4-7,20-23')
        wait_until(lambda: self.unit_limits('game.scope')[-1] == [0, 1, 2, 3, 16, 17, 18, 19], 'fewer')
        self.assertEqual(self.obstacle(path), '')
        self.set_idle_mask('0-7,16-23')
        wait_until(lambda: self.unit_limits('game.scope')[-1] == self.OTHERS, 'other CPUs')
        self.assertEqual(self.get('Parked'), '0-7,16-23')
        self.assertIn('parked', self.obstacle(path))
        self.set_idle_mask('')
        wait_until(lambda: self.unit_limits('game.scope')[-1] == self.CACHE, 'its kind')
        self.assertEqual(self.obstacle(path), '')

    def test_no_parking(self):
        """Where CPUs are not parked, the plan confines no unit, and stands in no hold's way."""
        self.write_config('idled.conf', self.CONFIG.replace('systemd', 'none'))
        self.start()
        path, _ = self.begin()
        self.set_idle_mask('0-7,16-23')
        self.set_idle_mask('0-3')
        self.assertEqual((self.unit_limits('game.scope'), self.obstacle(path)), ([self.CACHE], ''))

    def test_offline_kind(self):
        """Some of the kind's CPUs go, then all: the limit goes with the last."""
        self.start()
        path, _ = self.begin()
        for gone, left in ((range(7), [7, *range(16, 24)]), (self.CACHE, [])):
            online = [cpu for cpu in range(32) if cpu not in gone]
            self.put('sys/devices/system/cpu/online', ','.join(map(str, online)) + '\n')
            self.put('proc/stat', 'cpu 1 0 0 1\n' + ''.join('cpu%d 1 0 0 1\n' % cpu for cpu in online) +
                     'ctxt 1\nprocs_running 1\nprocs_blocked 0\n')

            def noticed():  # by a decision, if it is not made by a reading that is still fresh
                self.set_option('userspace', 'IdleMask', '')
                return self.unit_limits('game.scope')[-1] == left  # pylint: disable=cell-var-from-loop
            wait_until(noticed, 'CPUs %s' % left)
        self.assertIn('no cores of kind cache online', self.obstacle(path))

    def test_not_its_own(self):
        self.start()
        path, _ = self.hold(kind='cache', pid=self.process('/system.slice/ssh.service', os.getpid()))
        self.assertIn('no unit of its own', self.obstacle(path))
        self.assertEqual(self.unit_limits('ssh.service'), [])
        self.assertEqual(self.mode(), 'cache')

    def test_cpus_of_others(self):
        self.start()
        self.mocked('AddUnit', 'a.service', 'system.slice')
        self.limit('a.service', b'\x03')
        self.mocked('LoadUnit', 'b.service', dbus.Dictionary(
            {'CPUAffinity': dbus.Array([dbus.Byte(3)], signature='y')}, signature='sv'))
        for name, limits in (('a.service', [[0, 1]]), ('b.service', [])):
            path, _ = self.hold(kind='cache', pid=self.process('/system.slice/' + name))
            self.assertIn('of its own (AllowedCPUs', self.obstacle(path), name)
            self.assertEqual(self.unit_limits(name), limits)

    def test_taken_over(self):
        self.start()
        path, descriptor = self.begin()
        self.limit('game.scope', b'\x03')
        self.assertEqual(len(self.call('Verify')), 1)
        wait_until(lambda: 'taken over' in self.obstacle(path), 'an obstacle')
        self.close(descriptor)
        wait_until(lambda: self.mode() == 'frequency', 'the end')
        self.assertEqual(self.unit_limits('game.scope'), [self.CACHE, [0, 1]])

    def test_taken_over_stays_active(self):
        """The list that the administrator chose is not idled's: none of its CPUs is parked."""
        self.start()
        self.begin()
        self.limit('game.scope', b'\x01')
        self.put('sys/fs/cgroup/user.slice/game.scope/cpuset.cpus', '0\n')
        self.assertEqual(len(self.call('Verify')), 1)
        self.set_idle_mask('0-3')
        wait_until(lambda: self.get('Parked') == '1-3', 'CPU 0 active')

    def test_run(self):
        """The command is in a scope of its own when idled reads its cgroup, which here it cannot."""
        self.start()
        done = self.idlectl('run', '--kind', 'cache', '--', 'sh', '-c', 'echo $$')
        self.assertEqual(done.returncode, 0, done.stderr)
        pid = done.stdout.strip()
        self.assertIn(['idlectl-run-%s.scope' % pid, 'start', 'fail', pid],
                      [row.split(' ') for row in self.mocked('History')])
        self.assertIn('no unit of its own', done.stderr)
        refused = self.idlectl('run', '--kind', 'big', '--', 'true')
        self.assertEqual(refused.returncode, 125)
        self.assertIn('--kind: found "big", expected', refused.stderr)

    def test_words(self):
        self.start()
        for kind in ('fats', '', 'cache,fast'):
            message = self.assert_fails('org.idled1.Error.InvalidValue', 'Hold',
                                        dbus.Dictionary({'kind': kind}, signature='sv'))
            self.assertIn('kind: found "%s", expected' % kind, message)
        self.write_config('apps/wrong.conf', '[Match]\nComm=game\n[Ask]\nKind=big\n')
        with self.assertRaises(dbus.DBusException) as caught:
            self.call('Reload')
        self.assertIn('wrong.conf:4: Kind: found "big", expected words, each one of efficient',
                      caught.exception.get_dbus_message())


def on_machine(machine, expected):
    """What each kind comes to on a machine; None: there are no such cores, which the hold says."""

    class Machine(Kinds):
        MACHINE = machine

        def test_kinds(self):
            self.start()
            for kind in ('efficient', 'fast', 'cache', 'island', 'fast island'):
                name = kind.replace(' ', '-') + '.scope'
                cpus = [cpu for word in kind.split() for cpu in expected.get(word, ())]
                self.mocked('AddUnit', name, 'user.slice')
                path, _ = self.hold(kind=kind, pid=self.process('/user.slice/' + name))
                if cpus:
                    self.assertEqual((self.unit_limits(name), self.obstacle(path)), ([cpus], ''), kind)
                else:
                    self.assertEqual(self.unit_limits(name), [], kind)
                    self.assertIn('no cores of kind ' + kind, self.obstacle(path))
            self.check_shown()

        def check_shown(self):
            """The same by idlectl cpus, whose table has no column for kinds where cores are alike."""
            listed = self.idlectl('cpus', '--json')
            shown = {cpu['cpu']: cpu['kinds'] for cpu in json.loads(listed.stdout)['cpus']}
            for kind in ('efficient', 'fast', 'cache', 'island'):
                self.assertEqual([cpu for cpu in sorted(shown) if kind in shown[cpu]], [*expected.get(kind, ())], kind)
            self.assertEqual('Kind' in self.idlectl('cpus').stdout.split('\n', 1)[0], bool(expected))

    for name in [name for name in dir(Kinds) if name.startswith('test_')]:
        setattr(Machine, name, None)
    return Machine


MeteorLake = on_machine('mtl-m-2', {'efficient': range(4, 14), 'fast': range(4),
                                    'island': range(12, 14)})
LunarLake = on_machine('lnl0', {'efficient': range(4, 8), 'fast': range(4)})
ArrowLake = on_machine('synthetic-arrow', {'efficient': range(6, 16), 'fast': range(6),
                                           'island': range(14, 16)})
RaptorLake = on_machine('synthetic-raptor', {'efficient': range(16, 32), 'fast': range(16)})
Snapdragon = on_machine('synthetic-biglittle', {'efficient': range(4), 'fast': range(4, 8)})
Graviton = on_machine('synthetic-graviton', {})


main()
