/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Refused affinities, as they happen.
 *
 * 1. While CPUs are parked a BPF program reports calls of sched_setaffinity(2) that failed with
 *    EINVAL (bpf/refused.h). Parking comes and goes: the program stays until idled rests.
 * 2. A call counts if it asked for online CPUs, all of them were parked since the program was
 *    loaded, and the cpusets of its cgroups permit one of them. Other calls also fail without
 *    idled.
 * 3. Its CPUs become active at once.
 * 4. The services are kept in a file, because what harms once must not harm again after a restart.
 */
#include "manager/refusals.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "act/park/park.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "bpf/refused.h"
#include "model/cgroup-unit.h"
#include "sense/cpusets.h"
#include "sense/process-facts.h"

#define FILE_NAME "refused"

struct Refusals {
        Ground *ground;
        const Knobs *knobs;
        RefusedTable *table;
        Affinities *affinities; /* that the plan was made with; NULL: none was */

        RefusedWatch *watch; /* NULL: nothing is watched */
        sd_event_source *source;
        int error, save_error;
        CpuSet online, parked; /* since it watches: all that were parked */

        GHashTable *exits; /* pid -> sd_event_source: reports the exit of the process */
        sd_event_source *expiry;
        LogLimit limit;
};

static char *path_of(const Refusals *refusals)
{
        const char *state = refusals->ground->setup.state;

        return state ? g_build_filename(state, FILE_NAME, NULL) : NULL;
}

static void recall(Refusals *refusals)
{
        g_autofree char *path = path_of(refusals), *text = NULL;
        unsigned skipped;
        int r;

        if (!path)
                return;
        r = file_read_regular(path, &text);
        if (r == -ENOENT)
                return;
        if (r < 0) {
                log_error_errno(r,
                                "Failed to read %s: %m; services that were refused CPUs before "
                                "are not known",
                                path);
                return;
        }
        skipped = refused_parse(refusals->table, text);
        if (skipped > 0)
                log_warning("%s: ignored %u %s, expected \"SERVICE CPUS PROGRAM\"", path, skipped,
                            skipped == 1 ? "line" : "lines");
}

/* Without waiting for the disk: after a power cut a service may be refused its CPUs once more. */
static void save(Refusals *refusals)
{
        g_autofree char *path = path_of(refusals), *text = refused_format(refusals->table);
        const ManagerSetup *setup = &refusals->ground->setup;
        int r = path && !setup->dry_run ? file_replace(setup->state, path, text) : 0;

        if (r < 0 && r != refusals->save_error)
                log_error_errno(r,
                                "Failed to write %s: %m; after a restart services may be "
                                "refused CPUs again",
                                path);
        refusals->save_error = MIN(r, 0);
}

static int on_expiry(sd_event_source *source, uint64_t usec, void *userdata);

static void set_expiry(Refusals *refusals)
{
        int r = refusals->expiry ? 0
                                 : timer_add(refusals->ground->event, &refusals->expiry,
                                             G_USEC_PER_SEC / 4, on_expiry, refusals);

        if (r < 0)
                log_error_errno(r, "Failed to create a timer: %m");
        else
                timer_set_at(refusals->expiry, refused_expires_at(refusals->table));
}

static int on_expiry(sd_event_source *source, uint64_t usec, void *userdata)
{
        Refusals *refusals = userdata;

        if (refused_expire(refusals->table, manager_now()))
                ground_raise(refusals->ground, CHANGE_REFUSED | DUE_UNSAFE | DUE_TICK_SOON);
        set_expiry(refusals);
        return 0;
}

static int on_exit_of(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Refusals *refusals = userdata;
        GHashTableIter iter;
        gpointer pid, known;

        g_hash_table_iter_init(&iter, refusals->exits);
        while (g_hash_table_iter_next(&iter, &pid, &known))
                if (known == source) {
                        refused_exited(refusals->table, GPOINTER_TO_INT(pid));
                        g_hash_table_iter_remove(&iter);
                        break;
                }
        set_expiry(refusals);
        return 0;
}

/* True if the process is there, and its exit will be reported. */
static bool follow_process(Refusals *refusals, pid_t pid)
{
        sd_event_source *source = NULL;
        int fd;

        if (g_hash_table_contains(refusals->exits, GINT_TO_POINTER(pid)))
                return true;
        fd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (fd < 0)
                return false;
        if (sd_event_add_io(refusals->ground->event, &source, fd, EPOLLIN, on_exit_of, refusals) <
            0) {
                close(fd);
                return false;
        }
        sd_event_source_set_io_fd_own(source, true);
        g_hash_table_insert(refusals->exits, GINT_TO_POINTER(pid), source);
        return true;
}

