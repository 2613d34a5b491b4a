#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Application rules: a process matches a path only if it runs the file that all users see there."""
import os
import subprocess
import unittest

from appstest import ASK, Apps
from idledtest import NOBODY, main

RULES = {'game': '[Match]\nExecutable=BIN/game\n' + ASK}


def can_mount():
    return subprocess.run(['unshare', '--user', '--map-root-user', '--mount', 'true'],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Namespaces(Apps):
    @unittest.skipUnless(can_mount(), 'no mount namespace can be made here')
    def test_is_another_in_a_namespace(self):
        """A user with a user namespace can mount any program at the path of a rule: it does not match."""
        self.use_fence(**RULES)
        self.start()
        script = 'mount --bind BIN/other BIN/game && exec BIN/game 1000'
        fake = self.run_program('unshare', '--user', '--map-root-user', '--mount', 'sh', '-c',
                                script.replace('BIN', str(self.bin)))
        self.wait_exec(fake.pid, 'game')
        self.assert_no_hold(fake.pid)
        self.daemon.stop()
        self.start()
        self.assert_no_hold(fake.pid)


@unittest.skipUnless(os.geteuid() == 0, 'needs root to have fewer rights, and a user')
class Homes(Apps):
    """Programs in directories that the service, unlike root, may not look into."""

    PREFIX = ('setpriv', '--bounding-set', '-dac_override,-dac_read_search')
    RULES = RULES

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        os.chmod(self.bin, 0o700)
        os.chown(self.bin, NOBODY, NOBODY)

    def test_program_of_a_user(self):
        self.start()
        game = self.run_program(self.bin / 'game', '1000', user=NOBODY)
        self.wait_hold('game', game.pid)

    @unittest.skipUnless(can_mount(), 'no mount namespace can be made here')
    def test_another_in_a_namespace(self):
        real = self.run_program(self.bin / 'game', '1000', user=NOBODY)
        self.wait_exec(real.pid, 'game')
        fake = self.run_program('unshare', '--mount', 'sh', '-c', (
            'mount --bind BIN/other BIN/game && exec BIN/game 1000').replace('BIN', str(self.bin)))
        self.wait_exec(fake.pid, 'game')
        self.start()
        self.wait_hold('game', real.pid)
        self.daemon.stop()  # all that it said at the start has been read then
        self.assertEqual(self.daemon.count_log('of app game: .*process %d,' % fake.pid), 0)


main()
