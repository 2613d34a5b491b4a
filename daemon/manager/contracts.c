/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Contracts of units: which there are, and what the kernel counted for them.
 */
#include "manager/contracts.h"

#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/private-text.h"
#include "bpf/bill.h"
#include "holds/holder.h"
#include "model/cgroup-unit.h"
#include "sense/process-facts.h"

/* The units of processes are read no more often. */
#define FOLLOW_USEC (5 * G_USEC_PER_SEC)
/* BPF programs that could not be loaded or read are loaded again no sooner. */
#define RETRY_USEC (60 * G_USEC_PER_SEC)

#define PLACES_OF_USER 4 /* at most, of CONTRACTS_MAX */

/* So many units without a contract of their own are judged apart, if they wake up so often: a
 * window of 10 s has 200 wake-ups. One that is judged stays while it has half of them. */
#define APART_MAX     4
#define APART_PER_SEC 20.0
#define APART_SHARE   0.01 /* of their wake-ups were late */

/* What a unit without a contract of its own had since the last choice. */
typedef struct Other {
        uint64_t wakeups, late;
} Other;

struct Contracts {
        int proc, n_cpus;
        GPtrArray *units; /* of UnitContract, the most important first */
        unsigned n;       /* of these have a place, CONTRACTS_MAX at most; the others are behind */
        Contract list[CONTRACTS_MAX];
        GHashTable *others; /* cgroup of a unit without a contract of its own -> Other */
        GPtrArray *apart;   /* of char: the cgroups of these that are judged apart */
        uint64_t followed_usec, chosen_usec, retry_usec, last_id;
        uint64_t others_ns; /* that `others` was counted for */
        Bill *bill;         /* NULL: nothing is measured */
        char *error;        /* why it could not be opened or read last; NULL: it was opened since */
        bool said_units;    /* it was logged as a warning, for contracts of units */
        bool full;          /* the last reading lacks wake-ups, of any unit */
};

static void unit_free(gpointer data)
{
        UnitContract *unit = data;

        g_free(unit->cgroup);
        g_free(unit->unit);
        g_free(unit);
}

Contracts *contracts_new(int proc, int n_cpus)
{
        Contracts *contracts = g_new0(Contracts, 1);

        contracts->proc = proc;
        contracts->n_cpus = n_cpus;
        contracts->units = g_ptr_array_new_with_free_func(unit_free);
        contracts->others = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        contracts->apart = g_ptr_array_new_with_free_func(g_free);
        return contracts;
}

void contracts_free(Contracts *contracts)
{
        if (!contracts)
                return;
        bill_close(contracts->bill);
        g_ptr_array_unref(contracts->units);
        g_hash_table_unref(contracts->others);
        g_ptr_array_unref(contracts->apart);
        g_free(contracts->error);
        fd_close(&contracts->proc);
        g_free(contracts);
}

/* Where the process is not there any more, its last unit stays. */
static void read_unit(int proc, Held *held)
{
        g_autofree ProcessFacts *facts = g_new(ProcessFacts, 1);
        HeldContract *contract = &held->contract;
        const char *cgroup = contract->cgroup;

        if (!cgroup && (!held->holder || !held->holder->alive))
                return;
        if (!cgroup) {
                process_facts_init(facts, held_pid(held));
                contract->error = process_facts_read(proc, PROCESS_FACT_CGROUPS, facts);
                cgroup = contract->error < 0 ? "" : facts->unit_cgroup;
        }
        if (!*cgroup)
                return;
        g_free(contract->unit);
        contract->unit = cgroup_unit_path(cgroup);
}

static void read_units(const Contracts *contracts, const Holds *holds)
{
        for (unsigned i = 0; holds && i < holds_count(holds); i++)
                if (holds_nth(holds, i)->contract.p99_us > 0)
                        read_unit(contracts->proc, holds_nth(holds, i));
}

/* The unit that the hold is a contract of; NULL: of none. */
static const char *cgroup_of(const Held *held)
{
        const char *cgroup = held->contract.p99_us > 0 ? held->contract.unit : NULL;

        return cgroup && (held->uid == 0 || cgroup_is_of_user(cgroup, held->uid)) ? cgroup : NULL;
}

