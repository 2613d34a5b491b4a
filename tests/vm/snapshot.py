# SPDX-License-Identifier: LGPL-2.1-or-later
"""A guest as it is when it has just booted, kept beside the images, so that the next one of its kind goes on
from there and need not boot.

What is kept is the disk's changes until then and what QEMU would send of a running machine to another host.
/share cannot go along, for it is a directory of this machine: the guest lets go of it before (runner).
Only machines with no options of their own are kept, for there are few kinds of them.
"""

import hashlib
import json
import re
import shutil
import socket
import subprocess
import time

import image
from machine import GuestError, Machine

SECONDS = 60


class Monitor:
    """QEMU's, at a socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rw")
        self.file.readline()  # its greeting
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.file.flush()
        while True:
            answer = json.loads(self.file.readline() or '{"error": {"desc": "qemu ended"}}')
            if "error" in answer:
                raise GuestError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def close(self):
        self.file.close()
        self.socket.close()


def host():
    """The guest keeps the pace of the clock that it found."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return re.search(r"(?m)^model name.*$|\Z", file.read())[0]


def key(machine, module):
    """Of all that makes a machine what it is."""
    words = [machine.image.name, module.parent.name, host(), *machine.qemu_command()]
    version = subprocess.run([*machine.program, "--version"], check=True, stdout=subprocess.PIPE).stdout
    text = "\0".join(words).replace(str(machine.directory), "")
    return hashlib.sha256(text.encode() + version).hexdigest()[:16]


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
        machine.run("systemctl is-system-running --wait", check=False)
        machine.rest()
        monitor = Monitor(machine.directory / "monitor")
        monitor.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        monitor.ask("migrate", uri=f"exec:zstd -q -1 -o {directory}/state")
        deadline = time.monotonic() + SECONDS
        while (status := monitor.ask("query-migrate").get("status")) != "completed":
            if status == "failed" or time.monotonic() > deadline:
                raise GuestError(f"qemu does not hand over the machine: {status}")
            time.sleep(0.05)
        monitor.close()
    finally:
        machine.stop()
    shutil.rmtree(machine.directory)


def find(machine, module, say):
    """The directory of what was kept of such a machine, now or before; None if it cannot be."""
    def make(directory):
        say(f"booting a machine of {machine.shape} once, to go on from there the next times")
        take(machine, module, directory)

    try:
        return image.cached(f"booted-{machine.shape}-{key(machine, module)}", make)
    except (GuestError, OSError, subprocess.CalledProcessError) as error:
        say(f"machines have to boot each time: {error}")
        return None