/* Adds the cgroups whose lists idled wrote by knobs of this kind. */
static void add_groups(const Knobs *all, const KnobKind *kind, GPtrArray *groups)
{
        const Knob *const *knobs;

        for (int i = 0, n = knobs_list(all, &knobs); i < n; i++)
                if (knobs[i]->kind == kind && knobs[i]->state == KNOB_OURS)
                        g_ptr_array_add(groups, g_strconcat("/", knobs[i]->name, NULL));
}

GPtrArray *refusals_own_groups(const Ground *ground, const Knobs *knobs)
{
        GPtrArray *ours = g_ptr_array_new_with_free_func(g_free);

        add_groups(knobs, &park_unit_kind, ours);
        add_groups(knobs, &park_cgroup_kind, ours);
        add_groups(knobs, &park_kinds_kind, ours);
        for (guint i = 0; i < ground->unit_kinds->len; i++) {
                const UnitKinds *unit = g_ptr_array_index(ground->unit_kinds, i);
                const Knob *knob = unit->cgroup ? knob_find(knobs, &park_kinds_kind,
                                                            unit_kinds_name(unit))
                                                : NULL;

                if (knob && knob->state == KNOB_OURS)
                        g_ptr_array_add(ours, g_strdup(unit->cgroup));
        }
        g_ptr_array_add(ours, g_strdup("/idledpark.slice"));
        g_ptr_array_add(ours, g_strdup("/idled.parked"));
        g_ptr_array_add(ours, NULL);
        return ours;
}

