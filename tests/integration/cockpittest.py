# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests of the Cockpit page share: Cockpit's own web server and bridge, with the bus of the test as
the system's, with and without a login, a browser that shows the page, and a machine whose counters move."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import chromium
from idledtest import NOBODY, TestCase, command_as, wait_until
from systemdtest import WithSystemd

SERVER = '/usr/lib/cockpit/cockpit-ws'
BRIDGE = '/usr/bin/cockpit-bridge'
PAGE = os.path.join(os.environ['IDLED_SOURCE'], 'cockpit')
STYLES = '/usr/share/cockpit/systemd/terminal.css.gz'

# A fault whose first script is of another of Cockpit's packages than ours and what it builds on.
OF_COCKPIT = re.compile(r'^(?:(?!"url").)*"url": "[^"]*/cockpit/\$[0-9a-f]+/(?!idled/|base1/)')


def missing():
    """Files that the test needs and that this machine does not have."""
    return [path for path in (SERVER, BRIDGE, STYLES, chromium.PROGRAM or 'chromium')
            if not os.path.exists(path)]


def skip_without():
    if missing():
        print('not here: ' + ', '.join(missing()))
        sys.exit(77)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def add_to(path, amount):
    """To the number in a file of the tree, which the daemon may keep open."""
    with open(path, 'r+', encoding='ascii') as file:
        number = int(file.read()) + int(amount)
        file.seek(0)
        file.write('%d\n' % number)


# Power of RAPL zones, by name; packages draw 4 W.
WATTS = {'core': 2.6, 'uncore': 0.3, 'dram': 0.5, 'psys': 7.2}


class Moving:
    """Lets the counters of a described machine move, as much as time passes: stop() ends it.

    busy(cpu) is the share of time in which that CPU works. A tenth of the remaining time is in the
    second idle state, the rest in the deepest.
    """

    PERIOD = 0.1

    def __init__(self, root, busy):
        self.root, self.busy = root, busy
        self.energy = []  # (file of a RAPL zone, its watts)
        for path in glob.glob(self.path('sys/devices/virtual/powercap/**/energy_uj'), recursive=True):
            with open(os.path.join(os.path.dirname(path), 'name'), encoding='ascii') as file:
                self.energy.append((path, WATTS.get(file.read().strip(), 4)))
        self.ticks = {}
        with open(self.path('proc/stat'), encoding='ascii') as file:
            lines = file.read().splitlines()
        self.rest = [line for line in lines if not line.startswith('cpu')]
        for line in lines:
            if line.startswith('cpu') and line[3].isdigit():
                name, *fields = line.split()
                self.ticks[int(name[3:])] = [float(field) for field in fields]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def path(self, name):
        return os.path.join(self.root, name)

    def run(self):
        before = time.monotonic()
        while not self.ended.wait(self.PERIOD):
            now = time.monotonic()
            self.move(now - before)
            before = now

    def move(self, seconds):
        for cpu, ticks in self.ticks.items():
            idle = 1 - self.busy(cpu)
            ticks[0] += 100 * seconds * (1 - idle)
            ticks[3] += 100 * seconds * idle
            self.sleep(sorted(glob.glob(self.path('sys/devices/system/cpu/cpu%d/cpuidle/state*' % cpu))),
                       seconds, idle)
        lines = ['cpu%d %s' % (cpu, ' '.join(str(int(tick)) for tick in ticks))
                 for cpu, ticks in self.ticks.items()]
        total = [int(sum(column)) for column in zip(*self.ticks.values())]
        with open(self.path('proc/stat'), 'r+', encoding='ascii') as file:
            file.write('\n'.join(['cpu  ' + ' '.join(map(str, total)), *lines, *self.rest]) + '\n')
        for path, watts in self.energy:
            add_to(path, 1e6 * seconds * watts)

    def sleep(self, states, seconds, idle):
        for state, share in zip(states[1:2] + states[-1:], (0.1, 0.9)):
            add_to(state + '/time', 1e6 * seconds * idle * share)
            add_to(state + '/usage', 20 * share + 1)

    def stop(self):
        self.ended.set()
        self.thread.join()


