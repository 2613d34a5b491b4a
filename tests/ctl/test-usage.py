#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bad usage of every kind: a hint in one line, exit status 2, nothing on standard output. And old names of verbs."""
import os
import re
import shutil
import signal
import subprocess
import unittest

from ctltest import IDLECTL, IDLELAB, LAB, TIMEOUT, TestCase, environment, machine

VERBS = ["status", "cpus", "why", "policies", "set", "check", "settings", "verify",
         "hold", "run", "holds", "sleeps", "bill", "help", "version", "profile", "pause", "resume", "reload", "release",
         "top", "doctor", "metrics"]
MUTE = ["run", "help", "version", "metrics", "export"]

# Arguments, and what must be said about them.
BAD = [
    (["statsu"], 'unknown verb "statsu" (did you mean status?)'),
    (["polices"], "(did you mean policies?)"),
    (["frobnicate"], 'unknown verb "frobnicate"; try "idlectl --help"'),
    ([""], 'unknown verb ""'),
    (["history"], 'unknown verb "history" (did you mean why --history?)'),
    (["knobs"], '(did you mean status --knobs?)'),
    (["status", "now"], 'status: found an unexpected argument "now"'),
    (["verify", "x"], "unexpected argument"),
    (["check", "a", "b"], 'unexpected argument "b"'),
    (["check", "/", "--config-dir", "/"], "DIR and --config-dir: expected one of them"),
    (["settings", "a", "b"], 'unexpected argument "b"'),
    (["set"], "set: expected SECTION KEY=VALUE"),
    (["set", "userspace"], "set: expected SECTION KEY=VALUE"),
    (["set", "userspace", "IdleMask"], 'found "IdleMask", expected KEY=VALUE'),
    (["set", "userspace", "=2"], 'found "=2", expected KEY=VALUE'),
    (["set", "userspace", "A=1", "B"], 'found "B", expected KEY=VALUE'),
    (["why", "x"], 'found "x", expected CPUs'),
    (["why", "3-1"], 'found "3-1", expected CPUs'),
    (["why", "99999"], "expected CPUs"),
    (["why", ""], "expected CPUs"),
    (["why", "--history", "1"], "--history is about all CPUs"),
    (["why", "1o0\x1b[2J"], 'found "1o0?[2J"'),
    (["status", "--dump", "--knobs"], "--dump and --knobs: expected one of them"),
    (["status", "--history"], "status does not take --history"),
    (["status", "--interval", "1s"], "status does not take --interval"),
    (["check", "--history"], "check does not take --history"),
    (["profile", "a", "b"], "profile: too many arguments"),
    (["pause", "now"], 'pause: found an unexpected argument "now"'),
    (["pause", "--for", "0"], '--for: found "0", expected a duration such as 10min'),
    (["pause", "--for", "soon"], '--for: found "soon", expected a duration'),
    (["pause", "--latency", "5us"], "pause does not take --latency"),
    (["resume", "all"], 'resume: found an unexpected argument "all"'),
    (["reload", "--for", "5s"], "reload does not take --for"),
    (["release"], "release: expected ID"),
    (["release", "x"], 'release: found "x", expected the number of a hold'),
    (["release", "-1"], "unknown option -1"),
    (["release", "1", "2"], 'release: found an unexpected argument "2"'),
    (["profile", "set"], "profile set: expected NAME, or auto"),
    (["profile", "get", "x"], "profile: too many arguments"),
    (["profile", "set", "a", "b"], 'unexpected argument "b"'),
    (["profile", ""], 'profile: found "", expected NAME, or auto'),
    (["profile", "set", ""], 'profile: found "", expected NAME, or auto'),
    (["hold"], "hold: expected at least one of --latency"),
    (["hold", "--reason", "x"], "expected at least one of --latency"),
    (["hold", "--latency", "50"], '--latency: found "50", expected 0 (no sleep at all) or a duration'),
    (["hold", "--latency", "2s"], "a duration from 1us to 1s"),
    (["hold", "--latency", "50us", "now"], 'hold: found an unexpected argument "now"'),
    (["hold", "--cores", "0"], '--cores: found "0", expected a number of cores'),
    (["hold", "--cores", "1o"], "expected a number of cores"),
    (["hold", "--min-frequency", "800"], "expected a frequency such as 800MHz"),
    (["hold", "--min-frequency", "fastGHz"], "expected a frequency such as 800MHz"),
    (["hold", "--min-frequency", "1000GHz"], "expected a frequency such as 800MHz"),
    (["hold", "--cores", "1", "--global"], "--global: expected --latency with it"),
    (["hold", "--p99", "5ms"], "--p99: expected --pid with it"),
    (["hold", "--cpus", "3-1"], '--cpus: found "3-1", expected CPUs such as 0-3,8'),
    (["run", "--cpus", "x", "--", "true"], '--cpus: found "x", expected CPUs such as 0-3,8'),
    (["hold", "--cores", "1", "--pid", "x"], '--pid: found "x", expected the number of a process'),
    (["hold", "--cores", "1", "--for", "0"], '--for: found "0", expected a duration'),
    (["run", "--cores", "1"], "run: expected COMMAND..."),
    (["run", "--cores", "1", "--for", "1s", "true"], "run does not take --for"),
    (["run", "--cores", "1", "--json", "true"], "run does not take --json"),
    (["run", "true"], "run: expected at least one of --latency"),
    (["run", "ls", "-x", "--jsno"], "run: expected at least one of --latency"),  # options of ls
    (["status", "--latency", "5us"], "status does not take --latency"),
    (["cpus", "--interval", "1"], '--interval: found "1", expected a duration'),
    (["cpus", "--interval=0s"], '--interval: found "0s", expected a duration'),
    (["cpus", "--interval=2h"], "expected a duration from 10ms to 1h"),
    (["cpus", "--interval=-1s"], "expected a duration"),
    (["cpus", "--interval"], "--interval: expected an argument"),
    (["status", "--bus-address"], "--bus-address: expected an argument"),
    (["status", "--jsno"], "unknown option --jsno (did you mean --json?)"),
    (["status", "--json=yes"], "--json: takes no argument"),
    (["status", "-x"], "unknown option -x"),
    (["help", "statsu"], 'unknown verb "statsu" (did you mean status?)'),
    (["help", "a", "b"], 'help: found an unexpected argument "b"'),
    (["version", "1"], 'version: found an unexpected argument "1"'),
    (["bill", "--power", "coreidle"], "bill: --power is for --limit"),
    (["bill", "--by", "unit"], '--by: found "unit", expected process'),
    (["bill", "--limit", "0"], '--limit: found "0", expected a duration from 1us to 1s'),
    (["bill", "--limit", "50"], '--limit: found "50", expected a duration'),
    (["bill", "--seconds", "601"], "--seconds: expected at most 600"),
    (["status", "--session-bus", "--bus-address", "unix:path=/x"], "expected one of them"),
    (["top", "--count", "0"], "expected a number of samples"),
    (["top", "--by", "node"], "expected cpu, core or package"),
    (["top", "--cpus", "x"], "expected CPUs such as"),
    (["top", "--csv", "--json"], "expected one of them"),
    (["top", "--count", "1", "true"], "--count: expected no COMMAND"),
    (["top", "--interval", "1s", "true"], "--interval: expected no"),
]

