/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Opening a file whose code is to be run.
 */
#ifndef IDLED_PLUGIN_FILE_H
#define IDLED_PLUGIN_FILE_H

/* Opens with O_PATH the regular file `path` (absolute), following links, if nobody but root and the
 * user that runs this program could have put it there or can change it: on every step of the way
 * each directory, link and the file itself belong to one of them, and no directory nor the file can
 * be written by others. A directory with the sticky bit may be, as long as the next step is a
 * directory too. Returns the descriptor; -EPERM and `*ret_error` if it is not safe, which says what
 * is wrong with what; else open(2)'s error, `*ret_error` being set as well. */
int safe_open(const char *path, char **ret_error);

#endif
