/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Memory that is not needed any more, given back to the kernel. It changes no byte that a program
 * can read.
 */
#ifndef IDLED_MEMORY_H
#define IDLED_MEMORY_H

#include <stddef.h>

/* Gives back those whole pages of the `size` bytes from `start` that are all zero; they must be
 * anonymous private memory, as of malloc() or .bss, and read as zeros afterwards as well. Returns
 * how many bytes. */
size_t memory_drop_zeros(void *start, size_t size);

/* Gives back what the program needed to start but may not need again: free memory of the heap, and
 * code and constants of the program and its libraries, which stay in the page cache and are mapped
 * again when they are used. */
void memory_settle(void);

#endif