# The same for idlelab.
BAD_LAB = [
    (["--nonsense", "prove"], "unknown option --nonsense"),
    (["statsu"], 'unknown verb "statsu"'),
    (["prove"], "expected one of --policy, --profile, --option, --knob"),
    (["prove", "--", "true"], "expected one of --policy"),
    (["prove", "--policy", ""], 'found "", expected the name of a policy'),
    (["prove", "--policy", "a,b"], 'found "a,b", expected the name of a policy'),
    (["prove", "--policy", "a", "--profile", "b,c"], "--policy and --profile: expected one of them"),
    (["prove", "--knob", "epp=power", "--option", "a.b=1"], "--knob and --option: expected one"),
    (["prove", "--profile", ""], 'found "", expected two profiles'),
    (["prove", "--profile", "a,"], 'found "a,", expected two profiles'),
    (["prove", "--profile", "a,b,c"], 'found "a,b,c", expected two profiles'),
    (["prove", "--profile", "a,a"], 'found "a,a", expected two profiles'),
    (["prove", "--profile", "a", "--profile", "b"], "--profile: expected once"),
    (["prove", "--option", "MinCores=1"], 'found "MinCores=1", expected SECTION.KEY=VALUES'),
    (["prove", "--option", "a.b"], 'found "a.b", expected SECTION.KEY=VALUES'),
    (["prove", "--option", ".b=1"], 'found ".b=1", expected SECTION.KEY=VALUES'),
    (["prove", "--option", "a.=1"], 'found "a.=1", expected SECTION.KEY=VALUES'),
    (["prove", "--option", "=1"], 'found "=1", expected SECTION.KEY=VALUES'),
    (["prove", "--option", "a.b="], 'found "", expected one or two values that differ'),
    (["prove", "--option", "a.b=1,1"], 'found "1,1", expected one or two values that differ'),
    (["prove", "--option", "a.b=1,2,3"], 'found "1,2,3", expected one or two values'),
    (["prove", "--option", "a.b=1,2;3;4"], 'found "1,2;3;4", expected one or two values'),
    (["prove", "--option", "a.b=1", "--option", "a.b=2"], "--option a.b: expected once"),
    (["prove", "--knob", "speed=1,2"], '--knob: found "speed=1", expected governor, epp'),
    (["prove", "--knob", "profile=a,b"], '--knob: found "profile=a,b", expected NAME=VALUES'),
    (["prove", "--knob", "governor"], 'found "governor", expected NAME=VALUES'),
    (["prove", "--knob", "latency=fast"], '--knob latency: found "fast", expected 0 or a duration'),
    (["prove", "--knob", "epp=a,"], 'found "a,", expected one or two values'),
    (["prove", "--policy", "a", "--for", "soon"], '--for: found "soon", expected a duration'),
    (["prove", "--policy", "a", "--for", "1s"], "--for: expected at least 10s, the time of 4 pairs"),
    (["prove", "--policy", "a", "--for", "1h", "--block", "20min"], "expected at least 200min"),
    (["prove", "--policy", "a", "--block", "1ms"], '--block: found "1ms", expected a duration from'),
    (["prove", "--policy", "a", "--wash-out", "0"], '--wash-out: found "0", expected a duration'),
    (["prove", "--policy", "a", "--probe", "2s"], '--probe: found "2s", expected a duration from'),
    (["prove", "--policy", "a", "--precision", "1"], '--precision: found "1", expected a share'),
    (["prove", "--policy", "a", "--precision", "0%"], '--precision: found "0%", expected a share'),
    (["prove", "--policy", "a", "--precision", "101%"], "expected a share above 0% and up to 100%"),
    (["prove", "--policy", "a", "--sweep", "epp"], "prove does not take --sweep"),
    (["record", "--", "true"], "record: expected FILE, --idle FILE or --daemon"),
    (["record", "--", "true", "x", "--append"], "record: expected FILE, --idle FILE or --daemon"),
    (["record", "x", "y", "--append", "--", "true"], 'record: found an unexpected argument "y"'),
    (["record", "--idle", "x", "y", "--", "true"], 'record: found an unexpected argument "y"'),
    (["record", "x", "--interval", "49ms"], '--interval: found "49ms", expected a duration from 50ms to 1h'),
    (["record", "x", "--interval", "2h"], '--interval: found "2h", expected a duration from 50ms to 1h'),
    (["latency", "--interval", "1us"], "from 10us to 1s"),
    (["latency", "--interval", "1ms,x"], "from 10us to 1s"),
    (["latency", "--interval", "1ms,"], "from 10us to 1s"),
    (["latency", "--for", "1ms"], "at least 100ms"),
    (["latency", "--for", "100ms", "--interval", "1ms,50ms"], "at least 200ms"),
    (["latency", "--policy", "fast"], "expected fifo, rr or other"),
    (["latency", "--priority", "0"], "from 1 to 99"),
    (["latency", "--policy", "other", "--priority", "5"], "--priority: expected"),
    (["latency", "--cpus", "x"], "expected CPUs such as"),
    (["latency", "--plot", "p.svg"], "ends in .html"),
    (["latency", "--csv", "--json"], "expected one of them"),
    (["latency", "--sweep", "speed"], "expected governor, epp"),
    (["latency", "--sweep", "latency=fast"], "expected 0 or a duration"),
    (["latency", "--sweep", "governor="], "expected one behind"),
    (["latency", "--sweep", "governor=a,"], "expected a value"),
    (["estimate", "--work", "0"], "expected megabytes"),
    (["estimate", "--work", "much"], "expected megabytes"),
    (["estimate", "--output", "x"], "--output: expected --fit"),
    (["estimate", "--for", "10s"], "--for: expected --fit"),
    (["estimate", "--fit", "--for", "1ms"], "at least 1s"),
    (["estimate", "--fit", "--interval", "10ms"], "at least 1s"),
    (["estimate", "--fit", "--power", "coreidle"], "expected no --power"),
    (["estimate", "--turbostat", "x", "--interval", "1s"], "expected no --for"),
    (["record"], "expected FILE"),
    (["record", "a", "--max-size", "5"], '--max-size: found "5", expected a size of at least 64K'),
    (["record", "a", "--max-size", "10X"], "expected a size"),
    (["record", "a", "--max-size", "99999999999999G"], "expected a size"),
    (["record", "a", "--max-size", "K"], "expected a size"),
    (["record", "a", "--max-age", "5s"], '--max-age: found "5s", expected a time of at least 1min'),
    (["record", "a", "--causes"], "--causes: expected --idle"),
    (["record", "--idle", "a", "--append"], "--idle: expected none of"),
    (["record", "a", "--seconds", "1", "--", "true"], "--seconds: expected no COMMAND"),
    (["record", "--idle", "a", "--seconds", "1", "--", "true"], "--seconds: expected no COMMAND"),
    (["record", "a", "--interval", "1"], '--interval: found "1"'),
    (["export", "--format", "xml", "a"], 'found "xml", expected csv or perfetto'),
]

