/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Returning memory to the kernel.
 *
 * Code that runs once, in the linker, in constructors or while the configuration is read, stays
 * mapped until the process exits or drops it. That is 2 of the 6 MB that idled would take
 * otherwise, of which it may take 5 (tests/bench/README.md).
 */
#include "base/memory.h"

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static bool has_text_relocations(const struct dl_phdr_info *object)
{
        const ElfW(Dyn) *entry = NULL;

        for (int i = 0; i < object->dlpi_phnum; i++)
                if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
                        entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        for (; entry && entry->d_tag != DT_NULL; entry++)
                if (entry->d_tag == DT_TEXTREL ||
                    (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
                        return true;
        return false;
}

/* Segments that cannot be written are as in their file, unless it has text relocations. */
static int drop_segments(struct dl_phdr_info *object, size_t size, void *userdata)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE);

        for (int i = 0; i < object->dlpi_phnum && !has_text_relocations(object); i++) {
                const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
                uintptr_t start = object->dlpi_addr + segment->p_vaddr;
                uintptr_t end = start + segment->p_filesz;

                start -= start % page;
                if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
                        madvise((void *)start, end - start, MADV_DONTNEED);
        }
        return 0;
}

void memory_settle(void)
{
        malloc_trim(0);
        dl_iterate_phdr(drop_segments, NULL);
}
