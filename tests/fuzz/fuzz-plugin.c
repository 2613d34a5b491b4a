/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Any file is a whole plugin or is not; what is short needs more bytes than there are. */
#include <errno.h>
#include <sys/mman.h>

#include "config/plugin-elf.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        uint64_t expected = 0;
        int r, fd = memfd_create("plugin", MFD_CLOEXEC);

        g_assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
        r = plugin_elf_check(fd, &expected);
        g_assert(r == 0 || r == -ENODATA);
        g_assert(r == 0 || expected > size);
        close(fd);
        return 0;
}
