/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds and their ends.
 *
 * A client gets the writing end of a pipe, as with a pause: when the last copy is closed the
 * reading end hangs up. A process that a hold is bound to is watched by its pidfd (holder.c).
 * Policies see an array without gaps, so that a thousand holds are one loop; what ends is replaced
 * in it by the last one.
 */
#include "holds/holds-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"

/* So many holds have needed memory that is worth giving back. */
#define MANY_HOLDS 64

const Held *holds_find(const Holds *holds, uint64_t id)
{
        return g_hash_table_lookup(holds->by_id, &id);
}

unsigned holds_count(const Holds *holds)
{
        return holds->held->len;
}

const Held *holds_nth(const Holds *holds, unsigned i)
{
        return g_ptr_array_index(holds->held, i);
}

unsigned holds_count_of(const Holds *holds, uid_t uid)
{
        unsigned n = 0;

        for (guint i = 0; i < holds->held->len; i++)
                n += holds_nth(holds, i)->uid == uid;
        return n;
}

pid_t held_pid(const Held *held)
{
        return held->holder ? held->holder->pid : 0;
}

const Hold *holds_hold(const Held *held)
{
        return held_hold(held);
}

unsigned holds_list(const Holds *holds, const Hold **ret_list)
{
        *ret_list = (const Hold *)(const void *)holds->list->data;
        return holds->list->len;
}

static void held_free(Held *held)
{
        sd_event_source_disable_unref(held->source);
        holder_put(held->holder);
        g_free(held->named);
        g_free(held->owner);
        g_free(held->reason);
        g_free(held->sender);
        g_free(held->profile);
        g_free(held);
}

/* After many holds, gives their memory back. */
static void shrink(Holds *holds)
{
        if (holds->held->len > 0 || holds->most < MANY_HOLDS)
                return;
        g_array_unref(holds->list);
        holds->list = g_array_new(FALSE, FALSE, sizeof(Hold));
        holds->most = 0;
        memory_settle();
}

void holds_tell(Holds *holds)
{
        holds->untold = holds->n_deferring > 0;
        if (!holds->untold)
                holds->changed(holds->userdata);
}

void holds_defer(Holds *holds, bool on)
{
        holds->n_deferring += on ? 1 : -1u;
        if (holds->untold)
                holds_tell(holds);
}

/* Takes the hold out; what it asked for is asked for no longer. */
static void take_out(Held *held)
{
        Holds *holds = held->holds;

        g_hash_table_remove(holds->by_id, &held->id);
        g_array_remove_index_fast(holds->list, held->index);
        g_ptr_array_remove_index_fast(holds->held, held->index);
        if (held->index < holds->held->len)
                ((Held *)g_ptr_array_index(holds->held, held->index))->index = held->index;
        if (holds->held->len == 0)
                sd_event_source_set_enabled(holds->late, SD_EVENT_OFF);
}

/* The hold is over, of which its owner is to be told or not. */
static void finish(Held *held, bool tell)
{
        Holds *holds = held->holds;

        take_out(held);
        holds_tell(holds);
        if (tell && held->ended)
                held->ended(held, held->userdata);
        held_free(held);
        shrink(holds);
}

/* The hold is over by itself. */
static void end(Held *held, const char *how)
{
        log_debug("Hold %" G_GUINT64_FORMAT " of %s has ended: %s", held->id, held->owner, how);
        finish(held, true);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        end(userdata, "its descriptor was closed");
        return 0;
}

/* Leaves the hold to who began it, who may end it at once. */
static void leave(Held *held)
{
        held->left = true;
        held->gone(held, held->userdata);
}

/* A process is gone, and with it the holds that are bound to it. Callbacks may end others, which
 * moves the rest, so it is looked again until none is left. */
static void on_process_end(Holder *holder, void *userdata)
{
        Holds *holds = userdata;
        bool found = true;

        while (found) {
                found = false;
                for (guint i = 0; i < holds->held->len;) {
                        Held *held = g_ptr_array_index(holds->held, i);

                        if (held->holder != holder || !held->bound || held->left) {
                                i++;
                                continue;
                        }
                        found = true;
                        if (held->gone)
                                leave(held);
                        else
                                end(held, "its process exited");
                }
        }
}