/* Among the first `n`. */
static UnitContract *find_unit(const GPtrArray *units, unsigned n, const char *cgroup)
{
        for (unsigned i = 0; i < n; i++) {
                UnitContract *unit = units->pdata[i];

                if (g_strcmp0(unit->cgroup, cgroup) == 0)
                        return unit;
        }
        return NULL;
}

static UnitContract *unit_new(const char *cgroup, uint32_t limit_us)
{
        UnitContract *unit = g_new0(UnitContract, 1);

        unit->cgroup = g_strdup(cgroup);
        unit->unit = cgroup ? cgroup_unit_name(cgroup) : NULL;
        unit->limit_us = limit_us;
        return unit;
}

/* Takes over what is known of the same contract in the list of before. */
static void inherit(UnitContract *unit, const GPtrArray *units)
{
        const UnitContract *before = find_unit(units, units->len, unit->cgroup);

        if (before && before->limit_us == unit->limit_us && before->apart == unit->apart)
                unit->counts = before->counts;
}

/* The most important first: the profile's, root's, feasible ones, the tightest; units that are
 * judged apart last. */
static int compare_units(gconstpointer a, gconstpointer b)
{
        const UnitContract *x = *(UnitContract *const *)a, *y = *(UnitContract *const *)b;

        if (!x->cgroup != !y->cgroup)
                return x->cgroup ? 1 : -1;
        if (x->apart != y->apart)
                return x->apart ? 1 : -1;
        if (x->root != y->root)
                return x->root ? -1 : 1;
        if (x->counts.report.infeasible != y->counts.report.infeasible)
                return x->counts.report.infeasible ? 1 : -1;
        return (x->limit_us > y->limit_us) - (x->limit_us < y->limit_us);
}

/* True if one more has a place behind these. */
static bool has_place(const GPtrArray *units, unsigned n, const UnitContract *unit)
{
        unsigned own = 0;

        for (unsigned i = 0; i < n && !unit->root && !unit->apart; i++) {
                const UnitContract *other = units->pdata[i];

                own += !other->root && other->uid == unit->uid;
        }
        return n < CONTRACTS_MAX && own < PLACES_OF_USER;
}

/* Puts those that have no place behind the others, and returns how many have one. */
static unsigned give_places(GPtrArray *units)
{
        unsigned n = 0;

        for (unsigned i = 0; i < units->len; i++) {
                UnitContract *unit = units->pdata[i];

                if (has_place(units, n, unit))
                        g_ptr_array_insert(units, (int)n++, g_ptr_array_steal_index(units, i));
                else
                        unit->counts.id = 0;
        }
        return n;
}

/* The share of late ones of a unit; 0 if nothing is known of it. */
static double late_share(const Contracts *contracts, const char *cgroup)
{
        const Other *other = g_hash_table_lookup(contracts->others, cgroup);

        return other && other->wakeups > 0 ? (double)other->late / (double)other->wakeups : 0;
}

/* Those that something is done for stay, those that nothing helps are last. */
static int rank_of(const Contracts *contracts, const char *cgroup)
{
        const UnitContract *unit = find_unit(contracts->units, contracts->n, cgroup);

        return !unit ? 1 : unit->counts.report.infeasible ? 2 : 0;
}

static int compare_others(gconstpointer a, gconstpointer b, gpointer contracts)
{
        const char *one = *(char *const *)a, *other = *(char *const *)b;
        double x = late_share(contracts, one), y = late_share(contracts, other);
        int order = rank_of(contracts, one) - rank_of(contracts, other);

        return order ?: (x < y) - (x > y);
}

