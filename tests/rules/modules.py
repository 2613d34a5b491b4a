#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Policy modules are pure: they import nothing but pure functions, export nothing but the policy,
and have no variables.

usage: modules.py NM MODULE...
"""

import subprocess
import sys

# Functions of libc and libm that neither allocate nor read or change anything but their arguments.
PURE = {
    "memchr", "memcmp", "memcpy", "memmove", "memset", "strchr", "strcmp", "strlen", "strncmp",
    "strnlen", "strrchr", "abs", "labs",
    "ceil", "exp", "exp2", "expm1", "fabs", "floor", "fmax", "fmin", "lgamma_r", "log", "log1p", "log2",
    "lround", "pow", "rint", "round", "sqrt", "trunc",
}
# What compiler and linker put into every shared object, and what instrumented builds call.
MACHINERY = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable",
             "_ITM_registerTMCloneTable", "__stack_chk_fail", "__memcpy_chk", "__memset_chk"}
INSTRUMENTS = ("__asan_", "__ubsan_", "__tsan_", "__gcov_", "__sanitizer_")
OWN_DATA = {"completed.0", "__dso_handle", "__TMC_END__", "_edata", "__bss_start", "_end"}


def symbols(nm, *options):
    out = subprocess.run([nm, "-f", "sysv", *options], check=True, capture_output=True, text=True)
    for line in out.stdout.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[0] != "Name":
            yield fields[0].split("@")[0], fields[6].split("@")[0]


def faults(nm, module):
    imports = {name for name, _ in symbols(nm, "-D", "-u", module)}
    instrumented = any(name.startswith(INSTRUMENTS) for name in imports)
    for name in sorted(imports - PURE - MACHINERY):
        if not name.startswith(INSTRUMENTS):
            yield f"imports {name}, which is not a pure function"
    exports = {name for name, _ in symbols(nm, "-D", "--defined-only", module)}
    if not instrumented and exports != {"idled_policy"}:
        yield f"exports {', '.join(sorted(exports)) or 'nothing'}; expected idled_policy alone"
    for name, section in symbols(nm, module):
        if section in (".data", ".bss") and name not in OWN_DATA and not instrumented:
            yield f"has the variable {name}"


def main():
    nm, *modules = sys.argv[1:]
    wrong = [f"{module}: {fault}" for module in modules for fault in faults(nm, module)]
    for line in wrong:
        print(line)
    print(f"{len(modules)} modules looked at, {len(wrong)} faults")
    return 1 if wrong or not modules else 0


if __name__ == "__main__":
    sys.exit(main())
