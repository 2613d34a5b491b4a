/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any text is a list of CPUs or is not; one that is comes back the same from its shortest form. */
#include <errno.h>

#include "base/cpuset-text.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        g_autofree char *text = strndup((const char *)data, size), *short_form = NULL;
        g_autofree char *again = NULL;
        CpuSet set, same;
        int r;

        memset(&set, 0xaa, sizeof(set));
        same = set;
        r = cpuset_parse(text, &set);
        if (r < 0) {
                g_assert(r == -EINVAL || r == -ERANGE);
                g_assert(cpuset_equal(&set, &same));
                return 0;
        }
        if (FUZZ_MEMORY) /* GLib formats, and is not instrumented */
                return 0;
        short_form = cpuset_format(&set);
        g_assert(cpuset_parse(short_form, &same) == 0);
        g_assert(cpuset_equal(&set, &same));
        again = cpuset_format(&same);
        g_assert(g_str_equal(short_form, again));
        return 0;
}
