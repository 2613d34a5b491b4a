# SPDX-License-Identifier: LGPL-2.1-or-later
"""One guest: boot it, run commands in it, reboot it, end it.

It is emulated (no KVM is needed), its disk is a throw-away layer over the image, and the directory
`share` of its own directory is /share in it. A command is a file there. Messages on a virtio port start
it in the guest, and report its end to the host (image/root/usr/local/sbin/runner).
"""

import contextlib
import dataclasses
import re
import select
import shutil
import socket
import subprocess
import time
from pathlib import Path

from emulator import PROGRAM

# What matters of it: idle states are left to the module ("idle=halt" keeps both other drivers away),
# the clock is not doubted, cpuset changes are not slowed down by an emulator's grace periods.
KERNEL_OPTIONS = (
    "root=/dev/vda rw quiet panic=-1 net.ifnames=0 audit=0 apparmor=0 mitigations=off nokaslr "
    "idle=halt intel_idle.max_cstate=0 no_timer_check tsc=reliable rcupdate.rcu_expedited=1 "
    "systemd.show_status=0 systemd.default_timeout_start_sec=600s")

# An Intel CPU: of AMD's, QEMU gives threads to some only. `arat`: a timer that runs while it sleeps.
CPU = "Nehalem,+arat"

# What was staged becomes the guest's own, and of libraries what it does not have: a guest of another
# suite may have them in another version only.
INSTALL = """set -e
cp -dR --preserve=mode /share/installed/. /
for library in /share/libraries/*; do
        ldconfig -p | grep -qF "${library##*/} " || cp "$library" /usr/local/lib/
done
ldconfig
systemctl daemon-reload
busctl -q call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig
"""


class GuestError(Exception):
    """The guest did not do what it has to: come up, or answer."""


class CommandError(AssertionError):
    """A command in the guest failed."""


@dataclasses.dataclass
class Result:
    status: int
    output: str
    errors: str


def smp_option(shape):
    """QEMU's -smp for "CORESxTHREADS" or "PACKAGESxCORESxTHREADS"."""
    numbers = [int(n) for n in shape.split("x")]
    packages, cores, threads = ([1, 1] + numbers)[-3:]
    return (f"{packages * cores * threads},sockets={packages},cores={cores},threads={threads},"
            f"maxcpus={packages * cores * threads}")


