/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sleep ledger's module: loads the BPF programs, and reads what they counted.
 *
 * A reader swaps the halves of the tables, waits until no program works on the one that rests, adds
 * it to the totals and clears it. So no sleep is lost or counted twice, however many there are, and
 * the causes of a half are those of its sleeps.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/clock.h"
#include "bpf/ledger.h"
#include "sleeps.skel.h"

#define CAUSES_PER_CPU 1024
#define CAUSES_LEAST   8192
#define CAUSES_MOST    131072
#define RECORDS_BYTES  (1u << 20) /* for each of up to RECORDS_CPUS CPUs: 8 s of 1000 sleeps */
#define RECORDS_CPUS   32
#define LONGEST_NS     60000000000u /* what begins later does not wait for longer sleeps */
#define CHOICE_NS      10000000u    /* a governor has entered the state that it chose by then */

struct Ledger {
        struct sleeps_bpf *programs;
        struct ring_buffer *ring;
        GString *missing;
        int n_cpus;
        size_t sleepers_size, sleeps_size, latencies_size; /* of the mappings */
        struct sleeper *sleepers;
        struct sleep_stats *sleeps, *latencies;
        uint64_t began_ns, ended_ns; /* 0: it has not ended */
        bool with_events, with_causes;
        uint32_t *polling; /* by CPU, masks of states */

        struct sleeper *current;
        struct sleep_stats *sleeps_total, *latencies_total;
        GHashTable *causes_total; /* struct cause_key -> struct cause_value */
        GHashTable *functions;    /* uint64_t -> name */
        GHashTable *units;        /* uint64_t -> name */
        GArray *causes;           /* LedgerCause, of the last reading */

        LedgerRecord take;
        void *take_data;
};

static GString *complaints; /* libbpf's, while programs are being loaded */

static int hear(enum libbpf_print_level level, const char *format, va_list arguments)
{
        if (complaints && level == LIBBPF_WARN)
                g_string_append_vprintf(complaints, format, arguments);
        return 0;
}

static guint hash_bytes(const void *data, size_t size)
{
        const uint8_t *bytes = data;
        guint hash = 5381;

        for (size_t i = 0; i < size; i++)
                hash = hash * 33 + bytes[i];
        return hash;
}

static guint key_hash(gconstpointer key)
{
        return hash_bytes(key, sizeof(struct cause_key));
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
        return memcmp(a, b, sizeof(struct cause_key)) == 0;
}