static bool is_kernel_thread(int root, pid_t pid)
{
        _fd_ int proc = openat(root, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ProcessFacts facts;
        int r;

        process_facts_init(&facts, pid);
        r = proc < 0 ? 0 : process_facts_read(proc, PROCESS_FACT_EXECUTABLE, &facts);
        return r == -ENOENT || r == -ESRCH;
}

/* True if thread `target` (0: the caller) could have one of the CPUs if idled had parked none:
 * kernel threads refuse any. `path`: the caller's cgroup, such as "/a.slice/b.service"; NULL: not
 * known. */
static bool permits(const Refusals *refusals, const char *path, pid_t target, const CpuSet *cpus)
{
        g_autoptr(GPtrArray) ours = refusals_own_groups(refusals->ground, refusals->knobs);
        int root = refusals->ground->setup.root;

        if (target != 0 && is_kernel_thread(root, target))
                return false;
        return !path || cpusets_permit(root, (const char *const *)ours->pdata, path, cpus);
}

/* The CPUs of the call that idled had parked; false: it would fail without idled, too. */
static bool is_ours(const Refusals *refusals, const struct refused_call *call, CpuSet *ret_cpus)
{
        g_autofree char *path = cgroup_path_of_names(call->path, call->path_size, call->whole);

        memcpy(ret_cpus->bits, call->cpus, sizeof(ret_cpus->bits));
        cpuset_and(ret_cpus, &refusals->online);
        return !cpuset_is_empty(ret_cpus) && cpuset_is_subset(ret_cpus, &refusals->parked) &&
               permits(refusals, call->whole ? path : NULL, (pid_t)call->target, ret_cpus);
}

static void report(Refusals *refusals, const Refused *refused, const CpuSet *cpus)
{
        g_autofree char *text = cpuset_format(cpus);
        g_autofree char *where = refused->unit ? g_strdup(refused->unit)
                                               : g_strdup_printf("user %u", (unsigned)refused->uid);

        log_limited(&refusals->limit,
                    "sched_setaffinity() of %s (PID %d, %s) to CPU%s %s failed, because idled had "
                    "parked %s; idled keeps %s active while the %s",
                    refused->program, (int)refused->pid, where, cpuset_count(cpus) > 1 ? "s" : "",
                    text, cpuset_count(cpus) > 1 ? "them" : "it",
                    cpuset_count(cpus) > 1 ? "them" : "it",
                    refused->unit ? "unit is loaded" : "process runs");
}

/* True if CPUs must be active because of the call. */
static bool take(Refusals *refusals, const struct refused_call *call)
{
        g_autofree char *unit = call->whole ? refused_unit(call->path, call->path_size) : NULL;
        Refused refusal = { .unit = unit,
                            .program = (char *)call->program,
                            .uid = call->uid,
                            .pid = (pid_t)call->pid };
        const Refused *noted;
        bool is_new = false;

        if (!is_ours(refusals, call, &refusal.cpus))
                return false;
        refusal.alive = follow_process(refusals, refusal.pid);
        noted = refused_note(refusals->table, &refusal, manager_now(), &is_new);
        if (!refused_has_process(refusals->table, refusal.pid))
                g_hash_table_remove(refusals->exits, GINT_TO_POINTER(refusal.pid));
        if (!noted) {
                log_debug("Ignoring refused affinities of user %u for a while",
                          (unsigned)refusal.uid);
                return false;
        }
        if (is_new)
                report(refusals, noted, &refusal.cpus);
        if (is_new && noted->unit)
                save(refusals);
        return true;
}

static int on_refused(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Refusals *refusals = userdata;
        const struct refused_call *call;
        uint64_t before = refused_total(refusals->table);
        bool any = false;

        while ((call = refused_watch_next(refusals->watch)))
                any |= take(refusals, call);
        if (any) {
                set_expiry(refusals);
                ground_raise(refusals->ground, DUE_UNSAFE | DUE_SAFETY);
        }
        if (refused_total(refusals->table) > before)
                ground_raise(refusals->ground, CHANGE_REFUSED);
        return 0;
}

static int watch(Refusals *refusals, int n_cpus)
{
        int r = refused_watch_new(n_cpus, &refusals->watch);

        if (r >= 0)
                r = sd_event_add_io(refusals->ground->event, &refusals->source,
                                    refused_watch_fd(refusals->watch), EPOLLIN, on_refused,
                                    refusals);
        if (r < 0)
                g_clear_pointer(&refusals->watch, refused_watch_free);
        return r;
}

void refusals_follow(Refusals *refusals, const Topology *topology, const CpuSet *parked)
{
        int before = refusals->error;

        if (cpuset_is_empty(parked))
                return;
        refusals->online = topology->online;
        if (!refusals->watch) {
                refusals->parked = (CpuSet){ 0 };
                refusals->error = MIN(watch(refusals, topology->n_cpus), 0);
        }
        cpuset_or(&refusals->parked, parked);
        if (refusals->error == before)
                return;
        if (refusals->error < 0)
                log_info("Failed to watch refused affinities (%s): programs that are refused a "
                         "parked CPU go unseen",
                         g_strerror(-refusals->error));
        ground_raise(refusals->ground, CHANGE_MISSING);
}

void refusals_rest(Refusals *refusals)
{
        refusals->source = sd_event_source_disable_unref(refusals->source);
        g_clear_pointer(&refusals->watch, refused_watch_free);
}

int refusals_error(const Refusals *refusals)
{
        return refusals->error;
}

const RefusedTable *refusals_table(const Refusals *refusals)
{
        return refusals->table;
}

const Affinities *refusals_affinities(Refusals *refusals,
                                      bool (*loaded)(const char *unit, const void *userdata),
                                      const void *userdata)
{
        affinities_free(refusals->affinities);
        refusals->affinities = refused_affinities(refusals->table, loaded, userdata);
        return refusals->affinities;
}

unsigned refusals_forget(Refusals *refusals, const char *unit)
{
        unsigned n = refused_forget(refusals->table, unit);

        if (n == 0)
                return 0;
        save(refusals);
        ground_raise(refusals->ground, CHANGE_REFUSED | DUE_UNSAFE | DUE_TICK_SOON);
        return n;
}

static void unref_source(void *source)
{
        sd_event_source_disable_unref(source);
}

Refusals *refusals_new(Ground *ground, const Knobs *knobs)
{
        Refusals *refusals = g_new0(Refusals, 1);

        refusals->ground = ground;
        refusals->knobs = knobs;
        refusals->table = refused_table_new();
        refusals->exits = g_hash_table_new_full(NULL, NULL, NULL, unref_source);
        recall(refusals);
        return refusals;
}

void refusals_free(Refusals *refusals)
{
        if (!refusals)
                return;
        refusals_rest(refusals);
        sd_event_source_disable_unref(refusals->expiry);
        g_hash_table_unref(refusals->exits);
        affinities_free(refusals->affinities);
        refused_table_free(refusals->table);
        g_free(refusals);
}
