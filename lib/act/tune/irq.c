/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Interrupts kept off parked CPUs.
 *
 * Where irqbalance runs, interrupts are left to it, and idled restores the affinities that it
 * changed before. Else idled takes parked CPUs out of the affinity of every interrupt that has a
 * handler; where nothing is left, the CPUs for ordinary work are its affinity.
 * Interrupts that drivers request meanwhile begin with default_smp_affinity, and those that come
 * all the same are found when the plan is carried out again, after a minute at the latest.
 *
 * Many interrupts cannot be moved, which is normal: the kernel manages those of queues that a CPU
 * has of its own (EIO on 6.1; on 6.12 their files are read-only, EACCES, or the write fails with
 * EPERM), and a CPU has room for some 200 vectors (ENOSPC). They are counted, and not tried again:
 * the former as long as they exist, the latter until other CPUs are parked.
 */
#include <errno.h>
#include <stdio.h>

#include "act/tune/quiet.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/number.h"

#define DIRECTORY "proc/irq/"
#define AFFINITY  "smp_affinity_list"
#define DEFAULT   "default_smp_affinity"

typedef struct State {
        ActContext context;
        bool manage, balanced; /* balanced: irqbalance runs */
        char **exclude;
        GHashTable *refused; /* number -> negative errno of moving it */
        CpuSet resting;      /* of the last plan */
        char *about;
} State;

/* Numbers and the default are paths from DIRECTORY. */
static int irq_read(const ActContext *context, const char *name, char **ret_value)
{
        g_autofree char *path = g_strconcat(DIRECTORY, name, NULL);

        return path_is_below(name) ? file_read(context->root, path, ret_value) : -ENOENT;
}

static int irq_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *path = g_strconcat(DIRECTORY, name, NULL);

        return path_is_below(name) ? file_write(context->root, path, value) : -ENOENT;
}

static bool equal_lists(const char *a, const char *b)
{
        CpuSet x, y;

        return cpuset_parse(a, &x) >= 0 && cpuset_parse(b, &y) >= 0 && cpuset_equal(&x, &y);
}

/* The kernel gives an interrupt all CPUs when those that it may go to are offline. */
static bool irq_held(const ActContext *context, const char *name, const char *wanted,
                     const char *now)
{
        g_autofree char *text = NULL;
        CpuSet cpus, online;

        return cpuset_parse(wanted, &cpus) >= 0 &&
               file_read(context->root, TUNE_DIR "online", &text) >= 0 &&
               cpuset_parse(text, &online) >= 0 && !cpuset_intersects(&cpus, &online);
}

static const KnobKind irq_kind = {
        .name = "irq",
        .read = irq_read,
        .write = irq_write,
        .dir = DIRECTORY,
        .write_apart = true, /* these files cannot be written with pwrite(2) */
        .equal = equal_lists,
        .held = irq_held,
};

static const KnobKind default_kind = {
        .name = "irq-default",
        .read = irq_read,
        .write = irq_write,
        .dir = DIRECTORY,
        .write_apart = true, /* these files cannot be written with pwrite(2) */
        .identity = quiet_identity,
        .equal = quiet_equal_number,
};

static int open_irq(const ActContext *context, const void *data, void **ret_state)
{
        const InterruptOptions *options = data;
        State *state;

        if (faccessat(context->root, DIRECTORY, F_OK, 0) < 0)
                return -ENOENT;
        state = g_new0(State, 1);
        state->context = *context;
        state->manage = options->manage;
        state->exclude = g_strdupv(options->exclude);
        state->refused = g_hash_table_new(NULL, NULL);
        *ret_state = state;
        return 0;
}

static void close_irq(void *data)
{
        State *state = data;

        g_hash_table_unref(state->refused);
        g_strfreev(state->exclude);
        g_free(state->about);
        g_free(state);
}

/* The names of the interrupt's handlers, "virtio0-input.0,eth0", as a new string; "": it has none;
 * NULL: not known. */
static char *handlers_of(const State *state, int number)
{
        g_autofree char *path = g_strdup_printf("sys/kernel/irq/%d/actions", number);
        char *names = NULL;

        return file_read(state->context.root, path, &names) < 0 ? NULL : names;
}

static bool is_excluded(const State *state, int number, const char *handlers)
{
        g_auto(GStrv) names = g_strsplit(handlers ?: "", ",", -1);
        char text[16];

        snprintf(text, sizeof(text), "%d", number);
        for (char **glob = state->exclude; *glob; glob++) {
                if (g_pattern_match_simple(*glob, text))
                        return true;
                for (char **name = names; *name; name++)
                        if (g_pattern_match_simple(*glob, *name))
                                return true;
        }
        return false;
}

