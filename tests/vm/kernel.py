# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests read and turn of the guest's kernel: idle states, frequencies, energy.

A CPU's idle counters stand still until it wakes and a frequency until its governor looks, so a CPU is
visited before it is read. What happens in between is timed in the guest: to ask is a load.
"""

import contextlib

import lab

CPU = "/sys/devices/system/cpu"
RAPL = "/sys/class/powercap/intel-rapl:0"
PARAMETERS = "/sys/module/pmlab/parameters"
STATES = ["POLL", "C1", "C1E", "C3", "C6", "C7"]
BURN = "sh -c 'while :; do :; done'"


class KernelTest(lab.GuestTest):
    def lines(self, script):
        return self.guest.read(script).split("\n")

    @contextlib.contextmanager
    def unit(self, name, command):
        """While a transient service runs."""
        self.guest.run(f"systemd-run -q --unit={name} {command}")
        try:
            yield
        finally:
            self.guest.run(f"systemctl stop {name}; systemctl reset-failed {name}", check=False)

    def burning(self, cpu):
        return self.unit(f"burner{cpu}", f"taskset -c {cpu} {BURN}")

    def waking(self, cpu, interval_us):
        """While a task wakes so often on a CPU, and does next to nothing."""
        return self.unit(f"waker{cpu}", f"cyclictest --default-system -q -t 1 -a {cpu} "
                         f"-i {interval_us} -l 100000000")

    @contextlib.contextmanager
    def knob(self, path, value):
        """While a file has another value."""
        before = self.guest.read(f"cat {path}")
        self.guest.run(f"echo {value} >{path}")
        try:
            yield
        finally:
            self.guest.run(f"echo '{before}' >{path}")

    def grown(self, files, seconds, visit=()):
        """By how much numbers in files (one a line) grow in a time that the guest measures."""
        read = f"for c in {' '.join(map(str, visit))}; do taskset -c $c true; done; cat {files}"
        output = [int(n) for n in self.lines(f"{read}; sleep {seconds}; {read}")]
        half = len(output) // 2
        return [b - a for a, b in zip(output[:half], output[half:])]

    def entered(self, cpu, seconds=2):
        """How often a CPU was in each idle state."""
        return self.grown(f"{CPU}/cpu{cpu}/cpuidle/state*/usage", seconds, [cpu])

    def spent(self, cpu, seconds=2):
        """For which share of its idle time."""
        times = self.grown(f"{CPU}/cpu{cpu}/cpuidle/state*/time", seconds, [cpu])
        return [t / max(sum(times), 1) for t in times]

    def load_module(self, options):
        """Until the end of the test the module is loaded with these options."""
        self.change(f"rmmod pmlab; insmod /share/pmlab.ko {options}", "rmmod pmlab; insmod /share/pmlab.ko")
