/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Holds and their ends.
 *
 * A client gets the writing end of a pipe, as with a pause: when the last copy is closed the
 * reading end hangs up. A process that a hold is bound to is watched by its pidfd (holder.c).
 * Policies see an array without gaps, so that a thousand holds are one loop; what ends is replaced
 * in it by the last one.
 *
 * No event reports that a process may run on other CPUs. They are read when the machine is read for
 * another reason, which may be rare. While they matter to a hold, a timer bounds the time between
 * readings. It has much slack, and each reading postpones it.
 */
#include "holds/holds.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/private-text.h"
#include "holds/holder.h"
#include "holds/timer.h"
#include "sense/affinity.h"
#include "sense/own-unit.h"

/* After this many holds their memory is worth returning to the kernel. */
#define MANY_HOLDS 64

/* How often it is looked where processes may run at most, and what that may cost. */
#define FOLLOW_SOON_USEC   G_USEC_PER_SEC
#define FOLLOW_COST_FACTOR 100

/* The most CPU time in one reading for processes of units, of which users can make many. */
#define UNITS_USEC 20000

struct Holds {
        sd_event *event;
        int root, cgroups;
        CpuSet online;
        GArray *list;      /* of Hold */
        GPtrArray *held;   /* of Held, the same index */
        GHashTable *by_id; /* &held->id -> Held */
        Holders *holders;
        uint64_t last_id;
        guint most; /* at once, since there were none */
        bool again; /* look where processes may run at the next occasion */
        uint64_t followed_usec, cost_usec;
        uint64_t units_until_usec; /* of its CPU time: processes of units are read until then */
        uint64_t late_usec;        /* the longest time without a reading */
        sd_event_source *late;
        sd_event_source *over; /* reports holds that ended by themselves */
        unsigned n_deferring;  /* until it is none `changed` waits; */
        bool unreported;       /* and must be called then */
        void (*changed)(bool moved, void *userdata);
        void *userdata;
};

/* What policies see of it. */
static Hold *held_hold(const Held *held)
{
        return &g_array_index(held->holds->list, Hold, held->index);
}

const Held *holds_find(const Holds *holds, uint64_t id)
{
        return g_hash_table_lookup(holds->by_id, &id);
}

unsigned holds_count(const Holds *holds)
{
        return holds->held->len;
}

Held *holds_nth(const Holds *holds, unsigned i)
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
        g_free(held->contract.cgroup);
        g_free(held->contract.unit);
        g_free(held->unit);
        g_free(held->owner);
        g_free(held->reason);
        g_free(held->sender);
        g_free(held->profile);
        g_free(held);
}

/* Returns memory to the kernel after many holds. */
static void shrink(Holds *holds)
{
        if (holds->held->len > 0 || holds->most < MANY_HOLDS)
                return;
        g_array_unref(holds->list);
        holds->list = g_array_new(FALSE, FALSE, sizeof(Hold));
        holds->most = 0;
        memory_settle();
}

void holds_list_kinds(const Holds *holds, GPtrArray *list)
{
        for (guint i = 0; i < holds->held->len; i++) {
                const Held *held = holds_nth(holds, i);

                if (held->kinds)
                        unit_kinds_add(list, held->unit, held->kinds);
        }
}

/* Calls `changed`, or has it wait. */
static void report_change(Holds *holds)
{
        holds->unreported = holds->n_deferring > 0;
        if (!holds->unreported)
                holds->changed(false, holds->userdata);
}

void holds_defer(Holds *holds, bool on)
{
        holds->n_deferring += on ? 1 : -1u;
        if (holds->unreported)
                report_change(holds);
}

static uint64_t now(void)
{
        return (uint64_t)g_get_monotonic_time();
}

/* Adds where other processes of the unit may run, until those are all CPUs that are online. Those
 * for which there is no time may run on all. */
static void add_unit(const Holds *holds, const char *unit, CpuSet *cpus)
{
        g_autoptr(GArray) pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
        g_autoptr(GHashTable) spent = g_hash_table_new(NULL, NULL);
        CpuSet more;

        if (cpuset_is_subset(&holds->online, cpus))
                return;
        if (clock_spent_usec() >= holds->units_until_usec ||
            unit_processes_read(holds->cgroups, unit, pids) == -E2BIG)
                *cpus = holds->online;
        for (guint i = 0; i < pids->len && !cpuset_is_subset(&holds->online, cpus); i++) {
                if (clock_spent_usec() >= holds->units_until_usec)
                        *cpus = holds->online;
                else if (affinity_read(holds->root, g_array_index(pids, pid_t, i), &holds->online,
                                       spent, &more) >= 0)
                        cpuset_or(cpus, &more);
        }
}

