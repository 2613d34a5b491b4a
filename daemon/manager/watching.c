/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who must not notice parking: programs that start or pin themselves, people at terminals, and
 * cgroups with cpusets of their own.
 *
 * Programs read their cpuset when they start: nproc and a Go runtime count the active CPUs, and
 * sched_setaffinity(2) to a parked CPU fails. So
 *
 * 1. while systemd starts a unit, and StartWindow= after, all CPUs are active. The signal of the
 *    job comes before systemd makes the unit's cgroup, so CPUs are unparked at once, before
 *    policies are asked. For cgroups that root makes without systemd, as container engines and
 *    batch systems do before they start a program, all CPUs are active StartWindow= long;
 * 2. from the first key that a program reads from a terminal until TerminalWindow= after the last,
 *    all CPUs are active. While nothing is parked idled does not listen; when the window ends, and
 *    before CPUs are parked, access times say whether there was input. What was typed before idled
 *    started does not count: often it is the command that started it;
 * 3. of the CPUs that a loaded unit or a cgroup names one is never parked (plan_sanitize()). A unit
 *    that was loaded before its start finds it active;
 * 4. CPUs that were refused to a process nevertheless become active at once, and stay so while it
 *    runs, or its service is loaded (manager/refusals.c).
 *
 * A one-shot service runs for a moment and opens no window; its CPUs count by 3. What a window
 * gives, CPUs that the administrator named (`userspace`) aside, a plan does not take back before
 * the window closes. The tick that follows then looks at all tasks again.
 */
#include "manager/watching.h"

#include <errno.h>
#include <sys/epoll.h>

#include "act/park/park.h"
#include "base/cpuset-text.h"
#include "base/log.h"
#include "manager/windows.h"
#include "model/measured.h"
#include "sense/cpusets.h"
#include "sense/kubelet.h"
#include "sense/terminals.h"

/* Cgroups seldom change alone. */
#define SETTLE_USEC (G_USEC_PER_SEC / 4)

/* For so long after the start parking waits for systemd to say what units need. */
#define UNITS_USEC (5 * G_USEC_PER_SEC)

/* A descriptor that reports changes while CPUs are parked. */
typedef struct Listener {
        sd_event_source *source;   /* NULL: there is none yet */
        int error;                 /* why some are not watched; 0: all are, or there are none */
        const char *what, *effect; /* what is watched, and what follows if it is not */
} Listener;

struct Watching {
        Ground *ground;
        const MachineFacts *machine;
        const Knobs *knobs;
        const CpuSet *parked; /* now */
        Windows windows;
        UnitTable *units;
        bool listed;                  /* `units` is complete, or never will be */
        uint64_t begun_usec;          /* when listing was first waited for; 0: never */
        Affinities *unit_affinities;  /* of `units`; NULL: must be computed again */
        Affinities *group_affinities; /* NULL: must be read again */
        int kubelet_error;            /* why its CPUs are unknown; 0: they are known */
        char *why;            /* what opened the window that the plan was made for; NULL: none */
        Terminals *terminals; /* NULL: none are watched yet */
        CpusetWatch *cpusets;
        Refusals *refusals;
        uint64_t listens_usec; /* since when, CLOCK_MONOTONIC */
        Listener input, groups;
        bool follows; /* systemd's units are reported */
        sd_event_source *close, *groups_settle;
};

static const ParkOptions *options_of(const Watching *w)
{
        return config_section(w->ground->config, "Park")->options;
}

static WindowLengths lengths_of(const Watching *w)
{
        const ParkOptions *options = options_of(w);

        return (WindowLengths){ .start = options->start_window,
                                .terminal = options->terminal_window };
}

/* The window that is open now; windows_open(). */
static Window open_window(const Watching *w, char **ret_why)
{
        const WindowLengths lengths = lengths_of(w);

        return windows_open(&w->windows, &lengths, manager_now(), ret_why);
}

