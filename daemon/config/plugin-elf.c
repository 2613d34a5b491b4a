/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Checks that a shared object is complete.
 *
 * The linker maps segments without comparing them with the size of the file. Access beyond the end
 * of a truncated file raises SIGBUS, in the linker before it returns or in a policy later.
 */
#include "config/plugin-elf.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_at(int fd, void *data, size_t size, uint64_t offset)
{
        return offset <= INT64_MAX && pread(fd, data, size, (off_t)offset) == (ssize_t)size;
}

int plugin_elf_check(int fd, uint64_t *ret_expected)
{
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (!read_at(fd, &header, sizeof(header), 0) ||
            memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(segment))
                return 0;
        for (unsigned i = 0; i < header.e_phnum; i++) {
                uint64_t end, at = header.e_phoff + (uint64_t)i * sizeof(segment);

                if (at < header.e_phoff || !read_at(fd, &segment, sizeof(segment), at)) {
                        *ret_expected = at + sizeof(segment);
                        return -ENODATA;
                }
                end = segment.p_offset + segment.p_filesz;
                if (end < segment.p_offset || end > (uint64_t)st.st_size) {
                        *ret_expected = end < segment.p_offset ? UINT64_MAX : end;
                        return -ENODATA;
                }
        }
        return 0;
}
