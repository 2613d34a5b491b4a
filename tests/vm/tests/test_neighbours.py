# SPDX-License-Identifier: LGPL-2.1-or-later
"""Next to programs that manage CPUs or the same knobs, as Debian packages them. test_containers.py has the
kubelet's file, cgroups made without systemd and systemd-nspawn; test_quiet.py has irqbalance."""

import packages
from parking import SHORT_TIMES, WHERE, OndemandTest, emulated

POLICIES = "/sys/devices/system/cpu/cpufreq/policy*"
GOVERNORS = f"cat {POLICIES}/scaling_governor"
TUNED = "[main]\nsummary=a test\n[cpu]\ngovernor=performance\n[scheduler]\nisolated_cores=3\n"
MAXIMA = f"{POLICIES}/scaling_max_freq"
LIMITS = "grep . /sys/class/powercap/*/constraint_*_power_limit_uw"
ON_CPU_3 = ["Cpus_allowed_list:", "3", "3"]
COUNT = "for n in $(seq $1); do [ $(nproc) = 4 ] && break; sleep 0.1; done; nproc\n"
# A cluster of one node, whose daemons run as root.
SLURM = """ClusterName=t
SlurmctldHost=lab(10.0.0.1)
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup,task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
StateSaveLocation=/var/lib/t-slurm
SlurmdSpoolDir=/var/lib/t-slurm/d
ReturnToService=2
NodeName=lab NodeAddr=10.0.0.1 CPUs=4 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 ThreadsPerCore=2
PartitionName=p Nodes=ALL Default=YES
"""
JOB = "/sys/fs/cgroup/system.slice/*slurmstepd.scope/job_*"


class Installed(OndemandTest):
    backend = "partition"
    packages, get = (), packages.install

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.get(cls.guest, *cls.packages)


class Podman(Installed):
    """Containers that start while CPUs 2-3 are parked, from a bind mount of the guest's own root."""

    packages = ("podman",)
    engine, files = "podman", "--rootfs /run/bundle/rootfs"

    def setUp(self):
        super().setUp()
        self.write("/root/where", WHERE)
        self.write("/root/count", COUNT)
        self.start_engine()

    def start_engine(self):
        self.write("/etc/containers/storage.conf", "[storage]\ndriver = 'vfs'\nrunroot = '/run/containers/storage'\n"
                   "graphroot = '/var/lib/containers/storage'\n")  # the guest's kernel has no overlay
        self.guest.run("mkdir -p /run/bundle/rootfs; mount --bind / /run/bundle/rootfs")
        self.addCleanup(self.guest.run, "umount -l /run/bundle/rootfs && rmdir /run/bundle/rootfs /run/bundle")

    def container(self, options, command):
        return (f"{self.engine} run --network=none --log-driver=none --security-opt=seccomp=unconfined --rm {options} "
                f"{self.files} {command}")

    def each_container(self, options, command, expected):
        self.each_time(self.container(options, command), self.assert_output(expected), SHORT_TIMES)

    def allowed(self, name):
        return self.guest.read(f"{self.engine} exec {name} grep Cpus_allowed_list /proc/1/status").split()[1]

    def test_cpuset(self):
        self.each_container("--cpuset-cpus=3", f"sh /root/where {emulated(*self.patience)}", ON_CPU_3)

    def test_count_of_cpus(self):
        self.each_container("", f"sh /root/count {emulated(*self.patience)}", ["4"])

    def test_running_container(self):
        """One with a cpuset keeps one of its CPUs active, and one without is kept off parked CPUs."""
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        for name, options in ("pinned", "--cpuset-cpus=2-3"), ("free", ""):
            self.guest.run(self.container(f"-d --name={name} {options}", "sleep infinity"))
            self.addCleanup(self.guest.run, f"{self.engine} kill {name}; {self.engine} wait {name}", check=False)
        self.start()
        self.set_idle_mask("2-3")
        self.wait_for("parking one of them", lambda: self.string("Parked") in ("2", "3"))
        allowed = [self.allowed(name) for name in ("pinned", "free")]
        self.assertEqual(allowed, {"2": ["3", "0-1,3"], "3": ["2", "0-2"]}[self.string("Parked")])
        self.assertEqual(self.guest.read(self.engine + " inspect -f '{{.HostConfig.CpusetCpus}}' pinned"), "2-3")
        self.guest.run("systemctl stop idled")
        self.assertEqual([self.allowed(name) for name in ("pinned", "free")], ["2-3", "0-3"])


