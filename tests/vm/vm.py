#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The command line of the virtual machine; tools/vm is the way to it."""

import argparse
import functools
import importlib
import re
import shlex
import shutil
import signal
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "tests")]

import image  # noqa: E402
import lab  # noqa: E402
from machine import GuestError  # noqa: E402

SKIPPED = 77
BENCHES = {"coreidle": "experiment", "truth": "experiment", "contract": "experiment", "rivals": "rivals",
           "yardstick": "experiment"}  # and modules


def say(text):
    print(text, file=sys.stderr, flush=True)


def shape(text):
    if not re.fullmatch(r"([1-9]\d*x){1,2}[1-9]\d*", text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no shape, expected CORESxTHREADS or PACKAGESxCORESxTHREADS")
    return text


def directory(text):
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"{text} is not a directory")
    return text


def build(text):
    if not (Path(text) / "build.ninja").exists():
        raise argparse.ArgumentTypeError(f"{text} is not what meson setup makes")
    return text


def test_name(text):
    """As unittest wants it."""
    known = sorted(p.stem.removeprefix("test_") for p in (HERE / "tests").glob("test_*.py"))
    name, *members = text.removeprefix("test_").split(".")
    if name not in known:
        raise argparse.ArgumentTypeError(f"there is no {name!r}, only {', '.join(known)}")
    where = importlib.import_module("test_" + name)
    for member in members:
        where = getattr(where, member, None)
        if where is None:
            raise argparse.ArgumentTypeError(f"{text}: there is no {member!r} in {name!r}")
    return "test_" + text.removeprefix("test_")


def load(names):
    names = names or sorted(p.stem for p in (HERE / "tests").glob("test_*.py"))
    return unittest.defaultTestLoader.loadTestsFromNames(names)


def any_about_idled(suite):
    """Whether there is a test that needs what was built."""
    return any(any_about_idled(test) if isinstance(test, unittest.TestSuite)
               else isinstance(test, lab.IdledTest) for test in suite)


def parse():
    parser = argparse.ArgumentParser(prog="tools/vm", description="A virtual machine to test in.")
    parser.add_argument("--suite", default="trixie", choices=("trixie", "bookworm", "backports"),
                        help="of Debian; backports: trixie with the newest kernel of its backports")
    parser.add_argument("--smp", default="2x2", metavar="SHAPE", type=shape,
                        help="CORESxTHREADS or PACKAGESxCORESxTHREADS")
    parser.add_argument("--module", default="", metavar="OPTIONS",
                        help="parameters of the kernel module, such as policy_scope=package")
    parser.add_argument("--append", default="", metavar="OPTIONS", help="for the kernel")
    parser.add_argument("--icount", type=int, metavar="N", help="the guest's time is counted: 2^N ns "
                        "an instruction; slow machines and idle guests do not matter to it")
    parser.add_argument("--boot", action="store_true", help="boot, although a machine of this kind "
                        "that has booted is kept to go on from")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("image", help="make what is missing for a machine, boot one to go on from, and "
                     "say where the image is")
    verb = verbs.add_parser("shell", help="boot, with a shell on this terminal; its end ends it")
    verb.add_argument("--build", type=build, help="install what was built here before")
    verb = verbs.add_parser("run", help="boot, run a command, end; /share is what --share names")
    verb.add_argument("--build", type=build, help="install what was built here before")
    verb.add_argument("--share", metavar="DIR", type=directory,
                      help="copy this to /share/files, and back after")
    verb.add_argument("--timeout", metavar="SECONDS", type=float, default=3600,
                      help="that it may take (default: 3600)")
    verb.add_argument("command", metavar="COMMAND", nargs=argparse.REMAINDER,
                      help="for bash; of several words they are quoted")
    verb = verbs.add_parser("test", help="run tests")
    verb.add_argument("--build", type=build, help="test what was built here")
    verb.add_argument("--short", action="store_true", help="leave out what takes long")
    verb.add_argument("names", nargs="*", type=test_name, metavar="NAME",
                      help="FILE, FILE.CLASS or FILE.CLASS.METHOD")
    verb = verbs.add_parser("bench", help="measure: coreidle, truth, contract, rivals or "
                             "yardstick (tests/bench/README.md)")
    verb.add_argument("--build", type=build, required=True, help="measure what was built here")
    verb.add_argument("name", metavar="NAME", choices=BENCHES)
    verb.add_argument("options", metavar="OPTION", nargs=argparse.REMAINDER, help="see --help")
    verb = verbs.add_parser("demo", help="what idled saves, modelled: a light load without and with it, as a table "
                            "and a page with plots; 5 minutes")
    verb.add_argument("--build", type=build, default=str(HERE.parents[1] / "build-run"),
                      help="show what was built here; default: build-run, which is made")
    arguments = parser.parse_args()
    if arguments.verb == "run" and arguments.command in ([], ["--"]):
        parser.error("run: expected a COMMAND")
    if arguments.verb == "test" and not arguments.build and any_about_idled(load(arguments.names)):
        parser.error("test: these tests are of idled; say where it was built: --build DIR")
    return arguments


