/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a shared object is whole.
 */
#ifndef IDLED_PLUGIN_ELF_H
#define IDLED_PLUGIN_ELF_H

#include <stdint.h>

/* Checks that every segment of the ELF file lies within the file. -ENODATA: one does not, and
 * `*ret_expected` is the size in bytes that the file needs at least; other errors are those of
 * reading it. What is no ELF file of this machine passes: the linker says what is wrong with it. */
int plugin_elf_check(int fd, uint64_t *ret_expected);

#endif