class Docker(Podman):
    """The same with dockerd, containerd and runc, whose programs are those of the guest."""

    packages, get = ("docker.io", "docker-cli"), packages.copy_programs
    engine, files = "docker", "-v /usr:/usr:ro -v /root:/root:ro guest"

    def start_engine(self):
        daemon = "-p Type=notify -p Delegate=yes -p TimeoutStartSec=600"
        self.run_unit("t-containerd", daemon, "containerd")
        self.run_unit("t-dockerd", daemon, "dockerd --containerd=/run/containerd/containerd.sock --bridge=none "
                      "--iptables=false --ip6tables=false --storage-driver=vfs")
        self.guest.run("tar -C / -c bin lib lib64 | docker import - guest")


class Tuned(Installed):
    """tuned with a profile that chooses a governor and keeps tasks off CPU 3."""

    packages = ("tuned",)

    def setUp(self):
        self.write("/etc/tuned/profiles/t/tuned.conf", TUNED)
        self.guest.run("modprobe -q cpufreq_powersave; echo t >/etc/tuned/active_profile; "
                       "echo manual >/etc/tuned/profile_mode; rm -f /var/log/tuned/tuned.log")
        self.addCleanup(self.guest.run, "systemctl stop idled tuned")
        self.run_unit("t-any")

    def start_tuned(self):
        self.guest.run("systemctl start tuned", timeout=600)
        self.wait_for("its profile", lambda: "static tuning" in self.guest.read("cat /var/log/tuned/tuned.log"))

    def dump(self):
        """Without polkit, which comes and goes, and governors: tuned leaves its own."""
        return [line for line in super().dump() if "polkit" not in line and "governor" not in line]

    def governors(self):
        return set(self.guest.read(GOVERNORS).split())

    def test_governor(self):
        """That of tuned, which came later, stays, and so does what tuned leaves when it stops."""
        self.addCleanup(self.guest.run, f"for file in {POLICIES}/scaling_governor; do echo schedutil >$file; done")
        self.configure("[Daemon]\nPolicies=cpufreq\n", {"cpufreq": "Governor=powersave\n"})
        self.start()
        self.wait_for("its governor", lambda: self.governors() == {"powersave"})
        self.start_tuned()
        self.wait_for("noticing that of tuned", lambda: "scaling_governor" in self.property("Degraded"))
        self.assertEqual(self.governors(), {"performance"})
        self.guest.run("systemctl stop tuned")
        left = self.governors()
        self.guest.run("systemctl stop idled")
        self.assertEqual(self.governors(), left)

    def test_isolated_cores(self):
        """Affinities without CPU 3 stay while CPUs are parked, and after that. tuned restores all of them."""
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        before = self.dump()
        self.start_tuned()
        self.assertEqual(self.cpus_of("t-any"), ["0-2"])
        self.start()
        for parked, allowed in ("2-3", "0-1"), ("", "0-2"), ("2-3", "0-1"):
            self.park(parked)
            self.assertEqual(self.cpus_of("t-any"), [allowed])
        self.guest.run("systemctl stop tuned idled")
        self.assertEqual(self.dump(), before)

    def test_starts_in_a_pause(self):
        """tuned takes the CPUs on which tasks may run at its start for their affinities, as idled(8) says."""
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        self.start()
        self.park("2-3")
        self.guest.run("idlectl pause")
        self.start_tuned()
        self.guest.run("idlectl resume")
        self.wait_for("parking", lambda: self.string("Parked") == "2-3")
        self.assertEqual(self.cpus_of("t-any"), ["0-1"])
        self.park("")
        self.assertEqual(self.cpus_of("t-any"), ["0-2"])
        self.guest.run("systemctl stop tuned")
        self.assertEqual(self.cpus_of("t-any"), ["0-3"])