def run_command(arguments):
    machine = lab.boot()
    if arguments.build:
        machine.install(arguments.build)
    files = machine.share / "files"
    if arguments.share:
        shutil.copytree(arguments.share, files, symlinks=True)
    words = arguments.command[arguments.command[0] == "--":]
    script = words[0] if len(words) == 1 else shlex.join(words)
    show = functools.partial(print, end="", flush=True)
    try:
        result = machine.run(script, check=False, live=show, timeout=arguments.timeout)
    finally:
        if arguments.share:
            shutil.copytree(files, arguments.share, symlinks=True, dirs_exist_ok=True)
    sys.stderr.write(result.errors)
    return result.status


class Result(unittest.TextTestResult):
    """Says at once what went wrong: the end may be half an hour away. Without a guest it is there."""

    broken = None  # the GuestError that ended it
    passed = 0

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed += 1

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.stream.writeln(self.failures[-1][1])
        self.report(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.stream.writeln(self.errors[-1][1])
        self.stop_if_broken(err)
        self.report(test)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.stream.writeln(self._exc_info_to_string(err, subtest))
            self.stop_if_broken(err)
            self.report(test)

    def stop_if_broken(self, err):
        if isinstance(err[1], GuestError):
            self.broken = self.broken or err[1]
            self.stop()

    def report(self, test):
        if isinstance(test, lab.IdledTest) and not test.guest.lost:
            self.stream.writeln(test.describe())


def run_tests(arguments):
    lab.settings.short = arguments.short
    lab.supplies()  # unittest takes what is missing for a failure
    began = time.monotonic()
    sys.stdout.reconfigure(line_buffering=True)
    runner = unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=Result)
    result = runner.run(load(arguments.names))
    say(f"{result.testsRun} tests in {time.monotonic() - began:.0f} s, "
        f"{lab.settings.starts} starts of {lab.settings.start_seconds:.1f} s at most")
    if result.broken:
        raise result.broken
    if result.wasSuccessful() and result.skipped and not result.passed:
        raise image.Unavailable("; ".join(dict.fromkeys(why for _, why in result.skipped)))
    return 0 if result.wasSuccessful() and result.passed else 1


def benchmark(name, module):
    """A module of a benchmark, for which time is counted."""
    sys.path.insert(0, str(HERE.parent / "bench" / name))
    if lab.settings.icount is None:
        lab.settings.icount = 1
    return importlib.import_module(module)


def run_bench(arguments):
    return benchmark(arguments.name, BENCHES[arguments.name]).main(lab, arguments.options)


def run_demo(arguments):
    return benchmark("coreidle", "demo").main(lab, arguments.build)


def act(arguments):
    if arguments.verb == "image":
        print(lab.prepare(boot=False).image)
        return 0
    if arguments.verb == "shell":
        return lab.prepare().shell(arguments.build)
    verbs = {"run": run_command, "test": run_tests, "bench": run_bench, "demo": run_demo}
    return verbs[arguments.verb](arguments)


class Terminated(KeyboardInterrupt):
    """The one kind of exception that unittest does not take for an error of the test."""


def end(number, _):
    """Handles a signal: the exception cleans up on the way out."""
    raise Terminated(128 + number)


def main():
    arguments = parse()
    signal.signal(signal.SIGTERM, end)
    settings = lab.settings
    settings.suite, settings.shape = arguments.suite, arguments.smp
    settings.module_options, settings.kernel_options = arguments.module, arguments.append
    settings.icount, settings.boot = arguments.icount, arguments.boot
    settings.build, settings.say = getattr(arguments, "build", None), say
    try:
        with tempfile.TemporaryDirectory(prefix="idled-vm.") as directory:
            settings.directory = Path(directory)
            try:
                return act(arguments)
            finally:
                lab.shut_down()
    except Terminated as signalled:
        return signalled.args[0]
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except image.Unavailable as why:
        say(f"skipped: {why}")
        return SKIPPED
    except (GuestError, image.MakingError) as error:
        say(f"tools/vm: {error}")
        return 125


if __name__ == "__main__":
    sys.exit(main())
