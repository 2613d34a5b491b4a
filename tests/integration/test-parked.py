#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What happens to the daemon while it really keeps work off a CPU: reloads, pauses, a bus or a name
that goes, a knob that another program takes over. On the running kernel's cpuset, in a group that the
test makes; each test checks the kernel's value and not the daemon's report."""
import os

from cpuset import OwnGroup, main_on_cpusets
from idledtest import PATH, TestCase, wait_until

CPU, CPU_1 = 'org.idled1.Cpu', PATH + '/cpu/1'
GROUP = 'idled-parked-%d' % os.getpid()


class Parked(OwnGroup, TestCase):
    def setUp(self):
        super().setUp()
        self.make_group(GROUP)
        self.start()
        self.park()
        self.assertEqual(self.knob(), '0')

    def assert_still_works(self):
        self.set_idle_mask('')
        self.assertEqual(self.knob(), self.before)
        self.set_idle_mask('1')
        self.assertEqual(self.knob(), '0')
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.knob(), self.before)

    def test_reload_of_the_same(self):
        for _ in range(3):
            self.call('Reload')
            self.assertEqual(self.knob(), '0')
        self.assert_still_works()

    def test_reload_that_lets_the_group_alone(self):
        self.configure('Exclude=%s\n' % GROUP)
        self.call('Reload')
        self.assertEqual(self.knob(), self.before)
        self.configure('')
        self.call('Reload')
        self.assertEqual(self.knob(), '0')
        self.assert_still_works()

    def test_lasting_pause(self):
        """idlectl pause restores the kernel's value though idlectl has ended; resume parks again."""
        self.assertEqual(self.idlectl('pause').returncode, 0)
        wait_until(lambda: self.knob() == self.before, 'the original value')
        parked = self.get('ParkedUSec', CPU_1, CPU)
        self.assertGreater(parked, 0)
        self.assertEqual(self.get('ParkedUSec', CPU_1, CPU), parked, 'it is not parked now')
        self.assertEqual(self.idlectl('resume').returncode, 0)
        wait_until(lambda: self.knob() == '0', 'parked again')
        wait_until(lambda: self.get('ParkedUSec', CPU_1, CPU) > parked, 'time that is parked')
        self.assert_still_works()

    def test_auto(self):
        """With cgroup v1 there is but one way, which is the one that was named before."""
        text = (self.conf / 'idled.conf').read_text()
        (self.conf / 'idled.conf').write_text(text.replace('Backend=cgroup\n', ''))
        self.call('Reload')
        self.assertRegex(self.get('ParkBackend'), '^cgroup v1 cpuset at /')
        self.assertEqual(self.knob(), '0')
        self.assert_still_works()

    def test_reload_with_an_error(self):
        self.configure('Backnd=cgroup\n')
        self.assert_fails('org.idled1.Error.ConfigInvalid', 'Reload')
        self.assertEqual(self.knob(), '0')
        self.assert_still_works()

    def test_verify(self):
        self.assertEqual(self.call('Verify'), [])
        (self.group / 'cpuset.cpus').write_text('1')
        problems = self.call('Verify')
        self.assertEqual([(str(p[2]), str(p[3])) for p in problems], [('0', '1')])
        self.assertEqual(self.daemon.terminate(), 0)
        self.assertEqual(self.knob(), '1', 'a knob that another program set stays')

    def test_peer_defect_6_the_bus_goes(self):
        self.bus.stop()
        self.daemon.wait_log(r'bus .*(lost|gone|closed|away)')
        self.assertEqual(self.knob(), '0', 'the loss of the bus is no reason to stop')
        self.bus_returns()
        self.assert_still_works()

    def test_peer_defect_6_the_name_is_taken(self):
        thief = self.take_name()
        self.wait_knob(self.before)
        thief.close()
        self.wait_knob('0')
        self.connection.close()
        self.connection = self.bus.connect()
        self.wait_name()
        self.assert_still_works()

    def test_killed_with_a_pause_held(self):
        fd = self.pause('a test')
        self.wait_knob(self.before)
        self.daemon.kill()
        os.close(fd)
        self.assertEqual(self.knob(), self.before)


if __name__ == '__main__':
    main_on_cpusets()