/* The plan must be made safe again, with a new reading. */
static void decide_soon(Watching *w)
{
        ground_raise(w->ground, DUE_UNSAFE | DUE_TICK_SOON);
}

/* At once, with the reading that there is. */
static void decide_now(Watching *w)
{
        ground_raise(w->ground, DUE_UNSAFE | DUE_SAFETY);
}

static int on_close(sd_event_source *source, uint64_t usec, void *userdata);

static void set_close_timer(Watching *w)
{
        const WindowLengths lengths = lengths_of(w);

        timer_set_at(w->close, windows_close_at(&w->windows, &lengths, manager_now()));
}

/* What opened the window may be another unit now. The next plan names it. */
static void name_again(Watching *w)
{
        if (w->why)
                ground_raise(w->ground, DUE_UNSAFE);
}

/* idled makes some itself: "/idled.parked". */
static void on_made(const char *path, void *userdata)
{
        Watching *w = userdata;
        g_autofree char *name = log_clean(path), *what = g_strconcat("cgroup ", name, NULL);

        if (!options_of(w)->start_window || g_str_has_prefix(path, "/idled."))
                return;
        log_debug("New %s", what);
        windows_begun(&w->windows, what, manager_now());
        name_again(w);
}

/* The cgroups made while idled did not listen; when is not known. */
static void look_back_at_cgroups(Watching *w)
{
        if (w->cpusets && sd_event_source_get_enabled(w->groups.source, NULL) <= 0 &&
            cpuset_watch_read(w->cpusets, on_made, w))
                g_clear_pointer(&w->group_affinities, affinities_free);
}

/* Input while idled did not listen opens the window, or keeps it open. */
static void look_back(Watching *w)
{
        uint64_t now = manager_now(), real = (uint64_t)g_get_real_time(), last, ago;
        uint64_t listening = now - w->listens_usec;
        g_autofree char *name = NULL;

        if (w->close)
                look_back_at_cgroups(w);
        if (!w->close || !options_of(w)->terminal_window)
                return;
        last = terminals_last_input(w->ground->setup.root, real > listening ? real - listening : 0,
                                    real, &name);
        ago = real > last ? real - last : 0;
        if (last && ago < now - w->windows.input_usec)
                windows_input(&w->windows, name, now - ago);
}

static int on_close(sd_event_source *source, uint64_t usec, void *userdata)
{
        Watching *w = userdata;

        look_back(w);
        set_close_timer(w);
        if (open_window(w, NULL) == WINDOW_NONE)
                decide_soon(w);
        return 0;
}

/* A window opened or stays open longer. CPUs that are parked come back now. */
static void opened(Watching *w)
{
        set_close_timer(w);
        if (!cpuset_is_empty(w->parked))
                decide_now(w);
}

static bool is_own(const char *unit)
{
        return g_str_equal(unit, "idled.service") || g_str_has_prefix(unit, "idledpark.");
}

static void job_begins(Watching *w, const char *unit)
{
        const UnitCpus *known = unit_table_find(w->units, unit);

        if (!options_of(w)->start_window || (known && known->oneshot))
                return;
        log_debug("%s: systemd has a job for it", unit);
        windows_start(&w->windows, unit);
        opened(w);
}

/* It was no start, or is of no interest; the CPUs that are active stay so for as long as windows of
 * others are open. */
static void job_is_other(Watching *w, const char *unit)
{
        if (!windows_drop(&w->windows, unit))
                return;
        set_close_timer(w);
        name_again(w);
        if (open_window(w, NULL) == WINDOW_NONE)
                decide_soon(w);
}

static void started(Watching *w)
{
        name_again(w);
        opened(w);
}

void watching_unit_job(Watching *w, const char *unit, UnitJob job)
{
        if (is_own(unit))
                return;
        if (job == UNIT_JOB_BEGINS)
                job_begins(w, unit);
        else if (job == UNIT_JOB_OTHER)
                job_is_other(w, unit);
        else if (windows_started(&w->windows, unit, manager_now()))
                started(w);
}