/* The CPUs that a hold is about now, by what was read last of its process. */
static CpuSet cpus_of(const Holds *holds, const Held *held)
{
        CpuSet cpus = held->holder ? held->holder->cpus : holds->online;

        if (held->named)
                cpus = *held->named;
        else if (held->contract.cgroup)
                add_unit(holds, held->contract.cgroup, &cpus);
        cpuset_and(&cpus, &holds->online);
        return cpus;
}

/* Gives those CPUs to every hold, or to those of one process. True if one is about others than
 * before. */
static bool update_cpus(Holds *holds, const Holder *of)
{
        bool moved = false;

        holds->units_until_usec = clock_spent_usec() + UNITS_USEC;
        for (guint i = 0; i < holds->held->len; i++) {
                Held *held = g_ptr_array_index(holds->held, i);
                Hold *hold = held_hold(held);
                CpuSet cpus;

                if (of && held->holder != of)
                        continue;
                cpus = cpus_of(holds, held);
                if (cpuset_equal(&cpus, &hold->cpus))
                        continue;
                hold->cpus = cpus;
                held->n_moves++;
                moved = true;
        }
        return moved;
}

/* True if where the hold's process may run can change, and matters. */
static bool is_followed(const Held *held)
{
        const Hold *hold = held_hold(held);

        return held->holder && held->holder->alive && !held->named &&
               (hold->latency_us >= 0 || hold->min_khz > 0);
}

/* Sets the timer, if there is a process to check. */
static void follow_later(Holds *holds)
{
        uint64_t wait = MAX(holds->late_usec, FOLLOW_COST_FACTOR * holds->cost_usec);
        bool followed = false;

        for (guint i = 0; i < holds->held->len && !followed; i++)
                followed = is_followed(holds_nth(holds, i));
        timer_set_at(holds->late, followed ? now() + wait : 0);
}

/* Takes note of a hold that may need the timer. */
static void follow_new(const Held *held)
{
        Holds *holds = held->holds;

        if (is_followed(held) && sd_event_source_get_enabled(holds->late, NULL) == 0)
                follow_later(holds);
}

static int on_late(sd_event_source *source, uint64_t usec, void *userdata)
{
        Holds *holds = userdata;
        CpuSet online = holds->online;

        holds->again = true;
        if (holds_follow(holds, &online, now()))
                holds->changed(true, holds->userdata);
        return 0;
}

static int on_over(sd_event_source *source, uint64_t usec, void *userdata)
{
        Holds *holds = userdata;

        if (holds->unreported)
                report_change(holds);
        return 0;
}

bool holds_follow(Holds *holds, const CpuSet *online, uint64_t now_usec)
{
        uint64_t wait = MAX(FOLLOW_SOON_USEC, FOLLOW_COST_FACTOR * holds->cost_usec);
        bool others = !cpuset_equal(online, &holds->online), moved;

        if (holds->held->len == 0 && !others)
                return false;
        if (!others && !holds->again && now_usec - holds->followed_usec < wait)
                return false;
        holds->again = false;
        holds->online = *online;
        holds->followed_usec = now_usec;
        holders_follow(holds->holders, online);
        moved = update_cpus(holds, NULL);
        holds->cost_usec = now() - now_usec;
        follow_later(holds);
        return moved;
}

void holds_recheck(Holds *holds)
{
        holds->again = true;
}

/* Takes the hold out, and with it all that it requested. */
static void take_out(Held *held)
{
        Holds *holds = held->holds;

        g_hash_table_remove(holds->by_id, &held->id);
        g_array_remove_index_fast(holds->list, held->index);
        g_ptr_array_remove_index_fast(holds->held, held->index);
        if (held->index < holds->held->len)
                ((Held *)g_ptr_array_index(holds->held, held->index))->index = held->index;
        if (holds->held->len == 0)
                timer_set_at(holds->late, 0);
}

/* Reports all holds that end in this turn of the loop at once, when it is over. */
static void report_later(Holds *holds)
{
        holds->unreported = true;
        if (holds->over)
                timer_set_in(holds->over, 0);
        else
                report_change(holds);
}

/* Ends the hold, and notifies its owner if requested. */
static void finish(Held *held, bool report, void (*report_to_manager)(Holds *holds))
{
        Holds *holds = held->holds;

        take_out(held);
        report_to_manager(holds);
        if (report && held->calls.ended)
                held->calls.ended(held, held->calls.userdata);
        held_free(held);
        shrink(holds);
}

/* The hold is over by itself. */
static void end(Held *held, const char *how)
{
        log_debug("Hold %" G_GUINT64_FORMAT " of %s has ended: %s", held->id, held->owner, how);
        finish(held, true, report_later);
}

static int on_hangup(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        end(userdata, "its descriptor was closed");
        return 0;
}

/* Passes the hold to the caller, which may end it at once. */
static void leave(Held *held)
{
        held->left = true;
        held->calls.gone(held, held->calls.userdata);
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
                        if (held->calls.gone)
                                leave(held);
                        else
                                end(held, "its process exited");
                }
        }
}

