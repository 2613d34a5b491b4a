/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Returns memory that is not needed any more to the kernel. No byte that the program can read
 * changes.
 */
#ifndef IDLED_MEMORY_H
#define IDLED_MEMORY_H

#include <stddef.h>

/* Drops the whole pages in the `size` bytes from `start` that contain only zeros. They must be
 * anonymous private memory, as from malloc() or .bss; they still read as zeros afterwards. Returns
 * the number of bytes. */
size_t memory_drop_zeros(void *start, size_t size);

/* Drops what the program needed to start but may not need again: free memory of the heap, and code
 * and constants of the program and its libraries. These stay in the page cache and are mapped again
 * when they are used. */
void memory_settle(void);

#endif
