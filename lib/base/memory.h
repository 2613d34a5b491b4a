/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Returns memory that is not needed any more to the kernel. No byte that the program can read
 * changes.
 */
#ifndef IDLED_MEMORY_H
#define IDLED_MEMORY_H

/* Drops what the program needed to start but may not need again: free memory of the heap, and code
 * and constants of the program and its libraries. These stay in the page cache and are mapped again
 * when they are used. */
void memory_settle(void);

#endif