/* What a unit says without idled. */
static UnitCpus without_ours(const Watching *w, const char *unit, const UnitCpus *cpus)
{
        const Knob *knob = knob_find(w->knobs, &park_unit_kind, unit)
                                   ?: knob_find(w->knobs, &park_kinds_kind, unit);
        UnitCpus own = *cpus;

        if (knob && knob->state == KNOB_OURS && knob->original &&
            cpuset_parse(knob->original, &own.allowed) < 0)
                own.allowed = (CpuSet){ 0 };
        return own;
}

static void units_forgotten(Watching *w)
{
        unit_table_clear(w->units);
        g_clear_pointer(&w->unit_affinities, affinities_free);
        w->listed = false;
        w->begun_usec = 0;
}

void watching_unit_cpus(Watching *w, const char *unit, const UnitCpus *cpus)
{
        UnitCpus own;

        if (!unit) {
                units_forgotten(w);
                return;
        }
        if (cpus)
                own = without_ours(w, unit, cpus);
        if (is_own(unit) || !unit_table_set(w->units, unit, cpus ? &own : NULL))
                return;
        g_clear_pointer(&w->unit_affinities, affinities_free);
        if (cpus && cpus->oneshot)
                job_is_other(w, unit);
        if (!w->listed)
                return;
        if (cpus && !cpuset_is_empty(w->parked))
                decide_now(w);
        else
                decide_soon(w);
}

void watching_units_listed(Watching *w, int error)
{
        if (error < 0 && error != -ENOTCONN)
                log_info("Failed to list systemd's units (%s): the CPUs that they need are not "
                         "known",
                         g_strerror(-error));
        w->listed = true;
        g_clear_pointer(&w->unit_affinities, affinities_free);
        decide_soon(w);
}

/* Waits for systemd to report which CPUs units need, from the first call on; false when it has, or
 * has had its time. */
static bool wait_for_units(Watching *w)
{
        uint64_t now = manager_now();

        if (w->listed)
                return false;
        if (!w->begun_usec)
                w->begun_usec = now;
        return now - w->begun_usec < UNITS_USEC;
}

static const Affinities *unit_affinities(Watching *w)
{
        if (!w->unit_affinities)
                w->unit_affinities = unit_table_affinities(w->units, w->machine->topology);
        return w->unit_affinities;
}

/* Logs an error of the kubelet's state once. */
static void note_kubelet(Watching *w, int error)
{
        if (error < 0 && error != w->kubelet_error)
                log_warning("/" KUBELET_DIR "/" KUBELET_STATE " cannot be read (%s): all CPUs stay "
                            "active until it can",
                            g_strerror(-error));
        w->kubelet_error = error;
}

static const Affinities *group_affinities(Watching *w)
{
        g_autoptr(GPtrArray) ours = NULL;

        if (w->group_affinities)
                return w->group_affinities;
        ours = refusals_own_groups(w->ground, w->knobs);
        w->group_affinities = g_new0(Affinities, 1);
        note_kubelet(w, cpusets_read(w->ground->setup.root, w->machine->topology,
                                     (const char *const *)ours->pdata, w->group_affinities));
        return w->group_affinities;
}

/* While systemd does not report units, all may be. */
static bool is_loaded(const char *unit, const void *userdata)
{
        const Watching *w = userdata;

        return !w->listed || !w->follows || unit_table_find(w->units, unit);
}

bool watching_dependents(Watching *w, bool fresh, bool follows, Dependents *ret_who)
{
        if (fresh) {
                g_clear_pointer(&w->group_affinities, affinities_free);
                g_clear_pointer(&w->unit_affinities, affinities_free);
        }
        g_clear_pointer(&w->why, g_free);
        w->follows = follows;
        open_window(w, &w->why);
        set_close_timer(w); /* the options may be others than when the window opened */
        *ret_who = (Dependents){
                .units = unit_affinities(w),
                .groups = group_affinities(w),
                .refused = refusals_affinities(w->refusals, is_loaded, w),
                .window = w->why,
        };
        return !follows || !wait_for_units(w);
}

