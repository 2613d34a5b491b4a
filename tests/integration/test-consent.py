#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""idlectl while polkit asks for a password: it waits, and can be interrupted."""
import os
import pty
import shutil
import signal
import subprocess

from idledtest import NOBODY, TIMEOUT, TestCase, command_as, main, needs_root, wait_until
from polkittest import YES, WithPolkit

BUS_TIMEOUT = 5  # what any other answer may take
VERBS = (('hold', '--latency', '50us'), ('run', '--latency', '50us', '--', 'true'))


@needs_root
class Consent(WithPolkit, TestCase):
    CONFIG = '[Daemon]\nPolicies=userspace latency\n'

    def setUp(self):
        super().setUp()
        self.start()
        self.start_polkit(YES)
        self.program = shutil.copy(os.environ['IDLECTL'], self.directory)
        self.seen = self.watch_polkit()

    def ask(self, *verb):
        """A user at a terminal runs this verb, and polkit's question gets no answer."""
        del self.seen[:]
        self.polkit.send_signal(signal.SIGSTOP)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        client = subprocess.Popen(
            command_as(NOBODY, self.program, '--bus-address', self.bus.address, *verb),
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True)
        os.close(theirs)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        wait_until(lambda: 'CheckAuthorization' in self.seen, 'the question')
        return client, ours

    def test_interrupted(self):
        for verb in VERBS:
            for number in (signal.SIGINT, signal.SIGTERM):
                client, _ = self.ask(*verb)
                client.send_signal(number)
                self.assertEqual(client.wait(TIMEOUT), -number, verb)
                wait_until(lambda: 'CancelCheckAuthorization' in self.seen, 'no more question')
        self.assertEqual(self.get('Holds'), [])

    def test_patience(self):
        client, terminal = self.ask('hold', '--latency', '50us', '--for', '1ms')
        with self.assertRaises(subprocess.TimeoutExpired):
            client.wait(BUS_TIMEOUT + 1)
        self.polkit.send_signal(signal.SIGCONT)
        status = client.wait(TIMEOUT)
        text = os.read(terminal, 4096).decode()
        self.assertIn('is in effect', text)
        self.assertEqual(status, 0, text)


main()