/* What the kernel offers, by the names of its types. */
static bool kernel_has(const struct btf *kernel, const struct bpf_program *program)
{
        const char *section = bpf_program__section_name(program);
        const char *name = strchr(section, '/') + 1;
        g_autofree char *type = g_strconcat("btf_trace_", name, NULL);

        if (g_str_has_prefix(section, "fexit/"))
                return btf__find_by_name_kind(kernel, name, BTF_KIND_FUNC) > 0;
        return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

static bool is_watch_of_governor(const struct bpf_program *program)
{
        return g_str_has_prefix(bpf_program__section_name(program), "fexit/");
}

static bool has_events(const LedgerConfig *config)
{
        return config->causes || config->latencies || config->records;
}

/* Switches off what the kernel does not have and what is not asked for. -EOPNOTSUPP if nothing is
 * left that would count. */
static int choose_programs(Ledger *ledger, const LedgerConfig *config, const struct btf *kernel,
                           bool watch_governor)
{
        struct sleeps_bpf *skeleton = ledger->programs;
        struct bpf_program *program;

        bpf_object__for_each_program(program, skeleton->obj)
        {
                bool wanted = program == skeleton->progs.on_cpu_idle       ? true
                              : program == skeleton->progs.on_sched_waking ? config->latencies
                              : is_watch_of_governor(program)              ? watch_governor
                                                                           : has_events(config);
                bool there = wanted && kernel_has(kernel, program);

                bpf_program__set_autoload(program, there);
                if (wanted && !there) {
                        if (program == skeleton->progs.on_cpu_idle)
                                return -EOPNOTSUPP;
                        g_string_append_printf(ledger->missing, "%s%s",
                                               ledger->missing->len ? ", " : "",
                                               strchr(bpf_program__section_name(program), '/') + 1);
                }
        }
        return 0;
}

static void set_sizes(Ledger *ledger, const LedgerConfig *config)
{
        struct sleeps_bpf *skeleton = ledger->programs;
        unsigned n = (unsigned)ledger->n_cpus, ring = 4096;

        bpf_map__set_max_entries(skeleton->maps.sleepers, n);
        bpf_map__set_max_entries(skeleton->maps.sleeps, n * 2 * SLEEPS_STATES);
        bpf_map__set_max_entries(skeleton->maps.latencies, n * 2);
        if (config->causes)
                bpf_map__set_max_entries(skeleton->maps.causes,
                                         CLAMP(n * CAUSES_PER_CPU, CAUSES_LEAST, CAUSES_MOST));
        while (config->records && ring < RECORDS_BYTES * MIN(n, RECORDS_CPUS))
                ring *= 2;
        bpf_map__set_max_entries(skeleton->maps.records, ring);
}

static int open_programs(Ledger *ledger, const LedgerConfig *config, const struct btf *kernel,
                         bool watch_governor)
{
        int r;

        g_string_truncate(ledger->missing, 0);
        ledger->programs = sleeps_bpf__open();
        if (!ledger->programs)
                return -errno;
        ledger->programs->rodata->with_events = has_events(config);
        ledger->programs->rodata->with_causes = config->causes;
        ledger->programs->rodata->with_latencies = config->latencies;
        ledger->programs->rodata->with_records = config->records;
        set_sizes(ledger, config);
        r = choose_programs(ledger, config, kernel, watch_governor);
        if (r == 0)
                r = sleeps_bpf__load(ledger->programs);
        if (r < 0) {
                sleeps_bpf__destroy(ledger->programs);
                ledger->programs = NULL;
        }
        return r;
}

static void *map_memory(const struct bpf_map *map, size_t *ret_size)
{
        size_t page = (size_t)sysconf(_SC_PAGESIZE), value = (bpf_map__value_size(map) + 7) & ~7u;
        void *memory;

        *ret_size = (value * bpf_map__max_entries(map) + page - 1) & ~(page - 1);
        memory = mmap(NULL, *ret_size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);
        return memory == MAP_FAILED ? NULL : memory;
}

static int map_tables(Ledger *ledger, const LedgerConfig *config)
{
        struct sleeps_bpf *skeleton = ledger->programs;

        ledger->sleepers = map_memory(skeleton->maps.sleepers, &ledger->sleepers_size);
        ledger->sleeps = map_memory(skeleton->maps.sleeps, &ledger->sleeps_size);
        ledger->latencies = map_memory(skeleton->maps.latencies, &ledger->latencies_size);
        if (!ledger->sleepers || !ledger->sleeps || !ledger->latencies)
                return -errno;
        for (int cpu = 0; cpu < ledger->n_cpus; cpu++) {
                struct sleeper *s = &ledger->sleepers[cpu];

                s->trace.reported_latency_us = -1;
                if (cpu >= config->n_cpus)
                        continue;
                s->deepest_ns = config->cpus[cpu].deepest_ns;
                s->limit_ns = config->cpus[cpu].limit_ns;
                s->trace.reported_latency_us = config->cpus[cpu].latency_us;
        }
        return 0;
}

static int hear_record(void *data, void *record, size_t size);

static char *explain(int error)
{
        switch (error) {
        case -EPERM:
        case -EACCES:
                if (geteuid() == 0)
                        return g_strdup("the kernel refuses BPF programs even to root: CAP_BPF and "
                                        "CAP_PERFMON were dropped, or the kernel is locked down "
                                        "(/sys/kernel/security/lockdown)");
                return g_strdup("the kernel refuses BPF programs: CAP_BPF and CAP_PERFMON are "
                                "needed (run it with sudo)");
        case -EOPNOTSUPP:
                return g_strdup("this kernel has no tp_btf event cpu_idle: Linux 6.1 or newer with "
                                "CONFIG_DEBUG_INFO_BTF=y and tracepoints is needed");
        case -ESRCH:
        case -ENOENT:
                return g_strdup("this kernel has no BTF (/sys/kernel/btf/vmlinux): it must be "
                                "built with CONFIG_DEBUG_INFO_BTF=y");
        default:
                return g_strdup_printf("failed to load BPF programs: %s", g_strerror(-error));
        }
}

/* Includes the first line of libbpf's message. -EACCES also comes from the verifier, if a kernel
 * does not support a program. */
static char *explain_load(int error)
{
        g_autofree char *why = explain(error);
        g_auto(GStrv) lines = g_strsplit(g_strchomp(complaints->str), "\n", -1);
        unsigned n = g_strv_length(lines);

        if (error == -EPERM || n == 0 || !*lines[0])
                return g_steal_pointer(&why);
        return g_strdup_printf("failed to load BPF programs: %s (%s)", g_strerror(-error),
                               g_strstrip(lines[0]));
}

/* Attaches what was loaded; what cannot be attached and is not vital is missing. */
static int attach(Ledger *ledger)
{
        struct sleeps_bpf *skeleton = ledger->programs;
        struct bpf_program *program;
        int r, i = 0;

        bpf_object__for_each_program(program, skeleton->obj)
        {
                struct bpf_link **link = skeleton->skeleton->progs[i++].link;

                if (!bpf_program__autoload(program))
                        continue;
                *link = bpf_program__attach(program);
                r = *link ? 0 : -errno;
                if (r < 0 && program == skeleton->progs.on_cpu_idle)
                        return r;
                if (r < 0)
                        g_string_append_printf(ledger->missing, "%s%s (%s)",
                                               ledger->missing->len ? ", " : "",
                                               strchr(bpf_program__section_name(program), '/') + 1,
                                               g_strerror(-r));
        }
        return 0;
}

static void ledger_close(Ledger *ledger)
{
        if (!ledger)
                return;
        if (ledger->sleepers)
                munmap(ledger->sleepers, ledger->sleepers_size);
        if (ledger->sleeps)
                munmap(ledger->sleeps, ledger->sleeps_size);
        if (ledger->latencies)
                munmap(ledger->latencies, ledger->latencies_size);
        ring_buffer__free(ledger->ring);
        sleeps_bpf__destroy(ledger->programs);
        g_string_free(ledger->missing, TRUE);
        g_free(ledger->polling);
        g_free(ledger->current);
        g_free(ledger->sleeps_total);
        g_free(ledger->latencies_total);
        g_hash_table_destroy(ledger->causes_total);
        g_hash_table_destroy(ledger->functions);
        g_hash_table_destroy(ledger->units);
        g_array_free(ledger->causes, TRUE);
        g_free(ledger);
}

static Ledger *ledger_new(const LedgerConfig *config)
{
        Ledger *ledger = g_new0(Ledger, 1);
        size_t n;

        ledger->n_cpus = MAX(libbpf_num_possible_cpus(), 1);
        n = (size_t)ledger->n_cpus;
        ledger->with_events = has_events(config);
        ledger->with_causes = config->causes;
        ledger->missing = g_string_new(NULL);
        ledger->polling = g_new0(uint32_t, n);
        for (int cpu = 0; cpu < MIN(ledger->n_cpus, config->n_cpus); cpu++)
                ledger->polling[cpu] = config->cpus[cpu].polling;
        ledger->current = g_new0(struct sleeper, n);
        ledger->sleeps_total = g_new0(struct sleep_stats, n * SLEEPS_STATES);
        ledger->latencies_total = g_new0(struct sleep_stats, n);
        ledger->causes_total = g_hash_table_new_full(key_hash, key_equal, g_free, g_free);
        ledger->functions = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        ledger->units = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
        ledger->causes = g_array_new(FALSE, FALSE, sizeof(LedgerCause));
        return ledger;
}

/* Where the kernel has no place for probes of functions, governors cannot be watched. */
static int load(Ledger *ledger, const LedgerConfig *config, char **ret_error)
{
        struct btf *kernel = btf__load_vmlinux_btf();
        int r;

        if (libbpf_get_error(kernel) != 0) {
                *ret_error = explain(-ENOENT);
                return -EOPNOTSUPP;
        }
        r = open_programs(ledger, config, kernel, config->records);
        if (r < 0 && config->records) {
                r = open_programs(ledger, config, kernel, false);
                if (r == 0)
                        g_string_append(ledger->missing, "what the idle governor asks for");
        }
        btf__free(kernel);
        if (r == 0)
                r = map_tables(ledger, config);
        if (r == 0 && config->records) {
                ledger->ring = ring_buffer__new(bpf_map__fd(ledger->programs->maps.records),
                                                hear_record, ledger, NULL);
                r = ledger->ring ? 0 : -errno;
        }
        if (r == 0)
                r = attach(ledger);
        if (r < 0)
                *ret_error = r == -EOPNOTSUPP ? explain(r) : explain_load(r);
        return r;
}

static int ledger_open(const LedgerConfig *config, Ledger **ret_ledger, char **ret_error)
{
        Ledger *ledger;
        libbpf_print_fn_t before;
        int r;

        ledger = ledger_new(config);
        complaints = g_string_new(NULL);
        before = libbpf_set_print(hear);
        r = load(ledger, config, ret_error);
        libbpf_set_print(before);
        g_string_free(complaints, TRUE);
        complaints = NULL;
        if (r < 0) {
                ledger_close(ledger);
                return r;
        }
        ledger->began_ns = clock_nsec(CLOCK_MONOTONIC);
        ledger->programs->bss->active = 1;
        *ret_ledger = ledger;
        return 0;
}

static char *ledger_missing(const Ledger *ledger)
{
        return ledger->missing->len ? g_strdup(ledger->missing->str) : NULL;
}

/* Until no program that began before works any more. */
static void let_programs_end(void)
{
        static const struct timespec long_enough = { .tv_nsec = 2000000 };

        if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
                nanosleep(&long_enough, NULL);
}

static void add_cause(Ledger *ledger, const struct cause_key *key, const struct cause_value *value)
{
        struct cause_key whole = *key;
        struct cause_value *total;

        whole.epoch = 0;
        total = g_hash_table_lookup(ledger->causes_total, &whole);
        if (!total) {
                total = g_new0(struct cause_value, 1);
                g_hash_table_insert(ledger->causes_total, g_memdup2(&whole, sizeof(whole)), total);
        }
        total->count += value->count;
        total->slept_ns += value->slept_ns;
        total->short_ns += value->short_ns;
}

static void add_half(const Ledger *ledger, unsigned half)
{
        for (size_t cpu = 0; cpu < (size_t)ledger->n_cpus; cpu++) {
                struct sleep_stats *late = &ledger->latencies[cpu * 2 + half];

                for (size_t state = 0; state < SLEEPS_STATES; state++) {
                        struct sleep_stats *rested =
                                &ledger->sleeps[(cpu * 2 + half) * SLEEPS_STATES + state];

                        sleep_stats_merge(&ledger->sleeps_total[cpu * SLEEPS_STATES + state],
                                          rested);
                        if (rested->count)
                                memset(rested, 0, sizeof(*rested));
                }
                sleep_stats_merge(&ledger->latencies_total[cpu], late);
                if (late->count)
                        memset(late, 0, sizeof(*late));
        }
}

/* Keys are collected first, because the kernel begins again behind one that is gone. */
static void add_half_causes(Ledger *ledger, unsigned half)
{
        g_autoptr(GArray) keys = g_array_new(FALSE, FALSE, sizeof(struct cause_key));
        int fd = bpf_map__fd(ledger->programs->maps.causes);
        struct cause_key key, *previous = NULL;
        struct cause_value value;

        while (keys->len < 2 * CAUSES_MOST && bpf_map_get_next_key(fd, previous, &key) == 0) {
                if (key.epoch == half)
                        g_array_append_val(keys, key);
                previous = &key;
        }
        for (unsigned i = 0; i < keys->len; i++) {
                const struct cause_key *found = &g_array_index(keys, struct cause_key, i);

                if (bpf_map_lookup_elem(fd, found, &value) < 0)
                        continue;
                add_cause(ledger, found, &value);
                bpf_map_delete_elem(fd, found);
        }
}

/* A name of the table, kept; NULL if there is none. */
static const char *function_name(Ledger *ledger, uint64_t address)
{
        int fd = bpf_map__fd(ledger->programs->maps.functions);
        const char *known = g_hash_table_lookup(ledger->functions, &address);
        struct function function;
        char *name;

        if (known || !address)
                return known;
        if (bpf_map_lookup_elem(fd, &address, &function) == 0)
                name = g_strndup(function.name, sizeof(function.name));
        else
                name = g_strdup_printf("0x%" PRIx64, address);
        g_hash_table_insert(ledger->functions, g_memdup2(&address, sizeof(address)), name);
        return name;
}

/* The innermost unit that the cgroup's path has; its last name if there is none. */
static char *name_unit(const struct unit *unit)
{
        static const char *const suffixes[] = { ".service", ".scope", ".slice",
                                                ".socket",  ".mount", ".swap" };

        for (unsigned level = 0; level < UNIT_LEVELS; level++)
                for (unsigned i = 0; i < G_N_ELEMENTS(suffixes); i++)
                        if (g_str_has_suffix(unit->names[level], suffixes[i]))
                                return g_strdup(unit->names[level]);
        return g_strdup(unit->names[0]);
}

static const char *unit_name(Ledger *ledger, uint64_t cgroup)
{
        int fd = bpf_map__fd(ledger->programs->maps.units);
        const char *known = g_hash_table_lookup(ledger->units, &cgroup);
        struct unit unit;
        char *name;

        if (!known && cgroup) {
                if (bpf_map_lookup_elem(fd, &cgroup, &unit) == 0)
                        name = name_unit(&unit);
                else
                        name = g_strdup_printf("cgroup %" PRIu64, cgroup);
                g_hash_table_insert(ledger->units, g_memdup2(&cgroup, sizeof(cgroup)), name);
                known = name;
        }
        return known && *known ? known : NULL;
}

static LedgerCause describe(Ledger *ledger, const struct cause *cause, unsigned cpu, unsigned state,
                            unsigned kind)
{
        bool irq = kind == CAUSE_IRQ;

        if (kind == CAUSE_UNKNOWN && cpu < (unsigned)ledger->n_cpus &&
            ledger->polling[cpu] >> state & 1)
                kind = CAUSE_POLL;
        return (LedgerCause){
                .cpu = (int)cpu,
                .state = (int)state,
                .kind = kind,
                .irq = irq ? (int)cause->function : -1,
                .function = irq ? NULL : function_name(ledger, cause->function),
                .name = cause->name[0] ? cause->name : NULL,
                .unit = unit_name(ledger, cause->cgroup),
        };
}

/* Sleeps whose causes found no room in the kernel's table have a row of their own. */
static void list_causes(Ledger *ledger)
{
        const struct cause_key *key;
        const struct cause_value *value;
        GHashTableIter i;
        LedgerCause row;

        g_array_set_size(ledger->causes, 0);
        g_hash_table_iter_init(&i, ledger->causes_total);
        while (g_hash_table_iter_next(&i, (gpointer *)&key, (gpointer *)&value)) {
                row = describe(ledger, &key->cause, key->cpu, key->state, key->kind);
                row.value = *value;
                g_array_append_val(ledger->causes, row);
        }
        for (int line = 0; line < ledger->n_cpus * SLEEPS_STATES; line++) {
                row = (LedgerCause){ .cpu = line / SLEEPS_STATES,
                                     .state = line % SLEEPS_STATES,
                                     .kind = CAUSE_UNSTORED,
                                     .irq = -1,
                                     .value.count = ledger->sleeps_total[line].unstored };
                if (row.value.count)
                        g_array_append_val(ledger->causes, row);
        }
}

static void ledger_read(Ledger *ledger, LedgerTotals *ret_totals)
{
        unsigned half = ledger->programs->bss->epoch & 1;

        ledger->programs->bss->epoch = half ^ 1;
        let_programs_end();
        add_half(ledger, half);
        if (ledger->with_causes) {
                add_half_causes(ledger, half);
                list_causes(ledger);
        }
        for (int cpu = 0; cpu < ledger->n_cpus; cpu++)
                ledger->current[cpu] = ledger->sleepers[cpu];
        *ret_totals = (LedgerTotals){
                .duration_ns = (ledger->ended_ns ?: clock_nsec(CLOCK_MONOTONIC)) - ledger->began_ns,
                .unpaired = ledger->programs->bss->unpaired,
                .records_lost = ledger->programs->bss->records_lost,
                .n_cpus = ledger->n_cpus,
                .sleeps = ledger->sleeps_total,
                .latencies = ledger->latencies_total,
                .current = ledger->current,
                .now_ns = ledger->ended_ns ?: clock_nsec(CLOCK_MONOTONIC),
                .causes = (const LedgerCause *)(void *)ledger->causes->data,
                .n_causes = ledger->causes->len,
        };
}

static int hear_record(void *data, void *record, size_t size)
{
        Ledger *ledger = data;
        const struct sleep_record *r = record;
        LedgerCause cause = describe(ledger, &r->cause, r->cpu, r->state, r->kind);

        ledger->take(r, &cause, ledger->take_data);
        return 0;
}

/* A sleep that is over but not yet recorded began before the CPU's next one. */
static uint64_t find_horizon(const Ledger *ledger)
{
        uint64_t now = clock_nsec(CLOCK_MONOTONIC), horizon = now;

        for (int cpu = 0; cpu < ledger->n_cpus; cpu++) {
                uint64_t entered = ledger->sleepers[cpu].entered_ns;

                if (entered && entered < horizon && now - entered < LONGEST_NS)
                        horizon = entered;
        }
        return horizon - CHOICE_NS;
}

static uint64_t ledger_take(Ledger *ledger, LedgerRecord take, void *data)
{
        uint64_t horizon = find_horizon(ledger);

        ledger->take = take;
        ledger->take_data = data;
        ring_buffer__consume(ledger->ring);
        return horizon;
}

/* The sleep of a CPU that ended, which its next one would have counted. */
static void finish(Ledger *ledger, int cpu)
{
        struct sleeper *s = &ledger->sleepers[cpu];
        uint64_t slept = s->left_ns - s->entered_ns;
        struct cause_key key = { .cause = s->cause,
                                 .cpu = (uint32_t)cpu,
                                 .state = (uint8_t)s->state,
                                 .kind = (uint8_t)s->kind };
        struct cause_value value = { 1, slept, s->deepest_ns > slept ? s->deepest_ns - slept : 0 };

        if (!s->entered_ns || !s->left_ns || s->state >= SLEEPS_STATES)
                return;
        sleep_stats_add(&ledger->sleeps_total[cpu * SLEEPS_STATES + (int)s->state], slept);
        if (ledger->with_causes)
                add_cause(ledger, &key, &value);
        s->entered_ns = 0;
}

static void ledger_stop(Ledger *ledger)
{
        if (ledger->ended_ns)
                return;
        ledger->programs->bss->active = 0;
        ledger->ended_ns = clock_nsec(CLOCK_MONOTONIC);
        let_programs_end();
        sleeps_bpf__detach(ledger->programs);
        for (int cpu = 0; ledger->with_events && cpu < ledger->n_cpus; cpu++)
                finish(ledger, cpu);
}

extern const LedgerBackend idled_ledger;
__attribute__((visibility("default"))) const LedgerBackend idled_ledger = {
        .abi = LEDGER_ABI,
        .open = ledger_open,
        .missing = ledger_missing,
        .read = ledger_read,
        .take = ledger_take,
        .stop = ledger_stop,
        .close = ledger_close,
};