Holds *holds_new(sd_event *event, int root, const CpuSet *online, uint64_t follow_usec,
                 void (*changed)(void *userdata), void *userdata)
{
        Holds *holds = g_new0(Holds, 1);

        holds->late_usec = follow_usec;
        holds->event = sd_event_ref(event);
        holds->online = *online;
        holds->list = g_array_new(FALSE, FALSE, sizeof(Hold));
        holds->held = g_ptr_array_new();
        holds->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
        holds->holders = holders_new(event, root, on_process_end, holds);
        holds->changed = changed;
        holds->userdata = userdata;
        holds_make_timer(holds);
        return holds;
}

void holds_free(Holds *holds)
{
        if (!holds)
                return;
        for (guint i = 0; i < holds->held->len; i++)
                held_free(g_ptr_array_index(holds->held, i));
        g_hash_table_unref(holds->by_id);
        g_ptr_array_unref(holds->held);
        g_array_unref(holds->list);
        holders_free(holds->holders);
        sd_event_source_disable_unref(holds->late);
        sd_event_unref(holds->event);
        g_free(holds);
}

/* The pipe: its reading end is the event source's, the writing end the caller's. */
static int watch_pipe(Held *held, int *ret_fd)
{
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(held->holds->event, &held->source, ends[0], 0, on_hangup, held);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                return r;
        }
        sd_event_source_set_io_fd_own(held->source, true);
        *ret_fd = ends[1];
        return 0;
}

/* Puts the hold among the others. */
static void put_in(Held *held, const HoldRequest *request)
{
        Holds *holds = held->holds;
        Hold hold = {
                .reason = held->reason,
                .profile = held->profile,
                .cpus = holds_cpus_of(holds, held),
                .latency_us = request->latency_us,
                .global = request->global,
                .min_khz = request->min_khz,
                .min_cores = request->min_cores,
                .keep = request->cpus,
        };

        held->id = hold.id = ++holds->last_id;
        held->index = holds->held->len;
        g_array_append_val(holds->list, hold);
        g_ptr_array_add(holds->held, held);
        holds->most = MAX(holds->most, holds->held->len);
        g_hash_table_insert(holds->by_id, &held->id, held);
        holds_follow_new(held);
}

static Held *held_new(Holds *holds, const HoldRequest *request)
{
        bool told = request->reason && *request->reason;
        Held *held = g_new0(Held, 1);

        held->holds = holds;
        held->owner = log_clean(request->owner);
        held->reason = told ? log_clean(request->reason) : g_strdup("no reason given");
        held->sender = g_strdup(request->sender);
        held->profile = g_strdup(request->profile);
        held->uid = request->uid;
        held->shown_uid = request->shown_uid == (uid_t)-1 ? request->uid : request->shown_uid;
        held->bound = request->bound;
        held->named = g_memdup2(request->cpus, sizeof(CpuSet));
        held->since_usec = (uint64_t)g_get_real_time();
        held->ended = request->ended;
        held->gone = request->gone;
        held->userdata = request->userdata;
        return held;
}

int holds_add(Holds *holds, const HoldRequest *request, int *ret_fd, uint64_t *ret_id)
{
        int fd = -1, r = 0;
        bool moved;
        Held *held;

        if (holds->held->len >= HOLDS_MAX)
                return -EMFILE;
        held = held_new(holds, request);
        if (request->pid > 0 || request->pidfd >= 0)
                r = holder_get(holds->holders, request->pid, request->pidfd, request->uid,
                               &holds->online, &held->holder);
        moved = r > 0;
        if (r >= 0 && ret_fd)
                r = watch_pipe(held, &fd);
        if (r < 0) {
                held_free(held);
                return r;
        }
        put_in(held, request);
        if (moved)
                holds_update_cpus(holds);
        log_debug("Hold %" G_GUINT64_FORMAT " of %s: %s", held->id, held->owner, held->reason);
        if (ret_fd)
                *ret_fd = fd;
        *ret_id = held->id;
        holds_tell(holds);
        return 0;
}

static int release(Holds *holds, uint64_t id, bool tell)
{
        Held *held = g_hash_table_lookup(holds->by_id, &id);

        if (!held)
                return -ENOENT;
        log_debug("Hold %" G_GUINT64_FORMAT " of %s is released", held->id, held->owner);
        finish(held, tell);
        return 0;
}

int holds_remove(Holds *holds, uint64_t id)
{
        return release(holds, id, false);
}

int holds_release(Holds *holds, uint64_t id)
{
        return release(holds, id, true);
}

void holds_forget_senders(Holds *holds)
{
        for (guint i = 0; i < holds->held->len; i++)
                g_clear_pointer(&((Held *)g_ptr_array_index(holds->held, i))->sender, g_free);
}
