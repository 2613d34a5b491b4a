# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the integration tests share: a private bus, a fake machine, a daemon on both, and mocks.

Everything lives in one temporary directory and is gone when the test is over. Nothing waits for a
fixed time: what must happen is waited for as an event (a line of the log, a signal, a socket), and
TIMEOUT is only for what never comes.

The environment says where the build is: IDLED (the daemon), IDLED_POLICIES (directory of modules),
IDLED_MACHINES (tests/machines).
"""
import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

import dbus
import dbus.bus
import dbus.mainloop.glib
from gi.repository import GLib

import temporary

sys.path.append(str(Path(__file__).resolve().parents[1]))
import privatebus  # pylint: disable=wrong-import-position

NAME = 'org.idled1'
PATH = '/org/idled1'
MANAGER = 'org.idled1.Manager'
PROPERTIES = 'org.freedesktop.DBus.Properties'
FOR_EVER = 2**64 - 1  # of a pause
MOCK = 'org.freedesktop.DBus.Mock'
TIMEOUT = 20
NOBODY = 65534

dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)


def wait_until(condition, what):
    """Runs the main loop until condition() is true, which is checked after every event. `what` is a text
    or a function that returns one."""
    context = GLib.MainContext.default()
    end = time.monotonic() + TIMEOUT
    tick = GLib.timeout_add(50, lambda: True)  # for conditions that cause no event
    try:
        while not condition():
            if time.monotonic() > end:
                raise AssertionError('timed out: ' + (what() if callable(what) else what))
            context.iteration(True)
    finally:
        GLib.source_remove(tick)


def options(section, key, value):
    """The argument of SetOptions for one option."""
    return dbus.Array([(section, key, value)], signature='(sss)')


def command_as(user, *command):
    """The command line that runs this as the user with this number; None: as the test's user."""
    if user is None:
        return list(command)
    return ['setpriv', '--reuid=%d' % user, '--regid=%d' % user, '--clear-groups', *command]


def bpf_programs(pid):
    """How many BPF programs a process has."""
    count = 0
    for fd in os.listdir('/proc/%d/fd' % pid):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            count += os.readlink('/proc/%d/fd/%s' % (pid, fd)).endswith('bpf-prog')
    return count


class Bus(privatebus.Bus):
    def connect(self):
        connection = dbus.bus.BusConnection(self.address)
        connection.set_exit_on_disconnect(False)
        return connection


class Daemon:
    """idled on the fake machine; its log is read by a thread."""

    numbers = itertools.count()

    def __init__(self, directory, arguments, prefix=()):
        # A socket for each daemon: messages of an earlier one must not arrive here.
        self.path = path = os.path.join(directory, 'notify-%d' % next(self.numbers))
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(path)
        self.notify.settimeout(TIMEOUT)
        self.log = []
        environment = dict(os.environ, NOTIFY_SOCKET=path)
        environment.pop('JOURNAL_STREAM', None)
        self.process = subprocess.Popen([*prefix, os.environ['IDLED']] + arguments,
                                        env=environment, stderr=subprocess.PIPE, text=True,
                                        errors='replace')
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip('\n'))

    def wait_ready(self):
        gone = threading.Thread(target=self._report_end, daemon=True)
        gone.start()
        message = b''
        while b'READY=1' not in message:
            try:
                message = self.notify.recv(4096)
            except socket.timeout:
                message = b'END'
            if message == b'END':
                raise AssertionError('not ready:\n' + '\n'.join(self.log))

    def _report_end(self):
        self.process.wait()
        self.reader.join()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
            try:
                end.sendto(b'END', self.path)
            except OSError:
                pass  # wait_ready() has returned

    def wait_log(self, pattern, count=1):
        wait_until(lambda: self.count_log(pattern) >= count,
                   'a line like "%s" in\n%s' % (pattern, '\n'.join(self.log)))

    def count_log(self, pattern):
        return sum(1 for line in list(self.log) if re.search(pattern, line))

    def send(self, number):
        self.process.send_signal(number)

    def wait_exit(self):
        status = self.process.wait(TIMEOUT)
        self.reader.join(TIMEOUT)
        return status

    def terminate(self):
        """The status that it ends with."""
        self.send(signal.SIGTERM)
        return self.wait_exit()

    def kill(self):
        self.send(signal.SIGKILL)
        return self.wait_exit()

    def stop(self):
        if self.process.poll() is None:
            self.send(signal.SIGCONT)
            self.send(signal.SIGTERM)
            try:
                self.process.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(TIMEOUT)
        self.process.stderr.close()
        self.notify.close()


