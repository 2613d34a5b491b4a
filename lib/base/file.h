/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small files below a root directory.
 *
 * The root is a directory descriptor, "/" in the daemon and a tree of plain files in a test or
 * with --root. Paths are relative to it, without a leading slash. Values in sysfs, procfs and
 * cgroupfs are read whole and written with one write(2) whose result is checked: buffered writes
 * lose the kernel's answer.
 */
#ifndef IDLED_FILE_H
#define IDLED_FILE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* An int that is closed at the end of its scope; -1 is none. */
static inline void fd_close(int *fd)
{
        if (*fd >= 0)
                close(*fd);
}
#define _fd_ __attribute__((cleanup(fd_close)))

/* The largest file that file_read() takes, in bytes. */
#define FILE_SIZE_MAX (16u << 20)

/* True if the path cannot lead out of the directory that it is from: it is not absolute, and has no
 * ".." in it. Links are not followed. */
bool path_is_below(const char *path);

/* Opens the directory that all paths are relative to. Negative errno on failure. */
int root_open(const char *path);

/* Opens a directory below `root` for readdir(3); NULL with errno on failure. */
DIR *dir_open(int root, const char *path);

/* The next entry whose name is a number above 0; -1 at the end. */
int dir_next_number(DIR *dir);

/* The names of a directory's entries that begin so, hidden ones aside, as a new array that ends
 * with NULL: "hwmon9" comes before "hwmon10". Empty if there is no such directory. */
char **dir_list(int root, const char *path, const char *prefix);

/* Watches a file below `root` by inotify. Returns the number of the watch, or negative errno. */
int inotify_watch(int inotify, int root, const char *path, uint32_t events);

/* A DIR that is closed at the end of its scope. */
static inline void dir_close(DIR **dir)
{
        if (*dir)
                closedir(*dir);
}
#define _dir_ __attribute__((cleanup(dir_close)))

/* Reads the whole file into a new string without its trailing white space.
 * -EFBIG: larger than FILE_SIZE_MAX; -EBADMSG: it holds a NUL byte; else open(2)'s or read(2)'s. */
int file_read(int root, const char *path, char **ret_text);

/* As file_read(), by an absolute path, where a FIFO may lie: opening one would wait for its other
 * end. -EBADMSG, too: it is no regular file. */
int file_read_regular(const char *path, char **ret_text);

/* The same below `root`, for a file of another program: links are not followed, and -EFBIG means
 * larger than `size` bytes. */
int file_read_foreign(int root, const char *path, size_t size, char **ret_text);

/* The file's words, between blanks or newlines, as a new array that ends with NULL; negative errno
 * as file_read(). */
int file_read_words(int root, const char *path, char ***ret_words);

/* True if the file has this word; negative errno as file_read(). */
int file_has_word(int root, const char *path, const char *word);

/* Reads a value of at most `size` - 1 bytes into `buffer`, without trailing white space, allocating
 * nothing. Returns its length, -EFBIG if it does not fit, -EBADMSG for a NUL byte. */
int file_read_value(int root, const char *path, char *buffer, size_t size);

/* Reads from a kept descriptor at offset 0 what fits in `size` - 1 bytes and ends it with a NUL.
 * Returns the number of bytes, or read(2)'s error. */
int fd_read_at_start(int fd, char *buffer, size_t size);

/* Reads on from where the descriptor is, until the end or until `size` bytes are there. Returns how
 * many, or read(2)'s error. */
ssize_t fd_read_full(int fd, char *buffer, size_t size);

/* Writes all bytes, or returns write(2)'s error. */
int fd_write_full(int fd, const void *data, size_t size);

/* Reads a decimal whole number. -EINVAL: something else is there; -ERANGE: it exceeds uint64_t. */
int file_read_u64(int root, const char *path, uint64_t *ret_value);

/* Replaces the file at the absolute `path`, in the directory `dir`, which is made if it is not
 * there: other programs find the old text or the new one. Does not wait for the disk. What a crash
 * left of it is removed, so there must be no other writer at the same time. */
int file_replace(const char *dir, const char *path, const char *text);

/* The same in a directory that is there, with that mode less the umask. The text is on the disk
 * when this returns, and processes may do so at the same time. */
int file_save(const char *path, const char *text, mode_t mode);

/* Writes `text` with one write(2). -EIO: the kernel took only a part of it. Creates nothing. */
int file_write(int root, const char *path, const char *text);

#endif