bool watching_has_window(const Watching *w)
{
        return open_window(w, NULL) != WINDOW_NONE;
}

bool watching_find_window(Watching *w)
{
        if (!watching_has_window(w))
                look_back(w);
        return watching_has_window(w);
}

const char *watching_window_option(const Watching *w)
{
        Window open = open_window(w, NULL);

        return open == WINDOW_TERMINAL ? "TerminalWindow" : "StartWindow";
}

/* -EMFILE is also the limit of descriptors of a process, which idled is far from. */
static const char *unwatched_reason(int error)
{
        if (error == -EMFILE)
                return "no inotify instance is left; see sysctl fs.inotify.max_user_instances";
        if (error == -ENOSPC)
                return "no inotify watch is left; see sysctl fs.inotify.max_user_watches";
        return missing_reason(error);
}

const char *watching_terminals_unwatched(const Watching *w)
{
        return w->input.error && options_of(w)->terminal_window ? unwatched_reason(w->input.error)
                                                                : NULL;
}

const char *watching_cpusets_unwatched(const Watching *w)
{
        return w->groups.error ? unwatched_reason(w->groups.error) : NULL;
}

/* Logs an error once. There may be nothing to watch. */
static void note_error(Watching *w, Listener *listener, int error)
{
        if (error == -ENOENT)
                error = 0;
        if (error == listener->error)
                return;
        listener->error = error;
        if (error < 0)
                log_warning("Failed to watch %s (%s): %s", listener->what, unwatched_reason(error),
                            listener->effect);
        else
                log_info("Watching %s again", listener->what);
        ground_raise(w->ground, CHANGE_MISSING);
}

static int on_terminal(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Watching *w = userdata;
        g_autofree char *name = terminals_read(w->terminals);

        note_error(w, &w->input, terminals_error(w->terminals));
        if (!name || !options_of(w)->terminal_window)
                return 0;
        log_debug("Input to terminal %s", name);
        sd_event_source_set_enabled(source, SD_EVENT_OFF);
        windows_input(&w->windows, name, manager_now());
        opened(w);
        return 0;
}

/* Cgroups are read again a moment later, and the plan is carried out again: a partition may have
 * become invalid by what a neighbour got. */
static int on_groups(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Watching *w = userdata;
        uint64_t before = w->windows.started_usec;
        bool changed = cpuset_watch_read(w->cpusets, on_made, w);

        if (w->windows.started_usec != before)
                opened(w);
        note_error(w, &w->groups, cpuset_watch_error(w->cpusets));
        if (changed && sd_event_source_get_enabled(w->groups_settle, NULL) <= 0)
                timer_set_in(w->groups_settle, SETTLE_USEC);
        return 0;
}

static int on_groups_settled(sd_event_source *source, uint64_t usec, void *userdata)
{
        Watching *w = userdata;

        log_debug("Cpusets of cgroups changed");
        g_clear_pointer(&w->group_affinities, affinities_free);
        ground_raise(w->ground, DUE_STALE | DUE_TICK_SOON);
        return 0;
}

static void watch_terminals(Watching *w)
{
        int r = terminals_new(w->ground->setup.root, &w->terminals);

        if (r >= 0)
                r = sd_event_add_io(w->ground->event, &w->input.source, terminals_fd(w->terminals),
                                    EPOLLIN, on_terminal, w);
        note_error(w, &w->input, r < 0 ? r : terminals_error(w->terminals));
        if (r < 0)
                g_clear_pointer(&w->terminals, terminals_free);
}