# An option of a verb with a value that it refuses.
BAD_VALUES = [["top", "--by", "planet"], ["record", "x", "--interval", "0"], ["--interval=0", "top"],
              ["estimate", "--work=0"], ["prove", "--precision=0"], ["latency", "--sweep=x"],
              ["export", "x", "--format=xml"], ["hold", "--latency=x"], ["sleeps", "--seconds=-1"]]


# Programs with their verbs.
PROGRAMS = [(IDLECTL, VERBS)] + ([(IDLELAB, sorted(LAB | {"help", "version"}))] if IDLELAB else [])


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
                          env=environment(), check=False)


class Usage(TestCase):
    def test_bad(self):
        for program, arguments, text in [(IDLECTL, *row) for row in BAD] + [(IDLELAB, *row) for row in BAD_LAB if IDLELAB]:
            name = os.path.basename(program)
            with self.subTest(arguments=arguments):
                result = run(program, *arguments)
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertEqual(result.stdout, "")
                self.assertEqual(result.stderr.count("\n"), 1)
                self.assertTrue(result.stderr.startswith(name + ": "), result.stderr)
                self.assertIn(text, result.stderr)
                self.assertRegex(result.stderr, rf'; try "{name} ([a-z]+ )?--help"\n$')

    def test_hint(self):
        """The page that a hint names has the option that the message is about."""
        for arguments in BAD_VALUES:
            program = IDLELAB if LAB & set(arguments) else IDLECTL
            if not program:
                continue
            with self.subTest(arguments=arguments):
                result = run(program, *arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                page = re.search(r'try "idle[a-z]+ (.*)"\n$', result.stderr)[1]
                option = next(a for a in arguments if a.startswith("--")).partition("=")[0]
                self.assertIn(option + " ", run(program, *page.split()).stdout)

    def test_help(self):
        for program, verbs in PROGRAMS:
            result = run(program, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            listed = result.stdout.split("Options:")[0]
            self.assertEqual(set(re.findall(r"(?m)^  ([a-z]+) ", listed)), set(verbs))
            self.assertIn("Exit status: 0 success, 1 failure or a negative answer, 2 wrong usage",
                          result.stdout)
            self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
            for option in ("--json", "--no-colour", "--root", "--bus-address", "--policy-dir", "--version"):
                self.assertRegex(result.stdout, rf"(?m)^  {option}\b")

    def test_help_of_verbs(self):
        for program, verbs in PROGRAMS:
            name = os.path.basename(program)
            for verb in verbs:
                result = run(program, verb, "--help")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertTrue(result.stdout.startswith(f"Usage: {name} {verb} "))
                for option in ("--no-colour", "--root", "--bus-address", "--policy-dir", "--version"):
                    self.assertNotIn(option + " ", result.stdout, "it is one of all verbs")
                self.assertIn(f'"{name} --help"', result.stdout)
                self.assertEqual("--json" in result.stdout, verb not in MUTE)

    def test_ways_to_help(self):
        """-h, --help and the verb help print the same, of the program and of each verb."""
        for program, verbs in PROGRAMS:
            whole = run(program, "--help").stdout
            for arguments in (["-h"], ["help"]):
                result = run(program, *arguments)
                self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", whole))
            for verb in verbs:
                text = run(program, verb, "--help").stdout
                for arguments in ([verb, "-h"], ["-h", verb], ["--help", verb], ["help", verb]):
                    result = run(program, *arguments)
                    self.assertEqual((result.returncode, result.stdout), (0, text), arguments)

    def test_places_everywhere(self):
        """A set of options that says where things are fits every verb."""
        places = ["--root", "/", "--run", self.directory, "--config-dir", self.directory,
                  "--vendor-dir", self.directory, "--policy-dir", self.directory]
        for program, verb in [(program, verb) for program, verbs in PROGRAMS for verb in verbs if verb != "diff"]:
            more = {"set": ["userspace", "IdleMask=1"], "hold": ["--cores=1"],
                    "run": ["--cores=1", "true"], "replay": ["/nonexistent"],
                    "release": ["1"], "estimate": ["--interval=10ms"],
                    "latency": ["--for=100ms", "--interval=1ms"],
                    "prove": ["--policy=ondemand"], "record": ["--seconds=0.1", "/nonexistent/x"], "export": ["/nonexistent"],
                    "report": ["--output=/nonexistent/x", "/nonexistent"],
                    "advise": ["/nonexistent"], "metrics": [],
                    "top": ["--count=1", "--interval=10ms"]}.get(verb, [])
            for bus in (["--bus-address", "unix:path=/nonexistent"], ["--session-bus"]):
                result = run(program, verb, *more, *places, *bus)
                self.assertNotEqual(result.returncode, 2, result.stderr)
                self.assertNotIn("does not take", result.stderr)

    def test_version(self):
        for arguments in (["--version"], ["status", "--version"], ["version"]):
            result = self.run_ctl(*arguments)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout, r"^idlectl [0-9.]+\n$")
        if IDLELAB:
            self.assertRegex(run(IDLELAB, "--version").stdout, r"^idlelab [0-9.]+\n$")

    def test_wrong_root(self):
        result = self.run_ctl("status", "--root", "/nonexistent")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr,
                         "idlectl: /nonexistent: No such file or directory\n")