class TestCase(unittest.TestCase):
    """A bus, a machine, a configuration; start() starts the daemon."""

    MACHINE = 'synthetic-laptop'
    CONFIG = '[Daemon]\nPolicies=userspace\n'
    FILES = {}  # more of the configuration: texts by names
    PREFIX = ()  # of the daemon's command line
    START = None  # arguments of the daemon that setUp() starts; None: it starts none

    def setUp(self):
        self.directory = temporary.make(self)
        os.chmod(self.directory, 0o755)
        self.root = os.path.join(self.directory, 'root')
        machines = os.environ['IDLED_MACHINES']
        subprocess.run([os.path.join(machines, 'build'),
                        os.path.join(machines, self.MACHINE + '.machine'), self.root], check=True)
        self.assertTrue(os.path.exists(os.path.join(self.root, 'IDLED_FAKE_TREE')))
        self.set_kernel('6.12.0')
        self.config = os.path.join(self.root, 'etc/idled')
        for name, text in {'idled.conf': self.CONFIG, **self.FILES}.items():
            self.write_config(name, text)
        self.daemon = None
        self.bus = Bus(self.directory)
        self.bus.start()
        self.addCleanup(self.bus.stop)
        self.connection = self.bus.connect()
        self.addCleanup(self.connection.close)
        if self.START is not None:
            self.start(*self.START)

    def put(self, name, text):
        """Writes a file of the machine, which need not be there, and may be read-only."""
        path = Path(self.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.chmod(0o644)
        path.write_text(text, encoding='utf-8')

    def read(self, name):
        return Path(self.root, name).read_text(encoding='utf-8').strip()

    def take_offline(self, cpu):
        """The last one, as the kernel shows it: out of the list and out of /proc/stat."""
        self.put('sys/devices/system/cpu/online', '0-%d\n' % (cpu - 1))
        self.put('proc/stat', ''.join(line + '\n' for line in self.read('proc/stat').splitlines()
                                      if not line.startswith('cpu%d ' % cpu)))

    def write_config(self, name, text):
        self.put(os.path.join(self.config, name), text)

    def set_kernel(self, release):
        self.put('proc/sys/kernel/osrelease', release + '\n')

    def arguments(self):
        return ['--root', self.root, '--run', os.path.join(self.directory, 'run'),
                '--policy-dir', os.environ['IDLED_POLICIES'], '--log-level', 'debug']

    def spawn(self, *more, bus=True):
        arguments = self.arguments() + list(more)
        if bus:
            arguments += ['--bus-address', self.bus.address]
        daemon = Daemon(self.directory, arguments, self.PREFIX)
        self.addCleanup(daemon.stop)
        return daemon

    def start(self, *more, bus=True, mask=None):
        self.daemon = self.spawn(*more, bus=bus)
        self.daemon.wait_ready()
        if mask is not None:
            self.set_idle_mask(mask)
        return self.daemon

    def arguments_here(self, config):
        """As arguments(), of a daemon on the running kernel, with no configuration but this."""
        os.makedirs(os.path.join(self.directory, 'none'), exist_ok=True)
        return ['--run', os.path.join(self.directory, 'run'), '--config-dir', str(config),
                '--vendor-dir', os.path.join(self.directory, 'none'), '--policy-dir',
                os.environ['IDLED_POLICIES'], '--log-level', 'debug']

    def cpu_files(self):
        """Every file below the CPUs' directory: what is in it, and when it was written."""
        found = {}
        for directory, _, names in os.walk(os.path.join(self.root, 'sys/devices/system/cpu')):
            for name in names:
                path = os.path.join(directory, name)
                with open(path, encoding='ascii') as file:
                    found[path] = (file.read().strip(), os.stat(path).st_mtime_ns)
        return found

    def cpu_values(self):
        return {path: text for path, (text, _) in self.cpu_files().items()}

    # Asking the daemon

    def object(self, path=PATH, connection=None):
        return (connection or self.connection).get_object(NAME, path, introspect=False)

    def get(self, name, path=PATH, interface=MANAGER):
        return self.object(path).Get(interface, name, dbus_interface=PROPERTIES)

    def degraded(self):
        """What failed, but for parking on a tree without cgroups."""
        return [row for row in self.get('Degraded') if row[:2] != ('park', 'not available here')]

    def call(self, method, *arguments, connection=None):
        return self.object(connection=connection).get_dbus_method(method, MANAGER)(*arguments)

    def assert_fails(self, name, method, *arguments, **more):
        with self.assertRaises(dbus.DBusException) as caught:
            self.call(method, *arguments, **more)
        self.assertEqual(caught.exception.get_dbus_name(), name)
        return caught.exception.get_dbus_message()

    def wait_name(self, connection=None):
        connection = connection or self.connection
        wait_until(lambda: connection.name_has_owner(NAME), 'the name on the bus')

    def set_option(self, section, key, value):
        return self.call('SetOptions', options(section, key, value))

    def set_idle_mask(self, cpus):
        self.set_option('userspace', 'IdleMask', cpus)

    def pause(self, reason, usec=0):
        """The descriptor whose closing ends the pause, None if it lasts without one."""
        descriptors = self.call('Pause', reason, dbus.UInt64(usec))
        return descriptors[0].take() if descriptors else None

    def transitions(self, before=0, most=32):
        return self.call('History', dbus.UInt64(before), dbus.UInt32(most))

    # Others on the bus

    def popen(self, command, **options):
        """A process that ends with the test; its streams are text."""
        process = subprocess.Popen(command, text=True, **options)

        def stop():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            with process:  # closes its streams
                pass
        self.addCleanup(stop)
        return process

    def bus_returns(self):
        """After it was stopped; with the daemon on it again."""
        self.bus.start()
        self.connection.close()
        self.connection = self.bus.connect()
        self.addCleanup(self.connection.close)
        self.wait_name()

    def take_name(self):
        """Who has taken the daemon's name while it slept and the bus was away."""
        self.daemon.send(signal.SIGSTOP)
        self.bus.stop()
        self.bus.start()
        thief = self.bus.connect()
        thief.request_name(NAME)
        self.daemon.send(signal.SIGCONT)
        return thief

    def busctl(self, *arguments, user=None, more=(), check=False):
        """busctl on the private bus, as another user if one is given."""
        command = ['busctl', '--address=' + self.bus.address, *more, *arguments]
        return subprocess.run(command_as(user, *command), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT, check=check)

    def idlelab(self, *arguments):
        return self.idlectl(*arguments, program='IDLELAB')

    def idlectl(self, *arguments, program='IDLECTL'):
        """idlectl on the private bus: exit status, standard output and error."""
        return subprocess.run([os.environ[program], '--bus-address', self.bus.address,
                               *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=TIMEOUT, check=False)

    def assert_failed(self, result, *says):
        """A command has status 1 and says these on standard error, and nothing else."""
        self.assertEqual((result.returncode, result.stdout), (1, ''), result.args)
        for text in says:
            self.assertIn(text, result.stderr, result.args)

    def call_as_nobody(self, method, *arguments, more=()):
        return self.busctl('call', NAME, PATH, MANAGER, method, *arguments, user=NOBODY, more=more)

    def mock(self, name, path, interface=None, template=None):
        """A dbusmock server with this name; returns its process and its object."""
        what = ['--template', template] if template else [name, path, interface]
        process = self.popen([sys.executable, '-m', 'dbusmock', '--session', *what],
                             env=dict(os.environ, DBUS_SESSION_BUS_ADDRESS=self.bus.address),
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.connection.name_has_owner(name), name + ' on the bus')
        return process, self.connection.get_object(name, path, introspect=False)

    def signals(self, path=None, interface=PROPERTIES, member='PropertiesChanged'):
        """A list that fills with the arguments of matching signals, the path first."""
        seen = []
        match = self.connection.add_signal_receiver(
            lambda *arguments, path: seen.append((str(path),) + arguments), member, interface,
            NAME, path, path_keyword='path')
        self.addCleanup(match.remove)
        return seen

    def monitor(self, *rules, members=()):
        """A list that fills with the names of the messages that one of these rules matches, wherever they are sent,
        and of some about the monitor itself. `members`: only these."""
        seen = []
        monitor = self.bus.connect()
        self.addCleanup(monitor.close)
        monitor.add_message_filter(lambda _, message: seen.append(message.get_member())
                                   if not members or message.get_member() in members else None)
        monitor.call_blocking('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus.Monitoring',
                              'BecomeMonitor', 'asu', (rules, 0))
        return seen

    def sync(self):
        """All signals that the daemon sent before now have been seen after this."""
        flag = []
        self.object().Ping(dbus_interface='org.freedesktop.DBus.Peer',
                           reply_handler=lambda: flag.append(1),
                           error_handler=lambda error: flag.append(error))
        wait_until(lambda: flag, 'an answer to Ping')


needs_root = unittest.skipUnless(os.geteuid() == 0, 'needs root to become another user')


def main():
    # A shell cannot trap what was ignored when it began, as under nohup or in the background.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    unittest.main(verbosity=2)
