# SPDX-License-Identifier: LGPL-2.1-or-later
"""The machine that tests share: booted when a test first uses it, and again only for a test that needs
another one."""

import time
import unittest
from types import SimpleNamespace

import emulator
import image
import snapshot
from image import HERE
from machine import GuestError, Machine

settings = SimpleNamespace(
    suite="trixie", shape="2x2", module_options="", kernel_options="", icount=None, build=None,
    directory=None, short=False, boot=False, say=print, starts=0, start_seconds=0.0)
_running = SimpleNamespace(machine=None, wants=None, installed=False)


def supplies():
    """What guests are made of, got if it is not there: the image's directory, the kernel module, and how
    QEMU is called. Unavailable if that cannot be done."""
    path, module = image.image_and_module(settings.suite, settings.say)
    return path, module, emulator.command(settings.icount is not None, settings.say)


def prepare(shape=None, module_options=None, boot=True):
    """A machine that is not started yet; may be one that need not boot."""
    path, module, qemu = supplies()
    machine = Machine(path, settings.directory / f"{settings.starts}", shape or settings.shape,
                      options=settings.kernel_options, icount=settings.icount, qemu=qemu)
    options = settings.module_options if module_options is None else module_options
    machine.use_module(module, options)
    if not (boot or settings.boot or options or settings.kernel_options) and settings.icount is None:
        booted = snapshot.find(machine, module, settings.say)
        if booted:
            machine.go_on_from(booted)
        settings.boot = not booted  # what could not be kept once is not tried again
    return machine


def shut_down():
    if _running.machine:
        _running.machine.stop()
        _running.machine, _running.installed = None, False


def start(shape, module_options):
    """A machine that has started. If one that booted before does not go on, which emulators make happen
    now and then, that is not kept, and it boots, as do all others until the end of this program."""
    for boot_it in False, True:
        machine = prepare(shape, module_options, boot_it)
        _running.machine, _running.wants = machine, None
        settings.starts += 1
        try:
            machine.start()
            break
        except GuestError as failure:
            if not machine.booted:
                raise
            machine.stop()
            image.drop(machine.booted)
            settings.boot = True
            settings.say(f"the machine does not go on from where it was kept; machines boot now: {failure}")
    settings.start_seconds = max(settings.start_seconds, machine.start_seconds)
    return machine


def boot(shape=None, module_options=None, modules=()):
    """A started machine of this shape, with the module loaded so, and others of ours."""
    wants = (shape, module_options, modules)
    if _running.machine and _running.wants == wants and not _running.machine.lost:
        return _running.machine
    shut_down()
    path = supplies()[0]
    more = [image.kernel_module(settings.suite, path, settings.say, name) for name in modules]
    machine = start(shape, module_options)
    for path in more:
        machine.load(path)
    _running.wants = wants
    return machine


def install(machine):
    """What was built, in the running machine, once."""
    if not _running.installed:
        machine.install(settings.build)
        if settings.suite == "bookworm":  # its kernel resets affinities, so `auto` parks nothing
            machine.run("mkdir -p /usr/lib/idled/idled.conf.d; "
                        r"printf '[Park]\nBackend=partition\n' >/usr/lib/idled/idled.conf.d/suite.conf")
        _running.installed = True


class GuestTest(unittest.TestCase):
    """A test in a guest; `shape`, `module_options` and `modules` (more of image.MODULES) say in which."""

    shape = module_options = None
    modules = ()
    long = False
    counted = None  # why it needs --icount
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        if cls.long and settings.short:
            raise unittest.SkipTest("takes long")
        if cls.counted and settings.icount is None:
            raise unittest.SkipTest(f"{cls.counted}, but with --icount")
        try:
            cls.guest = boot(cls.shape, cls.module_options, cls.modules)
        except image.Unavailable as why:
            raise unittest.SkipTest(str(why)) from why

    def wait_for(self, what, condition, seconds=180):
        """Until condition() is true; its last value is returned. Asks ever more seldom: to ask is a
        load, too."""
        deadline, pause = time.monotonic() + seconds, 0.05
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                self.fail(f"{what} did not happen in {seconds} s")
            time.sleep(pause)
            pause = min(2 * pause, 5)

    def change(self, command, undo):
        """Runs the command now, and the other one when the test ends."""
        self.guest.run(command)
        self.addCleanup(self.guest.run, undo)

    def write(self, path, text):
        (self.guest.share / "text").write_text(text)
        self.guest.run(f"install -D -m 644 /share/text {path}")


class IdledTest(GuestTest):
    """A test of idled as installed, with these drop-ins of those in its documentation."""

    dropins = ()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        install(cls.guest)
        if cls.dropins:
            place = "/etc/systemd/system/idled.service.d"
            files = " ".join(f"$(find /usr -path '*/doc/idled/{name}.conf')" for name in cls.dropins)
            cls.guest.run(f"mkdir {place}; cp {files} {place}; systemctl daemon-reload")
            cls.addClassCleanup(cls.guest.run, f"rm -r {place}; systemctl daemon-reload")

    def tearDown(self):
        self.guest.run("systemctl stop idled; systemctl reset-failed idled; rm -rf /etc/idled",
                       check=False)

    def describe(self):
        """The last messages of idled and systemd, for the report of a failure."""
        return self.guest.run("journalctl -b --no-pager -o short-monotonic -n 25 -u idled; "
                              "journalctl -b --no-pager -o short-monotonic -n 10 -p warning _PID=1",
                              check=False).output

    def property(self, name, path="/org/idled1", interface="org.idled1.Manager"):
        """As busctl prints it, with its type."""
        return self.guest.read(f"busctl get-property org.idled1 {path} {interface} {name}")

    def string(self, name, *where):
        return self.property(name, *where).split(" ", 1)[1].strip('"')

    def configure(self, text, policies=None):
        """Writes a drop-in of idled.conf, and one per policy."""
        self.write("/etc/idled/idled.conf.d/test.conf", text)
        for policy, options in (policies or {}).items():
            self.write(f"/etc/idled/policies/{policy}.conf.d/test.conf", "[Policy]\n" + options)

    def start(self):
        self.guest.run("systemctl start idled")

    def kill(self):
        """Kills idled, and waits until the next instance is active."""
        first = self.guest.read("systemctl show -P MainPID idled")
        self.guest.run("systemctl kill -s KILL idled")
        self.wait_for("a new instance", lambda: self.guest.run(
            "pid=$(systemctl show -P MainPID idled); systemctl is-active -q idled && echo $pid",
            check=False).output.strip() not in ("", "0", first))

    def dump(self):
        """Every knob of the guest that idled could turn."""
        self.write("/root/dump", (HERE / "dump").read_text())
        return self.guest.read("bash /root/dump").split("\n")

    def assert_restored(self, before):
        """Stopped, idled leaves every knob as dump() found it before."""
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.dump(), before)

    def park(self, cpus):
        """Parks these CPUs, by the policy userspace."""
        self.guest.run("busctl -q call org.idled1 /org/idled1 org.idled1.Manager SetOptions "
                       f"'a(sss)' 1 userspace IdleMask '{cpus}'")
        self.wait_for(f"parking {cpus or 'none'}", lambda: self.string("Parked") == cpus)
