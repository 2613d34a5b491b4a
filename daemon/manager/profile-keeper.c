/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Keeps the chosen profile on the disk without waiting for it.
 *
 * fsync(2) takes as long as the disk does, which may be seconds, so a thread does the writing. The
 * thread lives as long as it writes, and shares nothing with the event loop but its Job: the loop
 * fills it in before the thread begins, and reads it after the thread has ended.
 */
#include "manager/profile-keeper.h"

#include <errno.h>
#include <glib.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/log.h"
#include "manager/profile-state.h"

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
