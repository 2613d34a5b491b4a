/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The chosen profile's file.
 *
 * It is written anew under another name and put in place by rename(2). It is not forced to the
 * disk, which may take a second that the daemon cannot spare: after a power cut an older choice is
 * back, or a file without a name in it, which is no choice.
 */
#include "core/profile-state.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "core/profile.h"

#define FILE_NAME "profile"
#define NEW_NAME  "profile.new"

static int open_directory(const char *dir)
{
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int profile_state_read(const char *dir, char **ret_name)
{
        _fd_ int fd = open_directory(dir);
        char text[128];
        int r = fd < 0 ? fd : file_read_value(fd, FILE_NAME, text, sizeof(text));

        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        if (!profile_is_name(text))
                return -EBADMSG;
        *ret_name = g_strdup(text);
        return 0;
}

static int write_whole(int dir, const char *text)
{
        _fd_ int fd = openat(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             0644);
        ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? 0 : -EIO;
}

int profile_state_write(const char *dir, const char *name)
{
        g_autofree char *line = g_strconcat(name ? name : "", "\n", NULL);
        _fd_ int fd = -1;
        int r;

        if (name && g_mkdir_with_parents(dir, 0755) < 0)
                return -errno;
        fd = open_directory(dir);
        if (fd < 0)
                return !name && fd == -ENOENT ? 0 : fd;
        if (!name)
                return unlinkat(fd, FILE_NAME, 0) < 0 && errno != ENOENT ? -errno : 0;
        unlinkat(fd, NEW_NAME, 0);
        r = write_whole(fd, line);
        if (r >= 0 && renameat(fd, NEW_NAME, fd, FILE_NAME) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(fd, NEW_NAME, 0);
        return r;
}