class Output(TestCase):
    """The reader of a pipe exits, or the disk is full."""

    def run_into(self, output, ignore):
        def prepare():
            signal.signal(signal.SIGPIPE, signal.SIG_IGN if ignore else signal.SIG_DFL)
        return subprocess.run([IDLECTL, "--help"], stdout=output, stderr=subprocess.PIPE,
                              text=True, env=environment(), preexec_fn=prepare,
                              restore_signals=False, check=False)

    def test_broken_pipe(self):
        for ignore in (False, True):
            reader, writer = os.pipe()
            os.close(reader)
            result = self.run_into(writer, ignore)
            os.close(writer)
            self.assertEqual(result.stderr, "")
            self.assertEqual(result.returncode, 1 if ignore else -signal.SIGPIPE)

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full(self):
        with open("/dev/full", "wb") as full:
            result = self.run_into(full, False)
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left on device", result.stderr)


@unittest.skipUnless(IDLELAB, "idlelab is not built")
class Moved(TestCase):
    """Old names of verbs: idlectl runs idlelab, the one next to it, and dump is status --dump."""

    def setUp(self):
        super().setUp()
        self.idlectl = shutil.copy(IDLECTL, self.directory)
        shutil.copy(IDLELAB, self.directory)

    def old(self, *arguments):
        return subprocess.run([self.idlectl, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env=environment(), check=False)

    def test_verbs(self):
        for verb in LAB:
            for arguments in ([verb, "--help"], ["help", verb], ["--json", "-h", verb], [verb, "--nonsense"]):
                new = subprocess.run([IDLELAB, *arguments], capture_output=True, text=True, env=environment(),
                                     check=False)
                found = self.old(*arguments)
                self.assertEqual((found.returncode, found.stdout, found.stderr),
                                 (new.returncode, new.stdout, new.stderr), arguments)

    def test_not_verbs(self):
        """Words behind a verb of idlectl are its arguments, and options have arguments, too."""
        for arguments in (["settings", "report"], ["run", "--try", "record"], ["profile", "set", "replay"],
                          ["--config-dir", "record", "status"], ["--config-d", "record", "status"], ["--for", "prove", "--nonsense", "hold"]):
            self.assertNotIn("idlelab", self.old(*arguments).stderr)

    def test_options_before(self):
        """Arguments of options that stand before the verb are no verbs of idlectl, either."""
        for arguments in (["--config-dir", "status", "record"], ["--root", "export", "export"]):
            self.assertIn("idlelab", self.old(*arguments).stderr)

    @unittest.skipIf(os.path.exists("/usr/bin/idlelab"), "idlelab is installed")
    def test_absent(self):
        os.unlink(self.directory + "/idlelab")
        result = self.old("record", "x")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "idlectl: record is a verb of idlelab, which is not installed: install the "
                                        "package idled-lab\n")

    def test_dump(self):
        root = machine(self.directory, "synthetic-laptop")
        for pair in ((["status", "--dump"], ["dump"]), (["status", "--knobs"], ["dump", "--knobs"])):
            new, old = (self.run_ctl(*verb, "--json", "--root", root) for verb in pair)
            self.assertEqual((old.returncode, old.stdout != ""), (new.returncode, new.stdout != ""))
            self.assertEqual(old.stderr, "idlectl: dump is obsolete and will be removed: use idlectl status --dump\n")
            self.assertEqual(new.stderr, "")


if __name__ == "__main__":
    unittest.main()