class Thermald(Installed):
    """thermald finds no sensor in the guest, and runs on. What idled parks stays parked, and all is restored, but a
    frequency that was lowered as thermald does it."""

    packages = ("thermald",)

    def test_both_run(self):
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        before, limits = self.dump(), self.guest.read(LIMITS)
        self.run_unit("t-thermald", "", "thermald --no-daemon --ignore-cpuid-check")
        self.start()
        self.park("2-3")
        self.assertEqual(self.property("Degraded"), "a(sss) 0")
        self.assertEqual(self.guest.read(LIMITS), limits)
        self.assertEqual(self.guest.read("systemctl is-active t-thermald"), "active")
        self.guest.run("systemctl stop idled t-thermald")
        self.assertEqual(self.dump(), before)

    def test_lowered_frequency(self):
        self.configure("[Daemon]\nPolicies=cpufreq\n", {"cpufreq": "MaxFrequency=80%\n"})
        before, maxima = self.dump(), self.guest.read(f"cat {MAXIMA}").split()
        self.start()
        self.wait_for("its limit", lambda: not set(self.guest.read(f"cat {MAXIMA}").split()) & set(maxima))
        self.guest.run(f"echo 1200000 | tee {MAXIMA}")
        self.guest.run("idlectl verify", check=False)
        self.assertIn("scaling_max_freq", self.property("Degraded"))
        self.guest.run("systemctl stop idled")
        self.assertEqual(set(self.guest.read(f"cat {MAXIMA}").split()), {"1200000"})
        self.guest.run(f"echo {maxima[0]} | tee {MAXIMA}")
        self.assertEqual(self.dump(), before)


class Slurm(Installed):
    """Jobs of a cluster of one node, whose tasks slurmd pins in cgroups that it makes."""

    packages = ("slurmctld", "slurmd", "slurm-client", "munge")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.addClassCleanup(cls.guest.run, "systemctl stop t-slurmd t-slurmctld munge; "
                            "ip address del 10.0.0.1/32 dev lo")
        cls.guest.run(f"ip address add 10.0.0.1/32 dev lo; cat >/etc/slurm/slurm.conf <<END\n{SLURM}END\n"
                      "echo ConstrainCores=yes >/etc/slurm/cgroup.conf; mkdir -p /var/lib/t-slurm/d; "
                      "systemctl start munge; systemd-run -q --unit=t-slurmctld slurmctld -D; "
                      "systemd-run -q --unit=t-slurmd -p Delegate=yes slurmd -D; "
                      "for n in $(seq 100); do [ \"$(sinfo -h -o %T)\" = idle ] && exit; sleep 0.1; done; exit 1")

    def test_starts_while_parked(self):
        """Each of four tasks gets a CPU of its own."""
        self.each_time("srun -n4 grep Cpus_allowed_list /proc/self/status | sort", self.assert_output(
            sum((["Cpus_allowed_list:", str(cpu)] for cpu in range(4)), [])), SHORT_TIMES)

    def test_pinned_tasks(self):
        """The CPUs of all of them stay active, until their job ends."""
        self.configure("[Daemon]\nPolicies=userspace\n[Park]\nBackend=partition\n")
        for name, cpus in ("t-first", "0-1"), ("t-second", "2-3"):
            self.run_unit(name, "", "srun -n2 sleep infinity")
            self.wait_for("its CPUs", lambda cpus=cpus: cpus in self.job_cpus().split("\n"))
        self.guest.run("systemctl stop t-first")
        self.wait_for("its end", lambda: self.job_cpus() == "2-3")
        self.wait_for("two tasks", lambda: self.allowed() == ["2", "3"])
        self.start()
        self.set_idle_mask("1-3")
        self.wait_for("parking the other", lambda: self.string("Parked") == "1")
        self.assertEqual((self.job_cpus(), self.allowed()), ("2-3", ["2", "3"]))
        self.guest.run("systemctl stop t-second")
        self.wait_for("parking all", lambda: self.string("Parked") == "1-3")

    def job_cpus(self):
        return self.guest.read(f"cat {JOB}/cpuset.cpus", check=False)

    def allowed(self):
        """Where the tasks of jobs may run."""
        return self.guest.read(f"for pid in $(cat {JOB}/step_*/user/task_*/cgroup.procs); do awk "
                               "'/^Cpus_allowed_list/ { print $2 }' /proc/$pid/status; done | sort", check=False).split()
