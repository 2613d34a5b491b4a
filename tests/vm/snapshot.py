# SPDX-License-Identifier: LGPL-2.1-or-later
"""The state of a guest that has just booted, cached with the images, so that the next one of its kind resumes
there and need not boot.

The state is the disk's changes until then and the stream of QEMU's migration of a running machine. The guest
unmounts /share before (runner) because a directory of this machine cannot migrate. Only machines without
options of their own are kept because there are few kinds of them.
"""

import contextlib
import hashlib
import json
import re
import shutil
import socket
import subprocess

import image
from machine import GuestError, Machine

SECONDS = 60  # that QEMU may be silent


class Monitor:
    """QEMU's, at a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(path))
        self.file = self.socket.makefile()
        self.events = []  # that no caller has waited for
        self.read()  # its greeting
        self.ask("qmp_capabilities")

    def read(self):
        line = ""
        with contextlib.suppress(ConnectionError):
            line = self.file.readline()
        if not line:
            raise GuestError("qemu ended")
        return json.loads(line)

    def ask(self, command, descriptors=(), **arguments):
        text = json.dumps({"execute": command, "arguments": arguments}) + "\n"
        socket.send_fds(self.socket, [text.encode()], descriptors)
        while True:
            answer = self.read()
            if "error" in answer:
                raise GuestError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
            self.events.append(answer)

    def wait(self, name):
        """What the next event of this name says."""
        while True:
            event = self.events.pop(0) if self.events else self.read()
            if event["event"] == name:
                return event["data"]

    def hand_over(self, descriptor):
        """Sends the machine there, as to another host."""
        self.ask("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
        self.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.ask("getfd", [descriptor], fdname="there")
        self.ask("migrate", uri="fd:there")
        while (status := self.wait("MIGRATION")["status"]) != "completed":
            if status == "failed":
                raise GuestError("qemu does not hand over the machine")

    def keep(self, path):
        """Has the machine in a file, which is whole when this returns."""
        with open(path, "wb") as file:
            packer = subprocess.Popen(["zstd", "-q", "-1"], stdin=subprocess.PIPE, stdout=file)
        try:
            with packer.stdin:
                self.hand_over(packer.stdin.fileno())
            if packer.wait(SECONDS) != 0:
                raise GuestError(f"{path}: zstd failed")
        finally:
            packer.kill()
            packer.wait()

    def close(self):
        self.file.close()
        self.socket.close()


def host():
    """The guest keeps the pace of the clock that it found."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return re.search(r"(?m)^model name.*$|\Z", file.read())[0]


def key(machine, module):
    """A digest of everything that determines the state."""
    words = [machine.image.name, module.parent.name, host(), *machine.qemu_command()]
    version = subprocess.run([*machine.program, "--version"], check=True, stdout=subprocess.PIPE).stdout
    text = "\0".join(words).replace(str(machine.directory), "")
    return hashlib.sha256(text.encode() + version).hexdigest()[:16]


def see_that_it_is_well(machine):
    """What is kept would be wrong in the same way for ever."""
    state = machine.run("systemctl is-system-running --wait", check=False).output.strip()
    if state != "running":
        failed = machine.run("systemctl --failed --plain --no-legend", check=False).output
        raise GuestError(f"systemd of the guest is {state or 'silent'!r}, expected 'running':\n{failed}".rstrip())


def take(like, module, directory):
    """Boots a machine like that one and keeps it in the directory."""
    disk = directory / "disk"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b",
                    str(like.image / "disk"), str(disk)], check=True)
    machine = Machine(like.image, directory / "machine", like.shape, like.memory)
    machine.use_module(module, "")
    machine.drive = f"file={disk},format=qcow2"
    machine.more = ["-qmp", f"unix:{machine.directory}/monitor,server=on,wait=off"]
    try:
        machine.start()
        see_that_it_is_well(machine)
        machine.rest()
        with contextlib.closing(Monitor(machine.directory / "monitor")) as monitor:
            monitor.keep(directory / "state")
    finally:
        machine.stop()
    shutil.rmtree(machine.directory)


def find(machine, module, say):
    """The directory with the state of such a machine, made now or before; None if that fails."""
    def make(directory):
        say(f"booting a machine of {machine.shape} once, to go on from there the next times")
        take(machine, module, directory)

    try:
        return image.cached(f"booted-{machine.shape}-{key(machine, module)}", make)
    except (GuestError, OSError, subprocess.SubprocessError) as error:
        say(f"machines must boot each time: {error}")
        return None