class Machine:
    def __init__(self, image, directory, shape="2x2", memory=1024, options="", icount=None,
                 qemu=(PROGRAM,)):
        self.image, self.directory = Path(image), Path(directory)
        self.shape, self.memory, self.options = shape, memory, options
        self.icount, self.program = icount, list(qemu)
        # Counted time has nothing to do with how long a busy host takes.
        self.patience = 1 if icount is None else 10
        self.share = self.directory / "share"
        self.drive = f"file={self.image}/disk,format=raw,snapshot=on"
        self.more = []  # options of QEMU
        self.booted = None  # directory of the state to resume, instead of booting
        self.qemu = self.port = None
        self.counter, self.pending = 0, b""
        self.start_seconds = 0.0
        self.lost = False  # it did not answer, or went down by itself: tests cannot use it
        shutil.rmtree(self.share, ignore_errors=True)
        (self.share / "commands").mkdir(parents=True)

    def use_module(self, module, options):
        """Has the guest load the module when it boots, as early as it can."""
        shutil.copy(module, self.share / "pmlab.ko")
        (self.share / "pmlab.env").write_text(f"PMLAB_OPTIONS={options}\n")

    def load(self, module):
        """Loads one more, now."""
        shutil.copy(module, self.share)
        self.run(f"insmod /share/{module.name}")

    def clock_options(self):
        """All CPUs in parallel, by this machine's clock; or one after the other in a time that goes
        on by 2^icount ns an instruction and jumps while all of them sleep. The newest kernel crashes within
        some minutes if an emulated CPU executes a breakpoint that another one has just removed from the
        kernel's text: its CPUs take turns, too."""
        if self.icount is None:
            parallel = not self.image.name.startswith("guest-backports-")
            return ["-accel", "tcg,thread=" + ("multi" if parallel else "single")]
        return ["-accel", "tcg,thread=single", "-icount", f"shift={self.icount},sleep=off",
                "-rtc", "base=utc,clock=vm"]

    def qemu_command(self, *more):
        options = f"{KERNEL_OPTIONS} {self.options}"
        return [
            "setpriv", "--pdeathsig", "TERM",
            *self.program, "-nodefaults", "-no-user-config", "-display", "none",
            "-machine", "q35", *self.clock_options(), "-cpu", CPU,
            "-smp", smp_option(self.shape), "-m", str(self.memory),
            "-kernel", str(self.image / "vmlinux"), "-initrd", str(self.image / "ramdisk"),
            "-drive", f"{self.drive},if=virtio",
            "-fsdev", f"local,id=share,path={self.share},security_model=none,multidevs=remap",
            "-device", "virtio-9p-pci,fsdev=share,mount_tag=share",
            "-device", "virtio-serial-pci",
            "-serial", f"file:{self.directory}/console", *self.more, *more,
            "-append", f"{options} console=ttyS0" + (" console=hvc0 lab.shell systemd.getty_auto=no" if more else ""),
        ]

    def shell(self, build=None):
        """A shell of the guest on this terminal, until it ends, with what was built installed. Returns
        its exit status, or that of an emulator that ended otherwise."""
        if build:
            self.stage(build)
            (self.share / "before-shell").write_text(INSTALL)
        status = subprocess.call(self.qemu_command(
            "-no-reboot", "-chardev", "stdio,id=terminal,signal=off",
            "-device", "virtconsole,chardev=terminal"))
        path = self.share / "status"  # image/root/etc/profile.d/lab.sh
        return int(path.read_text()) if status == 0 and path.exists() else status

    def start(self):
        path = self.directory / "port"
        path.unlink(missing_ok=True)
        began = time.monotonic()
        # QEMU inherits a socket that listens already, so nothing waits for it; it is closed with QEMU.
        with socket.socket(socket.AF_UNIX) as listener, open(self.directory / "qemu.log", "wb") as log:
            listener.bind(str(path))
            listener.listen()
            command = self.qemu_command()
            at = command.index("-serial")
            command[at:at] = ["-chardev", f"socket,id=runner,fd={listener.fileno()},server=on,wait=off",
                              "-device", "virtserialport,chardev=runner,name=lab.runner"]
            self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                         pass_fds=[listener.fileno()])
            self.port = socket.socket(socket.AF_UNIX)
            self.port.connect(str(path))
        if self.booted:
            self.wake()
        self.wait_ready((90 if self.booted else 300) * self.patience)
        self.start_seconds = time.monotonic() - began

    def go_on_from(self, booted):
        """Instead of booting, from what `snapshot` kept of a machine like this one."""
        self.booted = booted
        self.drive = f"file={booted}/disk,format=qcow2,snapshot=on"
        self.more = ["-incoming", f"exec:zstd -q -d -c {booted}/state"]

    def rest(self):
        """Has the guest let go of /share and wait."""
        self.write_line("rest")
        line = self.read_line(time.monotonic() + 60)
        if line != "resting":
            raise GuestError(f"the guest said {line!r} instead of resting")

    def wake(self):
        """Ends that, and sends the time."""
        self.write_line(f"{time.time():.3f}")

    def wait_ready(self, timeout):
        line = self.read_line(time.monotonic() + timeout)
        if not line.startswith("ready "):
            raise GuestError(f"the guest said {line!r} instead of being ready")

    def write_line(self, line):
        """Sends a line to the guest. If it is gone, reading its answer fails."""
        with contextlib.suppress(ConnectionError):
            self.port.sendall(f"{line}\n".encode())

    def read_line(self, deadline, late="the guest does not answer"):
        self.lost = True
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.port], [], [], left)[0]:
                raise GuestError(f"{late}:\n{self.tail('console')}")
            data = b""
            with contextlib.suppress(ConnectionError):
                data = self.port.recv(4096)
            if not data:
                raise GuestError(f"qemu ended:\n{self.tail('qemu.log')}\n{self.tail('console')}")
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        self.lost = False
        return line.decode()

    def tail(self, name):
        """The last lines of a log, or those of a crash of the kernel."""
        path = self.directory / name
        lines = path.read_text(errors="replace").splitlines() if path.exists() else []
        for n, line in enumerate(lines):
            if re.search(r"(?<!watchdog: )\bBUG: |\bOops: |general protection fault|Kernel panic", line):
                return "\n".join(lines[n:n + 50])
        return "\n".join(lines[-20:])

    def send(self, script):
        self.counter += 1
        directory = self.share / "commands" / str(self.counter)
        directory.mkdir()
        (directory / "script").write_text(script + "\n")
        self.write_line(self.counter)
        return directory

    def run(self, script, check=True, timeout=180, live=None):
        """Runs a script of bash as root. With `check` a failure is an error of the test. What it
        prints goes to live(text) as it comes, if that is given."""
        if self.lost:
            raise GuestError("the guest was asked again after it had not answered")
        directory = self.send(script)
        seconds = timeout * self.patience
        deadline = time.monotonic() + seconds
        stream = Stream(directory / "output", live)
        while live and not select.select([self.port], [], [], 0.1)[0]:
            stream.move()
            if time.monotonic() > deadline:
                break
        line = self.read_line(deadline, f"this took more than {seconds:g} s:\n{script}\nthe guest's console")
        stream.move()
        if not line.startswith(f"done {self.counter} "):
            self.lost = True
            raise GuestError(f"the guest said {line!r} while it had a command to run: it rebooted?\n"
                             f"{self.tail('console')}")
        result = Result(int(line.split()[2]),
                        (directory / "output").read_text(errors="replace"),
                        (directory / "errors").read_text(errors="replace"))
        shutil.rmtree(directory)
        if check and result.status != 0:
            raise CommandError(f"status {result.status} from:\n{script}\n"
                               f"{result.output}{result.errors}".rstrip())
        return result

    def read(self, script, **options):
        """The output of a script, which must succeed, without the last newline."""
        return self.run(script, **options).output.rstrip("\n")

    def stage(self, build):
        """Installs the build where the guest sees it."""
        subprocess.run(["meson", "install", "-C", str(build), "--destdir", str(self.share / "installed"),
                        "--quiet", "--no-rebuild"], check=True, stdout=subprocess.DEVNULL)
        self.stage_libraries(Path(build) / "daemon" / "idled")

    def install(self, build):
        """Installs what was built in the directory `build`, as its users would."""
        self.stage(build)
        self.run(INSTALL)
        for name in "installed", "libraries":
            shutil.rmtree(self.share / name)

    def stage_libraries(self, program):
        """Those of its libraries that suites of Debian have in different versions."""
        lines = subprocess.run(["ldd", str(program)], check=True, text=True,
                               stdout=subprocess.PIPE).stdout.split("\n")
        target = self.share / "libraries"
        target.mkdir()
        for name, path in (line.split()[0:3:2] for line in lines if "=> /" in line):
            if name.startswith("libcgroup."):
                shutil.copy(path, target / name)

    def reboot(self, timeout=300):
        self.send("systemctl --no-block reboot")
        deadline = time.monotonic() + timeout * self.patience
        while not self.read_line(deadline).startswith("ready "):
            pass

    def stop(self):
        if self.port:
            self.port.close()
        if self.qemu and self.qemu.poll() is None:
            self.qemu.terminate()
            try:
                self.qemu.wait(10)
            except subprocess.TimeoutExpired:
                self.qemu.kill()
                self.qemu.wait()
        self.qemu = self.port = None


class Stream:
    """Hands on what a file has grown by."""

    def __init__(self, path, sink):
        self.path, self.sink, self.offset = path, sink, 0

    def move(self):
        if not self.sink or not self.path.exists():
            return
        with open(self.path, "rb") as file:
            file.seek(self.offset)
            data = file.read()
        self.offset += len(data)
        if data:
            self.sink(data.decode(errors="replace"))