/* Chooses the units that are judged apart. */
static void choose_apart(Contracts *contracts, uint64_t now_usec)
{
        double seconds = (double)contracts->others_ns / 1e9;
        GHashTableIter others;
        gpointer cgroup, value;

        contracts->chosen_usec = now_usec;
        if (contracts->others_ns == 0 && contracts->bill)
                return; /* nothing is known */
        contracts->others_ns = 0;
        g_ptr_array_set_size(contracts->apart, 0);
        g_hash_table_iter_init(&others, contracts->others);
        while (g_hash_table_iter_next(&others, &cgroup, &value)) {
                const Other *other = value;
                const UnitContract *unit = find_unit(contracts->units, contracts->units->len,
                                                     cgroup);
                double least = APART_PER_SEC * seconds / (unit ? 2 : 1);

                if (unit && !unit->apart)
                        continue; /* it has a contract of its own, without a place */
                if ((double)other->wakeups >= least &&
                    (unit || late_share(contracts, cgroup) > APART_SHARE))
                        g_ptr_array_add(contracts->apart, g_strdup(cgroup));
        }
        g_ptr_array_sort_with_data(contracts->apart, compare_others, contracts);
        if (contracts->apart->len > APART_MAX)
                g_ptr_array_set_size(contracts->apart, APART_MAX);
        g_hash_table_remove_all(contracts->others);
}

/* What is requested now. */
static GPtrArray *requested(const Contracts *contracts, const Holds *holds, const CpuSet *online,
                            uint32_t rest_us)
{
        GPtrArray *units = g_ptr_array_new_with_free_func(unit_free);

        if (rest_us > 0) {
                UnitContract *rest = unit_new(NULL, rest_us);

                rest->root = true;
                rest->cpus = *online;
                g_ptr_array_add(units, rest);
        }
        for (unsigned i = 0; holds && i < holds_count(holds); i++) {
                const Held *held = holds_nth(holds, i);
                const char *cgroup = cgroup_of(held);
                UnitContract *unit = cgroup ? find_unit(units, units->len, cgroup) : NULL;

                if (!cgroup)
                        continue;
                if (!unit) {
                        unit = unit_new(cgroup, held->contract.p99_us);
                        unit->uid = held->uid;
                        g_ptr_array_add(units, unit);
                }
                if (held->contract.p99_us < unit->limit_us || unit->hold == 0)
                        unit->hold = held->id;
                unit->limit_us = MIN(unit->limit_us, held->contract.p99_us);
                unit->root |= held->uid == 0;
                cpuset_or(&unit->cpus, &holds_hold(held)->cpus);
        }
        for (unsigned i = 0; rest_us > 0 && i < contracts->apart->len; i++)
                if (!find_unit(units, units->len, contracts->apart->pdata[i])) {
                        UnitContract *unit = unit_new(contracts->apart->pdata[i], rest_us);

                        unit->apart = true;
                        unit->cpus = *online;
                        g_ptr_array_add(units, unit);
                }
        for (unsigned i = 0; i < units->len; i++)
                inherit(units->pdata[i], contracts->units);
        g_ptr_array_sort(units, compare_units);
        return units;
}

/* Begins to count for those that are new, or had no place; true if there is one that is shown. */
static bool begin_new(Contracts *contracts)
{
        unsigned taken = 0; /* limits */
        bool added = false;

        for (unsigned i = 0; i < contracts->n; i++) {
                const UnitCounts *counts = &((UnitContract *)contracts->units->pdata[i])->counts;

                taken |= (unsigned)(counts->id > 0) << counts->limit;
        }
        for (unsigned i = 0; i < contracts->n; i++) {
                UnitContract *unit = contracts->units->pdata[i];
                UnitCounts *counts = &unit->counts;

                if (counts->id)
                        continue;
                *counts = (UnitCounts){ .id = ++contracts->last_id,
                                        .limit = (unsigned)__builtin_ctz(~taken),
                                        .early = contracts->bill != NULL,
                                        .report.latency_us = -1 };
                taken |= 1u << counts->limit;
                added |= !unit->apart;
        }
        return added;
}

/* Logs an error once, although the contract of a profile comes and goes with the load. `error` is
 * taken over. */
static void lose_bill(Contracts *contracts, char *error)
{
        const UnitContract *first = contracts_nth(contracts, 0);
        bool units = contracts_nth(contracts, 1) || (first && first->cgroup);
        bool said = g_strcmp0(error, contracts->error) == 0;

        g_clear_pointer(&contracts->bill, bill_close);
        if (!said || (units && !contracts->said_units))
                log_message(units ? LOG_WARNING : LOG_NOTICE,
                            "The delays of wake-ups are not measured, so %s no effect: %s",
                            units ? "contracts have" : "the profile's contract has", error);
        contracts->said_units = units || (said && contracts->said_units);
        g_free(contracts->error);
        contracts->error = error;
        contracts->full = false;
        contracts->retry_usec = contracts->followed_usec + RETRY_USEC;
}