class Case(WithSystemd, TestCase):
    """The machine parks through systemd's mock. `self.page` is the browser after show()."""

    CONFIG = '[Daemon]\nPolicies=userspace latency ondemand\n[Park]\nBackend=systemd\n'
    USER = None  # number of the user of the session; None: the user that runs the test

    def setUp(self):
        super().setUp()
        self.start_systemd()
        self.page = None

    def serve(self):
        """Cockpit, on a port of its own."""
        share = os.path.join(self.directory, 'share')
        shutil.copytree(PAGE, os.path.join(share, 'cockpit/idled'))
        home = os.path.join(self.directory, 'home')
        os.mkdir(home)
        if self.USER is not None:
            os.chown(home, self.USER, self.USER)
        environment = {
            'PATH': os.environ['PATH'], 'HOME': home, 'LANG': 'C.UTF-8', 'XDG_RUNTIME_DIR': home,
            'XDG_DATA_HOME': os.path.join(home, 'none'), 'XDG_DATA_DIRS': share + ':/usr/share',
            'DBUS_SYSTEM_BUS_ADDRESS': self.bus.address,
        }
        self.launch(command_as(self.USER, *self.command(), '--local-session=' + BRIDGE), environment)

    def command(self):
        return [SERVER, '--no-tls', '--address=127.0.0.1', '--port=%d' % self.port]

    def launch(self, command, environment):
        server = subprocess.Popen(command, env=environment, start_new_session=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)

        def stop():
            os.killpg(server.pid, signal.SIGTERM)
            server.wait()
        self.addCleanup(stop)
        wait_until(self.answers, 'Cockpit on port %d' % self.port)

    def answers(self):
        with socket.socket() as probe:
            return probe.connect_ex(('127.0.0.1', self.port)) == 0

    def show(self, width=1280, height=1000, path='/cockpit/@localhost/idled/index.html'):
        """Opens the page. Outside Cockpit's shell, if no other path is given."""
        self.port = free_port()
        self.serve()
        self.page = chromium.Browser()
        self.addCleanup(self.page.close)
        self.page.resize(width, height)
        self.enter()
        self.page.open('http://127.0.0.1:%d%s' % (self.port, path))

    def enter(self):
        """Without a login there is nothing to do."""

    # What is on the page

    def find(self, selector, expression):
        """The value of an expression of `node`, the first element there; None if there is none."""
        return self.page.evaluate('(node => node ? %s : null)(document.querySelector(%r))'
                                  % (expression, selector))

    def text(self, selector):
        return self.find(selector, 'node.innerText')

    def attribute(self, selector, name):
        return self.find(selector, 'node.getAttribute(%r)' % name)

    def count(self, selector):
        return self.page.evaluate('document.querySelectorAll(%r).length' % selector)

    def in_frame(self, expression):
        """The value of an expression of `frame`, the window of the page in Cockpit's shell."""
        return self.page.evaluate(
            '(node => { const frame = node && node.contentWindow;'
            'return frame && frame.document.body ? %s : null; })'
            '(document.querySelector("iframe[name*=idled]"))' % expression)

    def click(self, selector):
        """As soon as it is on the page."""
        self.wait_page(lambda: self.find(selector, '(node.click(), 1)'), selector)

    def fill(self, selector, text):
        self.find(selector, '(node.focus(), node.select(), 1)')
        self.page.type(text)

    def wait_page(self, condition, what):
        try:
            wait_until(condition, what)
        except AssertionError as error:
            shown = self.page.evaluate('document.body.innerText')
            raise AssertionError('%s; faults: %s; the page says:\n%s'
                                 % (error, self.page.faults, shown)) from error

    def wait_text(self, selector, text):
        self.wait_page(lambda: text in (self.text(selector) or ''), '"%s" in %s' % (text, selector))

    def wait_state(self, state):
        self.wait_page(lambda: self.attribute('body', 'data-state') == state, 'state ' + state)

    def assert_no_faults(self):
        """None but those of Cockpit's own pages, which it loads, too, and which miss systemd on the bus."""
        self.page.evaluate('0')
        self.assertEqual([fault for fault in self.page.faults if not OF_COCKPIT.search(fault)], [])


needs_root = not os.geteuid() and NOBODY


class WithLogin:
    """Cockpit's own login, which PAM decides. The account exists only in the mount namespace of the server.

    A session begins with an environment of its own: page and bus are where it expects those of the system.
    """

    # The bus runs outside the namespace, so the number must be that of a user there, too.
    USER, ACCOUNT, PASSWORD = NOBODY, 'idledtest', 'a password'
    NAMESPACE = '''
set -e
for name in passwd shadow; do mount --bind "$1/$name" "/etc/$name"; done
for directory in /run /var/log /usr/local/share; do mount -t tmpfs none "$directory"; done
mkdir -p /usr/local/share/cockpit /run/dbus
cp -r "$2" /usr/local/share/cockpit/idled
ln -s "$3" /run/dbus/system_bus_socket
shift 3
exec "$@"
'''

    def make_account(self):
        """A directory with the machine's accounts, this one before them, and a password for this one only."""
        directory = os.path.join(self.directory, 'accounts')
        home = os.path.join(directory, 'home')
        os.makedirs(home)
        os.chown(home, self.USER, self.USER)
        secret = subprocess.run(['openssl', 'passwd', '-6', '-stdin'], input=self.PASSWORD, check=True,
                                stdout=subprocess.PIPE, text=True).stdout.strip()
        with open('/etc/passwd', encoding='utf-8') as file:
            others = file.read()
        for name, line, more in (
                ('passwd', 'x:%d:%d::%s:/bin/sh' % (self.USER, self.USER, home), others),
                ('shadow', secret + ':19000:0:99999:7:::', '')):
            with open(os.path.join(directory, name), 'w', encoding='utf-8') as file:
                file.write('%s:%s\n%s' % (self.ACCOUNT, line, more))
        return directory

    def serve(self):
        self.launch(['unshare', '--mount', 'sh', '-c', self.NAMESPACE, 'sh', self.make_account(), PAGE,
                     self.bus.socket, *self.command()], {'PATH': os.environ['PATH'], 'LANG': 'C.UTF-8'})

    def log_in(self, password):
        self.fill('#login-user-input', self.ACCOUNT)
        self.fill('#login-password-input', password)
        self.click('#login-button')

    def enter(self):
        self.page.open('http://127.0.0.1:%d/idled' % self.port)
        self.wait_page(lambda: self.find('#login-button', 'node.offsetWidth > 0 && !node.disabled'),
                       'the login')  # Cockpit shows it after it has asked whether there is a session.
        self.log_in('another password')
        self.wait_text('#login-error-message', 'Wrong')
        self.log_in(self.PASSWORD)
        self.wait_page(lambda: self.in_frame('frame.document.body.dataset.state') == 'running',
                       "the page in Cockpit's shell")
        del self.page.faults[:]  # Chromium reports each refused login.
