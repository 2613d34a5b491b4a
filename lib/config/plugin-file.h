/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening a file whose code will be executed.
 */
#ifndef IDLED_PLUGIN_FILE_H
#define IDLED_PLUGIN_FILE_H

/* Opens with O_PATH the regular file `path` (absolute), following links, if only root and the user
 * that runs this program can create or change it: each directory, each link and the file belong to
 * one of them, and no directory nor the file is writable by others. A directory with the sticky bit
 * is permitted if the next step is a directory too. Returns the descriptor; -EPERM if it is not
 * safe; else open(2)'s error. Both set `*ret_error`. */
int safe_open(const char *path, char **ret_error);

#endif