/* Has the kernel count while there is a contract. */
static void follow_bill(Contracts *contracts, uint64_t now_usec)
{
        int r;

        if (contracts->n == 0) {
                g_clear_pointer(&contracts->bill, bill_close);
                contracts->full = false;
                contracts->retry_usec = 0;
        } else if (!contracts->bill && (!contracts->error || now_usec >= contracts->retry_usec)) {
                r = bill_open(contracts->n_cpus, BILL_COARSE, &contracts->bill);
                if (r < 0)
                        lose_bill(contracts, bill_error(r));
                else
                        g_clear_pointer(&contracts->error, g_free);
        }
        for (unsigned i = 0; contracts->bill && i < contracts->n; i++) {
                const UnitContract *unit = contracts->units->pdata[i];

                bill_set_limit(contracts->bill, unit->counts.limit,
                               unit->limit_us * UINT64_C(1000));
        }
}

static unsigned count_shown(const Contracts *contracts)
{
        unsigned n = 0;

        while (contracts_nth(contracts, n))
                n++;
        return n;
}

bool contracts_follow(Contracts *contracts, const Holds *holds, const CpuSet *online,
                      uint32_t rest_us, bool fresh, uint64_t now_usec)
{
        bool changed, failed = contracts->error != NULL;
        unsigned before = count_shown(contracts);
        GPtrArray *units;

        if (fresh || now_usec - contracts->followed_usec >= FOLLOW_USEC) {
                read_units(contracts, holds);
                contracts->followed_usec = now_usec;
        }
        if (now_usec - contracts->chosen_usec >= FOLLOW_USEC)
                choose_apart(contracts, now_usec);
        units = requested(contracts, holds, online, rest_us);
        g_ptr_array_unref(contracts->units);
        contracts->units = units;
        contracts->n = give_places(units);
        changed = begin_new(contracts) || count_shown(contracts) != before;
        follow_bill(contracts, now_usec);
        return changed || failed != (contracts->error != NULL);
}

/* Before bins are full the counts begin again, as policies expect of them. */
static void add(UnitCounts *counts, enum wakeup_kind kind, const WakeupDelays *delays)
{
        if (counts->wakeups.count > UINT32_MAX / 2)
                counts->wakeups = counts->idle = (WakeupDelays){ 0 };
        wakeups_merge(&counts->wakeups, delays);
        if (kind < WAKEUPS_STATES)
                wakeups_merge(&counts->idle, delays);
}

/* Counts for the choice what a unit without a contract of its own had. Tasks of the kernel, and
 * those whose cgroup is not known, are in no unit. */
static void note_other(Contracts *contracts, const UnitContract *rest, const char *cgroup,
                       const WakeupDelays *delays)
{
        Other *other = g_hash_table_lookup(contracts->others, cgroup);

        if (cgroup[0] != '/' || cgroup[1] == '\0' ||
            (!other && g_hash_table_size(contracts->others) >= BILL_CGROUPS))
                return;
        if (!other) {
                other = g_new0(Other, 1);
                g_hash_table_insert(contracts->others, g_strdup(cgroup), other);
        }
        other->wakeups += delays->count;
        other->late += delays->late[rest->counts.limit];
}

static void take(const char *cgroup, const char *process, enum wakeup_kind kind,
                 const WakeupDelays *delays, void *data)
{
        Contracts *contracts = data;
        UnitContract *unit = find_unit(contracts->units, contracts->n, cgroup);
        UnitContract *rest = find_unit(contracts->units, contracts->n, NULL);

        if (unit && !unit->counts.early)
                add(&unit->counts, kind, delays);
        if (!rest || rest->counts.early || (unit && !unit->apart))
                return;
        add(&rest->counts, kind, delays);
        note_other(contracts, rest, cgroup, delays);
}

static bool is_below(const char *cgroup, const char *top)
{
        size_t n = strlen(top);

        return strncmp(cgroup, top, n) == 0 && (cgroup[n] == '/' || cgroup[n] == '\0');
}