/* The new affinity of the interrupt, as a new string; NULL: its own. */
static char *affinity_of(const State *state, const Knobs *knobs, const Topology *topology,
                         int number, const char *name)
{
        g_autofree char *original = NULL, *handlers = NULL;
        const Knob *knob = knob_find(knobs, &irq_kind, name);
        CpuSet found, cpus;

        if (g_hash_table_contains(state->refused, GINT_TO_POINTER(number)))
                return NULL;
        handlers = handlers_of(state, number);
        if ((!knob && handlers && !*handlers) || is_excluded(state, number, handlers) ||
            knob_original(knobs, &irq_kind, name, &original) < 0 ||
            cpuset_parse(original, &found) < 0 ||
            !quiet_cpus(&found, &state->resting, topology, &cpus))
                return NULL;
        return cpuset_format(&cpus);
}

/* Numbers of all interrupts. */
static GArray *list_interrupts(const State *state)
{
        _dir_ DIR *dir = dir_open(state->context.root, DIRECTORY);
        GArray *numbers = g_array_new(FALSE, FALSE, sizeof(int));
        struct dirent *entry;
        int number;

        while (dir && (entry = readdir(dir)))
                if (int_parse(entry->d_name, &number) == 0)
                        g_array_append_val(numbers, number);
        return numbers;
}

static void free_change(void *data)
{
        KnobChange *change = data;

        g_free((char *)change->name);
        g_free((char *)change->value);
}

static bool cannot_be_moved(int error)
{
        return error == -EIO || error == -EPERM || error == -EACCES || error == -ENOSPC ||
               error == -EINVAL;
}

/* Takes one that cannot be moved off the list of knobs, with what it had. Returns the error if it
 * is one of other kinds. */
static int note_result(State *state, Knobs *knobs, const KnobChange *change)
{
        int number = 0;

        if (change->result >= 0 || change->result == -ESTALE || change->result == -ENOENT)
                return 0;
        if (!change->value || !cannot_be_moved(change->result))
                return change->result;
        sscanf(change->name, "%d", &number);
        g_hash_table_insert(state->refused, GINT_TO_POINTER(number),
                            GINT_TO_POINTER(change->result));
        knob_release(knobs, &irq_kind, change->name);
        return 0;
}

/* As a GHRFunc: of a number, a value and a GArray of numbers. */
static gboolean is_gone(void *number, void *value, void *data)
{
        const GArray *numbers = data;

        for (guint i = 0; i < numbers->len; i++)
                if (g_array_index(numbers, int, i) == GPOINTER_TO_INT(number))
                        return FALSE;
        return TRUE;
}

/* Knobs of interrupts that do not exist any more are forgotten when they are released. */
static void add_gone(const Knobs *knobs, GArray *numbers, GArray *changes)
{
        const Knob *const *list;
        int number;

        for (int i = knobs_list(knobs, &list); i-- > 0;)
                if (list[i]->kind == &irq_kind && sscanf(list[i]->name, "%d", &number) == 1 &&
                    is_gone(GINT_TO_POINTER(number), NULL, numbers)) {
                        KnobChange change = { .kind = &irq_kind, .name = g_strdup(list[i]->name) };

                        g_array_append_val(changes, change);
                }
}

static int move_interrupts(State *state, Knobs *knobs, const Topology *topology)
{
        g_autoptr(GArray) numbers = list_interrupts(state);
        g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(KnobChange));
        int first = 0;

        g_array_set_clear_func(changes, free_change);
        g_hash_table_foreach_remove(state->refused, is_gone, numbers);
        for (guint i = 0; i < numbers->len; i++) {
                int number = g_array_index(numbers, int, i);
                KnobChange change = { .kind = &irq_kind,
                                      .name = g_strdup_printf("%d/" AFFINITY, number) };

                change.value = affinity_of(state, knobs, topology, number, change.name);
                if (change.value || knob_find(knobs, &irq_kind, change.name))
                        g_array_append_val(changes, change);
                else
                        free_change(&change);
        }
        add_gone(knobs, numbers, changes);
        knobs_set(knobs, (KnobChange *)changes->data, changes->len);
        for (guint i = 0; i < changes->len; i++)
                first = first ?: note_result(state, knobs, &g_array_index(changes, KnobChange, i));
        return first;
}

