/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the chosen profile on the disk without waiting for it.
 *
 * fsync(2) takes as long as the disk does, which may be seconds, so a thread does the writing. The
 * thread lives as long as it writes, and shares nothing with the event loop but its Job: the loop
 * fills it in before the thread begins, and reads it after the thread has ended.
 *
 * The file is written under another name, forced to the disk and moved into place by rename(2), and
 * then so is the directory: after a power cut the old choice is there or the new one, whole.
 */
#include "manager/profile-keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "config/profile.h"

#define FILE_NAME "profile"
#define NEW_NAME  "profile.new"

static int open_directory(const char *dir)
{
        int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? -errno : fd;
}

int profile_state_read(const char *dir, char **ret_name)
{
        g_autofree char *path = g_build_filename(dir, FILE_NAME, NULL), *text = NULL;
        int r;

        r = file_read_regular(path, &text);
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;
        if (!profile_is_name(text))
                return -EBADMSG;
        *ret_name = g_steal_pointer(&text);
        return 0;
}

/* Some file systems have no disk, and say so. */
static int force_to_disk(int fd)
{
        return fsync(fd) < 0 && errno != EINVAL && errno != ENOTSUP ? -errno : 0;
}

static int write_whole(int dir, const char *text)
{
        _fd_ int fd = openat(dir, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                             0644);
        ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? force_to_disk(fd) : -EIO;
}

static int remove_file(int dir)
{
        if (unlinkat(dir, FILE_NAME, 0) < 0)
                return errno == ENOENT ? 0 : -errno;
        return force_to_disk(dir);
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
                return remove_file(fd);
        unlinkat(fd, NEW_NAME, 0);
        r = write_whole(fd, line);
        if (r >= 0 && renameat(fd, NEW_NAME, fd, FILE_NAME) < 0)
                r = -errno;
        if (r < 0)
                unlinkat(fd, NEW_NAME, 0);
        return r < 0 ? r : force_to_disk(fd);
}

typedef struct Job {
        const char *dir;
        char *name;
        int done; /* an eventfd, written to at the end */
        int error;
} Job;

struct ProfileKeeper {
        char *dir;
        sd_event_source *source;
        int done;
        GThread *thread; /* NULL: nothing is being written */
        Job job;
        char *next; /* what must be written after it */
        bool again;
        ProfileKept kept;
        void *userdata;
};

static gpointer write_job(gpointer data)
{
        Job *job = data;
        const uint64_t one = 1;

        job->error = profile_state_write(job->dir, job->name);
        if (write(job->done, &one, sizeof(one)) < 0)
                return NULL; /* an eventfd takes it always */
        return NULL;
}

static void begin(ProfileKeeper *keeper, char *name)
{
        keeper->job = (Job){ .dir = keeper->dir, .name = name, .done = keeper->done };
        keeper->thread = g_thread_try_new("profile", write_job, &keeper->job, NULL);
        if (!keeper->thread) /* then the client waits for the disk */
                write_job(&keeper->job);
}

/* Waits for the thread, which has ended or is about to. */
static void end(ProfileKeeper *keeper)
{
        if (keeper->thread)
                g_thread_join(keeper->thread);
        keeper->thread = NULL;
        g_clear_pointer(&keeper->job.name, g_free);
        keeper->job.dir = NULL;
}

static int on_done(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        ProfileKeeper *keeper = userdata;
        uint64_t count;
        int error;

        if (read(fd, &count, sizeof(count)) < 0)
                return 0;
        end(keeper);
        error = keeper->job.error;
        if (keeper->again) {
                keeper->again = false;
                begin(keeper, g_steal_pointer(&keeper->next));
                return 0;
        }
        keeper->kept(error, keeper->userdata);
        return 0;
}

bool profile_keeper_is_busy(const ProfileKeeper *keeper)
{
        return keeper->job.dir;
}

void profile_keeper_keep(ProfileKeeper *keeper, const char *name)
{
        if (!profile_keeper_is_busy(keeper)) {
                begin(keeper, g_strdup(name));
                return;
        }
        g_free(keeper->next);
        keeper->next = g_strdup(name);
        keeper->again = true;
}

int profile_keeper_new(sd_event *event, const char *dir, ProfileKept kept, void *userdata,
                       ProfileKeeper **ret_keeper)
{
        ProfileKeeper *keeper = g_new0(ProfileKeeper, 1);
        int r;

        keeper->dir = g_strdup(dir);
        keeper->kept = kept;
        keeper->userdata = userdata;
        keeper->done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        r = keeper->done < 0 ? -errno
                             : sd_event_add_io(event, &keeper->source, keeper->done, EPOLLIN,
                                               on_done, keeper);
        if (r < 0)
                profile_keeper_free(keeper);
        else
                *ret_keeper = keeper;
        return r < 0 ? r : 0;
}

void profile_keeper_free(ProfileKeeper *keeper)
{
        if (!keeper)
                return;
        end(keeper);
        if (keeper->again) {
                int r = profile_state_write(keeper->dir, keeper->next);

                if (r < 0)
                        log_error_errno(r, "%s: failed to save the chosen profile: %m",
                                        keeper->dir);
        }
        sd_event_source_disable_unref(keeper->source);
        if (keeper->done >= 0)
                close(keeper->done);
        g_free(keeper->next);
        g_free(keeper->dir);
        g_free(keeper);
}
