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
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* -ENODATA: the file ends before that; else pread(2)'s error. */
static int read_at(int fd, void *data, size_t size, uint64_t offset)
{
        ssize_t n;

        if (offset > (uint64_t)INT64_MAX - size)
                return -ENODATA;
        do
                n = pread(fd, data, size, (off_t)offset);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return n == (ssize_t)size ? 0 : -ENODATA;
}

/* Where `size` bytes end that begin at `offset`; UINT64_MAX if no file is that long. */
static uint64_t end_of(uint64_t offset, uint64_t size)
{
        return size > UINT64_MAX - offset ? UINT64_MAX : offset + size;
}

int plugin_elf_check(int fd, uint64_t *ret_expected)
{
        ElfW(Ehdr) header;
        ElfW(Phdr) segment;
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return -errno;
        r = read_at(fd, &header, sizeof(header), 0);
        if (r < 0)
                return r == -ENODATA ? 0 : r;
        if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(segment))
                return 0;
        for (unsigned i = 0; i < header.e_phnum; i++) {
                uint64_t at = end_of(header.e_phoff, (uint64_t)i * sizeof(segment));
                uint64_t end = end_of(at, sizeof(segment));

                r = read_at(fd, &segment, sizeof(segment), at);
                if (r >= 0) {
                        end = end_of(segment.p_offset, segment.p_filesz);
                        r = end > (uint64_t)st.st_size ? -ENODATA : 0;
                }
                if (r < 0) {
                        *ret_expected = end;
                        return r;
                }
        }
        return 0;
}
