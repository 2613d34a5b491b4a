/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Small files below a root directory, read whole and written with one checked write(2).
 */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/number.h"

int root_open(const char *path)
{
        int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

bool path_is_below(const char *path)
{
        return *path != '/' && !strstr(path, "..");
}

static int open_below(int root, const char *path, int flags)
{
        int fd = openat(root, path, flags | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : fd;
}

DIR *dir_open(int root, const char *path)
{
        int fd = open_below(root, path, O_RDONLY | O_DIRECTORY);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);

        if (fd < 0)
                errno = -fd;
        else if (!dir)
                close(fd);
        return dir;
}

int dir_next_number(DIR *dir)
{
        struct dirent *entry;
        int number;

        while ((entry = readdir(dir)))
                if (int_parse(entry->d_name, &number) >= 0 && number > 0)
                        return number;
        return -1;
}

static int compare_names(const void *a, const void *b)
{
        return strverscmp(*(char *const *)a, *(char *const *)b);
}

char **dir_list(int root, const char *path, const char *prefix)
{
        GPtrArray *names = g_ptr_array_new();
        _dir_ DIR *dir = dir_open(root, path);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (*entry->d_name != '.' && g_str_has_prefix(entry->d_name, prefix))
                        g_ptr_array_add(names, g_strdup(entry->d_name));
        if (names->len > 0) /* else there is no array, and qsort() wants one */
                qsort(names->pdata, names->len, sizeof(char *), compare_names);
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_free(names, FALSE);
}

int inotify_watch(int inotify, int root, const char *path, uint32_t events)
{
        _fd_ int fd = openat(root, path, O_PATH | O_CLOEXEC);
        char name[64];
        int wd;

        if (fd < 0)
                return -errno;
        snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
        wd = inotify_add_watch(inotify, name, events);
        return wd < 0 ? -errno : wd;
}

/* Ends the text before its trailing white space; -EBADMSG if a NUL is inside. */
static ssize_t finish_text(char *text, size_t length)
{
        text[length] = '\0';
        if (memchr(text, '\0', length))
                return -EBADMSG;
        while (length > 0 && isspace((unsigned char)text[length - 1]))
                text[--length] = '\0';
        return (ssize_t)length;
}

ssize_t fd_read_full(int fd, char *buffer, size_t size)
{
        size_t length = 0;

        while (length < size) {
                ssize_t n = read(fd, buffer + length, size - length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                length += (size_t)n;
        }
        return (ssize_t)length;
}

int fd_write_full(int fd, const void *data, size_t size)
{
        const uint8_t *bytes = data;

        while (size > 0) {
                ssize_t n = write(fd, bytes, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                bytes += n;
                size -= (size_t)n;
        }
        return 0;
}

/* As file_read(), by a descriptor. */
static int read_text(int fd, char **ret_text)
{
        g_autofree char *text = NULL;
        size_t size = 4096, length = 0;

        for (;;) {
                ssize_t n;

                text = g_realloc(text, size + 1);
                n = fd_read_full(fd, text + length, size - length);
                if (n < 0)
                        return (int)n;
                length += (size_t)n;
                if (length < size)
                        break;
                if (size >= FILE_SIZE_MAX)
                        return -EFBIG;
                size *= 2;
        }
        if (finish_text(text, length) < 0)
                return -EBADMSG;
        *ret_text = g_steal_pointer(&text);
        return 0;
}

int file_read(int root, const char *path, char **ret_text)
{
        _fd_ int fd = open_below(root, path, O_RDONLY);

        return fd < 0 ? fd : read_text(fd, ret_text);
}

static int read_regular(int root, const char *path, int flags, size_t size, char **ret_text)
{
        _fd_ int fd = open_below(root, path, O_RDONLY | O_NONBLOCK | flags);
        struct stat st;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        return (size_t)st.st_size > size ? -EFBIG : read_text(fd, ret_text);
}

int file_read_regular(const char *path, char **ret_text)
{
        return read_regular(AT_FDCWD, path, 0, FILE_SIZE_MAX, ret_text);
}

int file_read_foreign(int root, const char *path, size_t size, char **ret_text)
{
        return read_regular(root, path, O_NOFOLLOW, size, ret_text);
}

int file_read_words(int root, const char *path, char ***ret_words)
{
        g_autofree char *text = NULL;
        int r = file_read(root, path, &text);

        if (r >= 0)
                *ret_words = g_strsplit_set(text, " \n", -1);
        return r < 0 ? r : 0;
}

int file_has_word(int root, const char *path, const char *word)
{
        g_auto(GStrv) words = NULL;
        int r = file_read_words(root, path, &words);

        return r < 0 ? r : g_strv_contains((const char *const *)words, word);
}

int file_read_value(int root, const char *path, char *buffer, size_t size)
{
        _fd_ int fd = open_below(root, path, O_RDONLY);
        ssize_t n;

        if (fd < 0)
                return fd;
        n = fd_read_full(fd, buffer, size);
        if (n < 0)
                return (int)n;
        if ((size_t)n == size)
                return -EFBIG;
        return (int)finish_text(buffer, (size_t)n);
}

int fd_read_at_start(int fd, char *buffer, size_t size)
{
        ssize_t n;

        do
                n = pread(fd, buffer, size - 1, 0);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        buffer[n] = '\0';
        return (int)n;
}

int file_read_u64(int root, const char *path, uint64_t *ret_value)
{
        char text[32];
        int r;

        r = file_read_value(root, path, text, sizeof(text));
        if (r < 0)
                return r == -EFBIG ? -EINVAL : r;
        return u64_parse(text, ret_value);
}

/* Writes the text to the new file, which takes the place of the one at `path`. */
static int put_in_place(int fd, const char *new, const char *path, const char *text, bool durable)
{
        int r = fd_write_full(fd, text, strlen(text));

        if (r == 0 && ((durable && fsync(fd) < 0) || rename(new, path) < 0))
                r = -errno;
        if (r < 0)
                unlink(new);
        return r;
}

int file_replace(const char *dir, const char *path, const char *text)
{
        g_autofree char *new = g_strconcat(path, ".new", NULL);
        _fd_ int fd = -1;

        if (g_mkdir_with_parents(dir, 0755) < 0)
                return -errno;
        unlink(new);
        fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        return fd < 0 ? -errno : put_in_place(fd, new, path, text, false);
}

int file_save(const char *path, const char *text, mode_t mode)
{
        g_autofree char *new = g_strconcat(path, ".XXXXXX", NULL), *dir = g_path_get_dirname(path);
        _fd_ int fd = g_mkstemp_full(new, O_WRONLY | O_CLOEXEC, (int)mode), directory = -1;
        int r = fd < 0 ? -errno : put_in_place(fd, new, path, text, true);

        directory = r < 0 ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory >= 0)
                fsync(directory); /* some file systems cannot */
        return r;
}

int file_write(int root, const char *path, const char *text)
{
        _fd_ int fd = open_below(root, path, O_WRONLY);
        size_t length = strlen(text);
        ssize_t n;

        if (fd < 0)
                return fd;
        do
                n = write(fd, text, length);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return (size_t)n == length ? 0 : -EIO;
}