static void watch_cpusets(Watching *w)
{
        int r = cpuset_watch_new(w->ground->setup.root, &w->cpusets);

        if (r >= 0)
                r = sd_event_add_io(w->ground->event, &w->groups.source,
                                    cpuset_watch_fd(w->cpusets), EPOLLIN, on_groups, w);
        note_error(w, &w->groups, r < 0 ? r : cpuset_watch_error(w->cpusets));
        if (r < 0)
                g_clear_pointer(&w->cpusets, cpuset_watch_free);
}

/* Turns the listener on or off. True: it is on now and was not before. */
static bool listener_turn(Listener *listener, bool on)
{
        if (!listener->source || on == (sd_event_source_get_enabled(listener->source, NULL) > 0))
                return false;
        sd_event_source_set_enabled(listener->source, on ? SD_EVENT_ON : SD_EVENT_OFF);
        return on;
}

/* What was not watched is tried again. What happened while nothing was parked is of no interest. */
static void follow_input(Watching *w, bool wanted)
{
        if (wanted && !w->terminals)
                watch_terminals(w);
        if (!listener_turn(&w->input, wanted))
                return;
        terminals_retry(w->terminals);
        g_free(terminals_read(w->terminals));
        note_error(w, &w->input, terminals_error(w->terminals));
}

static void follow_cpusets(Watching *w, bool wanted)
{
        if (wanted && !w->cpusets)
                watch_cpusets(w);
        if (!listener_turn(&w->groups, wanted))
                return;
        cpuset_watch_retry(w->cpusets);
        cpuset_watch_read(w->cpusets, NULL, NULL);
        note_error(w, &w->groups, cpuset_watch_error(w->cpusets));
}

void watching_follow(Watching *w, const CpuSet *widest)
{
        bool parked = !cpuset_is_empty(w->parked);

        if (!w->close)
                return;
        follow_input(w, parked && options_of(w)->terminal_window > 0 &&
                                cpuset_intersects(w->parked, widest));
        follow_cpusets(w, parked);
        if (w->ground->setup.live)
                refusals_follow(w->refusals, w->machine->topology, w->parked);
}

void watching_rest(Watching *w)
{
        if (cpuset_is_empty(w->parked))
                refusals_rest(w->refusals);
}

Refusals *watching_refusals(const Watching *w)
{
        return w->refusals;
}

Watching *watching_new(Ground *ground, const MachineFacts *machine, const Knobs *knobs,
                       const CpuSet *parked)
{
        Watching *w = g_new0(Watching, 1);

        w->ground = ground;
        w->machine = machine;
        w->knobs = knobs;
        w->parked = parked;
        w->input = (Listener){ .what = "input to terminals",
                               .effect = "what a user starts there may see only the active CPUs" };
        w->groups = (Listener){
                .what = "cpusets of cgroups",
                .effect = "one that changes may have only parked CPUs until idled parks again, and "
                          "programs that start in a new one may see only the active CPUs",
        };
        w->refusals = refusals_new(ground, knobs);
        w->units = unit_table_new();
        windows_init(&w->windows);
        return w;
}

int watching_listen(Watching *w)
{
        sd_event *event = w->ground->event;
        int r;

        w->listens_usec = manager_now();
        r = timer_add(event, &w->close, 0, on_close, w);
        if (r >= 0)
                r = timer_add(event, &w->groups_settle, SETTLE_USEC, on_groups_settled, w);
        return r;
}

void watching_unlisten(Watching *w)
{
        w->close = sd_event_source_disable_unref(w->close);
        w->input.source = sd_event_source_disable_unref(w->input.source);
        w->groups.source = sd_event_source_disable_unref(w->groups.source);
        w->groups_settle = sd_event_source_disable_unref(w->groups_settle);
}

void watching_free(Watching *w)
{
        if (!w)
                return;
        watching_unlisten(w);
        refusals_free(w->refusals);
        terminals_free(w->terminals);
        cpuset_watch_free(w->cpusets);
        affinities_free(w->unit_affinities);
        affinities_free(w->group_affinities);
        unit_table_free(w->units);
        windows_done(&w->windows);
        g_free(w->why);
        g_free(w);
}