/* The contract of all other units goes on with those that there was room for: else each user could
 * end it. True if this changed for a contract. */
static bool note_over(Contracts *contracts, const GPtrArray *owners)
{
        bool changed = false;

        for (unsigned i = 0; i < contracts->n; i++) {
                UnitContract *unit = contracts->units->pdata[i];
                bool over = false;

                for (unsigned j = 0; unit->cgroup && j < owners->len; j++)
                        over |= is_below(unit->cgroup, owners->pdata[j]) ||
                                is_below(owners->pdata[j], unit->cgroup);
                changed |= unit->counts.over != over;
                unit->counts.over = over;
        }
        return changed;
}

bool contracts_read(Contracts *contracts)
{
        BillReading reading;
        bool full = contracts->full, changed = false;
        int r;

        if (!contracts->bill)
                return false;
        r = bill_read(contracts->bill, take, contracts, &reading);
        if (r < 0) {
                lose_bill(contracts, g_strdup_printf("failed to read the tables of BPF programs: "
                                                     "%s",
                                                     g_strerror(-r)));
        } else {
                for (unsigned i = 0; i < contracts->n; i++)
                        ((UnitContract *)contracts->units->pdata[i])->counts.early = false;
                contracts->full = reading.full;
                contracts->others_ns += reading.duration_ns;
                changed = note_over(contracts, reading.over);
        }
        return changed || r < 0 || contracts->full != full;
}

bool contracts_drop(Contracts *contracts)
{
        bool changed = contracts_read(contracts);

        for (unsigned i = 0; i < contracts->n; i++) {
                UnitCounts *counts = &((UnitContract *)contracts->units->pdata[i])->counts;

                counts->wakeups = counts->idle = (WakeupDelays){ 0 };
        }
        g_hash_table_remove_all(contracts->others);
        contracts->others_ns = 0;
        return changed;
}

/* What the policy found out about one. */
static ContractReport report_of(const ContractReport *reports, int n, const UnitContract *unit)
{
        for (int i = 0; i < n; i++)
                if (reports[i].id == unit->counts.id)
                        return reports[i];
        return (ContractReport){ .latency_us = -1 };
}

static void log_feasible(const UnitContract *unit, const ContractReport *report)
{
        const char *name = unit->unit ?: "units without a contract of their own";
        g_autofree char *clean = log_clean(name);

        /* That of a profile comes and goes with the load. */
        bool own = unit->cgroup && !unit->apart;

        if (report->infeasible)
                log_message(own ? LOG_NOTICE : LOG_DEBUG,
                            "The contract of %s is infeasible: with everything active the p99 of "
                            "its wake-ups is %g ms, the limit %g ms; idled does nothing for it",
                            clean, report->best_us / 1e3, unit->limit_us / 1e3);
        else
                log_message(own ? LOG_INFO : LOG_DEBUG, "The contract of %s is feasible again",
                            clean);
}

/* Adds the windows of units that are judged apart to those of all. */
static void report_apart(Contracts *contracts, const ContractReport *reports, int n,
                         ContractReport *all)
{
        UnitCounts *rest = &((UnitContract *)contracts->units->pdata[0])->counts;

        for (unsigned i = 1; i < contracts->n; i++) {
                const UnitContract *unit = contracts->units->pdata[i];
                const ContractReport *last = &unit->counts.report;
                ContractReport report = report_of(reports, n, unit);

                if (!unit->apart || report.id == 0)
                        continue;
                rest->kept += report.kept - last->kept;
                rest->broken += report.broken - last->broken;
        }
        all->kept += rest->kept;
        all->broken += rest->broken;
}

bool contracts_note(Contracts *contracts, const ContractReport *reports, int n)
{
        bool changed = false;

        for (unsigned i = 0; i < contracts->n; i++) {
                UnitContract *unit = contracts->units->pdata[i];
                ContractReport report = report_of(reports, n, unit), *last = &unit->counts.report;

                if (!unit->cgroup)
                        report_apart(contracts, reports, n, &report);
                if (report.infeasible != last->infeasible)
                        log_feasible(unit, &report);
                changed |= !unit->apart &&
                           (report.infeasible != last->infeasible ||
                            report.measured != last->measured || report.kept != last->kept ||
                            report.broken != last->broken || report.cores != last->cores ||
                            report.latency_us != last->latency_us || report.fast != last->fast);
                *last = report;
        }
        return changed;
}