Holds *holds_new(sd_event *event, int root, const CpuSet *online, uint64_t follow_usec,
                 void (*changed)(bool moved, void *userdata), void *userdata)
{
        Holds *holds = g_new0(Holds, 1);
        int r;

        holds->late_usec = follow_usec;
        holds->event = sd_event_ref(event);
        holds->root = root;
        holds->cgroups = unit_cgroups_open(root);
        holds->online = *online;
        holds->list = g_array_new(FALSE, FALSE, sizeof(Hold));
        holds->held = g_ptr_array_new();
        holds->by_id = g_hash_table_new(g_int64_hash, g_int64_equal);
        holds->holders = holders_new(event, root, on_process_end, holds);
        holds->changed = changed;
        holds->userdata = userdata;
        r = timer_add(event, &holds->late, holds->late_usec / 2, on_late, holds);
        if (r >= 0)
                r = timer_add(event, &holds->over, 1, on_over, holds);
        if (r < 0)
                log_error_errno(r, "Failed to create a timer for holds: %m");
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
        fd_close(&holds->cgroups);
        sd_event_source_disable_unref(holds->late);
        sd_event_source_disable_unref(holds->over);
        sd_event_unref(holds->event);
        g_free(holds);
}

int hangup_watch(sd_event *event, sd_event_source **ret_source, sd_event_io_handler_t callback,
                 void *userdata, int *ret_fd)
{
        int ends[2], r;

        if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
                return -errno;
        r = sd_event_add_io(event, ret_source, ends[0], 0, callback, userdata);
        if (r < 0) {
                close(ends[0]);
                close(ends[1]);
                return r;
        }
        sd_event_source_set_io_fd_own(*ret_source, true);
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
                .cpus = cpus_of(holds, held),
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
        follow_new(held);
}

/* What people read. Only the hold's user reads the name of its process. */
static char *reason_of(const HoldRequest *request, uid_t user)
{
        bool given = request->reason && *request->reason;
        g_autofree char *reason = given ? log_clean(request->reason) : g_strdup("no reason given");
        g_autofree char *process = request->process ? log_clean(request->process) : NULL;
        g_autofree char *whole = process ? g_strdup_printf("%s, %s", reason, process) : NULL;

        return whole ? private_text(user, whole, reason) : g_steal_pointer(&reason);
}

static Held *held_new(Holds *holds, const HoldRequest *request)
{
        Held *held = g_new0(Held, 1);

        held->holds = holds;
        held->owner = log_clean(request->owner);
        held->sender = g_strdup(request->sender);
        held->profile = g_strdup(request->profile);
        held->uid = request->uid;
        held->shown_uid = request->shown_uid == (uid_t)-1 ? request->uid : request->shown_uid;
        held->reason = reason_of(request, held->shown_uid);
        held->contract.p99_us = request->p99_us;
        held->contract.cgroup = g_strdup(request->cgroup);
        held->bound = request->bound;
        held->kinds = request->kinds;
        held->unit = g_strdup(request->unit);
        held->named = g_memdup2(request->cpus, sizeof(CpuSet));
        held->since_usec = (uint64_t)g_get_real_time();
        held->calls = request->calls;
        return held;
}

int holds_add(Holds *holds, const HoldRequest *request, int *ret_fd, uint64_t *ret_id)
{
        int fd = -1, r = 0;
        bool moved;
        Held *held;

        if (holds->held->len >= HOLDS_MAX)
                return -EDQUOT;
        held = held_new(holds, request);
        if (request->pid > 0 || request->pidfd >= 0)
                r = holder_get(holds->holders, request->pid, request->pidfd, request->uid,
                               &holds->online, &held->holder);
        moved = r > 0;
        if (r >= 0 && held->kinds && !held->unit && held->holder)
                r = own_unit_read(holds->root, held->holder->pid, &held->unit);
        if (r >= 0 && ret_fd)
                r = hangup_watch(held->holds->event, &held->source, on_hangup, held, &fd);
        if (r < 0) {
                held_free(held);
                return r;
        }
        holds->units_until_usec = clock_spent_usec() + UNITS_USEC;
        put_in(held, request);
        if (moved)
                update_cpus(holds, held->holder);
        log_debug("Hold %" G_GUINT64_FORMAT " of %s: %s", held->id, held->owner, held->reason);
        if (ret_fd)
                *ret_fd = fd;
        *ret_id = held->id;
        report_change(holds);
        return 0;
}

static int release(Holds *holds, uint64_t id, bool report)
{
        Held *held = g_hash_table_lookup(holds->by_id, &id);

        if (!held)
                return -ENOENT;
        log_debug("Hold %" G_GUINT64_FORMAT " of %s is released", held->id, held->owner);
        finish(held, report, report_change);
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