/* irqbalance owns them now, also those that it has changed already. */
static void hand_over(Knobs *knobs)
{
        const Knob *const *list;

        quiet_release(knobs, &irq_kind);
        for (int i = knobs_list(knobs, &list); i-- > 0;) {
                g_autofree char *name = NULL;

                if (list[i]->kind != &irq_kind || list[i]->state != KNOB_FOREIGN)
                        continue;
                name = g_strdup(list[i]->name);
                knobs_drop(knobs, &irq_kind, name);
        }
}

static int set_default(const State *state, Knobs *knobs, const Topology *topology)
{
        g_autofree char *original = NULL, *value = NULL;
        CpuSet found, cpus;
        int r;

        if (knob_original(knobs, &default_kind, DEFAULT, &original) < 0 ||
            cpuset_parse_mask(original, &found) < 0)
                return 0;
        if (quiet_cpus(&found, &state->resting, topology, &cpus))
                value = cpuset_format_mask(&cpus);
        r = value ? knob_set(knobs, &default_kind, DEFAULT, value)
                  : knob_release(knobs, &default_kind, DEFAULT);
        return r == -ESTALE ? 0 : MIN(r, 0);
}

/* ENOSPC may be another answer for other CPUs. */
static gboolean may_fit_now(void *number, void *error, void *data)
{
        return GPOINTER_TO_INT(error) == -ENOSPC;
}

static int release_all(Knobs *knobs)
{
        int first = quiet_release(knobs, &irq_kind);

        return first ?: quiet_release(knobs, &default_kind);
}

/* The name of its socket has its PID. */
static bool irqbalance_runs(const ActContext *context)
{
        _dir_ DIR *dir = dir_open(context->root, "run/irqbalance");
        struct dirent *entry;
        int pid;

        while (dir && (entry = readdir(dir))) {
                g_autofree char *process = NULL;

                if (sscanf(entry->d_name, "irqbalance%d.sock", &pid) != 1)
                        continue;
                process = g_strdup_printf("proc/%d", pid);
                if (faccessat(context->root, process, F_OK, 0) == 0)
                        return true;
        }
        return false;
}

static int apply_irq(void *data, Knobs *knobs, const Plan *plan, const ActFacts *facts)
{
        State *state = data;
        CpuSet resting = { 0 };
        int first, r = 0;

        if (state->manage && plan->quiet.interrupts)
                resting = plan->resting;
        if (!cpuset_equal(&resting, &state->resting))
                g_hash_table_foreach_remove(state->refused, may_fit_now, NULL);
        state->resting = resting;
        state->balanced = false;
        if (cpuset_is_empty(&resting))
                return release_all(knobs);
        first = set_default(state, knobs, facts->topology);
        state->balanced = irqbalance_runs(&state->context);
        if (!state->balanced)
                r = move_interrupts(state, knobs, facts->topology);
        else if (!knobs_is_dry_run(knobs))
                hand_over(knobs);
        return first ?: MIN(r, 0);
}

/* An interrupt may have gone and come back as another one. */
static void forget_irq(void *data, Knobs *knobs, const CpuSet *returned)
{
        State *state = data;

        if (!cpuset_is_empty(returned))
                g_hash_table_remove_all(state->refused);
}

static bool same_irq(const Plan *a, const Plan *b)
{
        return a->quiet.interrupts == b->quiet.interrupts && cpuset_equal(&a->resting, &b->resting);
}

static const char *describe_irq(void *data)
{
        State *state = data;
        unsigned managed = 0, full = 0;
        GHashTableIter i;
        GString *text;
        void *error;

        if (!state->manage)
                return "left alone, since Manage= of [Interrupts] is no";
        g_hash_table_iter_init(&i, state->refused);
        while (g_hash_table_iter_next(&i, NULL, &error)) {
                full += GPOINTER_TO_INT(error) == -ENOSPC;
                managed += GPOINTER_TO_INT(error) != -ENOSPC;
        }
        text = g_string_new("affinity of interrupts");
        if (state->balanced)
                g_string_append(text, ", left to irqbalance");
        if (managed)
                g_string_append_printf(text, "; %u cannot be moved: the kernel manages them",
                                       managed);
        if (full)
                g_string_append_printf(text, "; %u found no free vector", full);
        g_free(state->about);
        state->about = g_string_free(text, FALSE);
        return state->about;
}

static const KnobKind *const kinds[] = { &irq_kind, &default_kind, NULL };

const Actuator actuator_irq = {
        .name = "irq",
        .section = "Interrupts",
        .kinds = kinds,
        .open = open_irq,
        .apply = apply_irq,
        .forget = forget_irq,
        .same = same_irq,
        .describe = describe_irq,
        .close = close_irq,
};