int contracts_list(Contracts *contracts, const Contract **ret_list)
{
        for (unsigned i = 0; i < contracts->n; i++) {
                const UnitContract *unit = contracts->units->pdata[i];
                const UnitCounts *counts = &unit->counts;
                bool measured = !contracts_unit_error(contracts, unit);

                contracts->list[i] = (Contract){ .id = counts->id,
                                                 .limit_us = unit->limit_us,
                                                 .wakeups = measured ? &counts->wakeups : NULL,
                                                 .idle = &counts->idle,
                                                 .cpus = unit->cpus,
                                                 .rest = !unit->cgroup || unit->apart,
                                                 .limit = counts->limit };
        }
        *ret_list = contracts->list;
        return (int)contracts->n;
}

const UnitContract *contracts_nth(const Contracts *contracts, unsigned i)
{
        const UnitContract *unit = i < contracts->n ? contracts->units->pdata[i] : NULL;

        return unit && !unit->apart ? unit : NULL; /* the others are behind */
}

const char *contracts_error(const Contracts *contracts)
{
        if (contracts->full)
                return "the tables of BPF programs have no room for all cgroups";
        return contracts->n > 0 ? contracts->error : NULL;
}

/* True if all names of the path are stored. */
static bool names_fit(const char *cgroup)
{
        g_auto(GStrv) names = g_strsplit(cgroup, "/", -1);
        size_t size = 0, n = g_strv_length(names);

        for (size_t i = n; i-- > 0;) {
                if (size > CGROUP_PATH_SIZE - CGROUP_NAME_SIZE ||
                    strlen(names[i]) >= CGROUP_NAME_SIZE - 1)
                        return false;
                size += strlen(names[i]) + 1;
        }
        return n <= CGROUP_LEVELS;
}

const char *contracts_unit_error(const Contracts *contracts, const UnitContract *unit)
{
        if (contracts_error(contracts))
                return contracts_error(contracts);
        if (unit->counts.over)
                return "its service or user has more cgroups than BPF programs store";
        if (unit->cgroup && !names_fit(unit->cgroup))
                return "its cgroup has more levels, or longer names, than BPF programs store";
        return NULL;
}

/* The others may know that the contract has no effect, as of all holds. */
static char *for_user(const Held *held, char *whole, const char *others)
{
        g_autofree char *text = whole, *clean = log_clean(text);

        return private_text(held->shown_uid, clean, others);
}

char *contracts_obstacle(const Contracts *contracts, const Held *held)
{
        const char *cgroup = held->contract.unit, *own = cgroup_of(held), *error;
        const UnitContract *unit = own ? find_unit(contracts->units, contracts->n, own) : NULL;

        if (held->contract.p99_us == 0)
                return NULL;
        error = unit ? contracts_unit_error(contracts, unit) : contracts_error(contracts);
        if (error)
                return g_strdup_printf("delays of wake-ups are not measured: %s", error);
        if (!cgroup && held->contract.error < 0)
                return g_strdup_printf("the cgroup of its process cannot be read: %s",
                                       g_strerror(-held->contract.error));
        if (!cgroup)
                return g_strdup(held->holder && !held->holder->alive
                                        ? "its process ended before its cgroup was read"
                                        : "the cgroup of its process cannot be read");
        if (!own)
                return for_user(held,
                                g_strdup_printf("the process runs in %s, which is no unit of user "
                                                "%u",
                                                cgroup, (unsigned)held->uid),
                                "the process runs in no unit of its user");
        if (!unit)
                return g_strdup_printf("more important contracts are measured: %d, or %d of a user",
                                       CONTRACTS_MAX, PLACES_OF_USER);
        if (!unit->counts.report.infeasible)
                return NULL;
        return for_user(held,
                        g_strdup_printf("infeasible: with everything active the p99 of wake-ups is "
                                        "%g ms",
                                        unit->counts.report.best_us / 1e3),
                        "infeasible with everything active");
}
