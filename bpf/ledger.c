/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What readers of the ledger need without libbpf: the way to the module, statistics, words.
 */
#include "bpf/ledger.h"

#include <gmodule.h>
#include <math.h>
#include <stdlib.h>

const LedgerBackend *ledger_backend(const char *directory, char **ret_error)
{
        static const LedgerBackend *loaded;
        const char *elsewhere = secure_getenv("IDLED_LEDGER_DIR");
        g_autofree char *path = g_build_filename(elsewhere && *elsewhere ? elsewhere : directory,
                                                 "ledger.so", NULL);
        const LedgerBackend *backend = NULL;
        GModule *module;

        if (loaded)
                return loaded;
        if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
                *ret_error = g_strdup_printf("%s is not installed: idled was built without BPF "
                                             "(-Dbpf=enabled), or its package is missing; "
                                             "IDLED_LEDGER_DIR names another directory, such as "
                                             "bpf in a build directory",
                                             path);
                return NULL;
        }
        module = g_module_open(path, G_MODULE_BIND_LOCAL);
        if (!module || !g_module_symbol(module, "idled_ledger", (gpointer *)&backend) ||
            backend->abi != LEDGER_ABI) {
                *ret_error = module ? g_strdup_printf("%s is of another version of idled", path)
                                    : g_strdup(g_module_error());
                if (module)
                        g_module_close(module);
                return NULL;
        }
        g_module_make_resident(module);
        return loaded = backend;
}

uint64_t sleep_bucket_begin(unsigned i)
{
        return octaves_begin(i, SLEEPS_SUB, SLEEPS_SHIFT);
}

double sleep_mean_ns(const struct sleep_stats *stats)
{
        return stats->count ? (double)stats->sum_ns / (double)stats->count : NAN;
}

double sleep_deviation_ns(const struct sleep_stats *stats)
{
        long double sum = stats->sum_ns, least;

        if (!stats->count)
                return NAN;
        /* Not as double: what is left is small next to both. */
        least = sum * sum / stats->count;
        least = ldexpl(stats->squares_high, 64) + stats->squares_low - least;
        return least > 0 ? (double)sqrtl(least / stats->count) : 0;
}

/* Limits of bucket `i`. */
static void bucket_limits(const struct sleep_stats *stats, unsigned i, double *ret_low,
                          double *ret_high)
{
        double low = (double)sleep_bucket_begin(i);
        double high = i + 1 < SLEEPS_BUCKETS ? (double)sleep_bucket_begin(i + 1) : INFINITY;

        *ret_low = MAX(low, (double)stats->min_ns);
        *ret_high = MIN(high, (double)stats->max_ns);
}

double sleep_percentile_ns(const struct sleep_stats *stats, double share)
{
        double rank = share * (double)stats->count, before = 0, low, high;

        for (unsigned i = 0; i < SLEEPS_BUCKETS; i++) {
                double here = stats->hist[i];

                if (here && before + here >= rank) {
                        bucket_limits(stats, i, &low, &high);
                        return low + (high - low) * (rank - before) / here;
                }
                before += here;
        }
        return stats->count ? (double)stats->max_ns : NAN;
}

double sleep_longer_than(const struct sleep_stats *stats, uint64_t ns)
{
        double longer = 0, low, high;

        for (unsigned i = sleep_bucket(ns); i < SLEEPS_BUCKETS; i++) {
                if (!stats->hist[i])
                        continue;
                bucket_limits(stats, i, &low, &high);
                if ((double)ns <= low)
                        longer += stats->hist[i];
                else if ((double)ns < high)
                        longer += stats->hist[i] * (high - (double)ns) / (high - low);
        }
        return longer;
}

void sleep_stats_merge(struct sleep_stats *into, const struct sleep_stats *from)
{
        if (!from->count)
                return;
        into->min_ns = into->count ? MIN(into->min_ns, from->min_ns) : from->min_ns;
        into->max_ns = MAX(into->max_ns, from->max_ns);
        into->count += from->count;
        into->sum_ns += from->sum_ns;
        into->squares_low += from->squares_low;
        into->squares_high += from->squares_high + (into->squares_low < from->squares_low);
        into->unstored += from->unstored;
        into->violations += from->violations;
        for (unsigned i = 0; i < SLEEPS_BUCKETS; i++)
                into->hist[i] += from->hist[i];
}

static const struct {
        const char *word, *title;
} kinds[CAUSE_KINDS] = {
        [CAUSE_UNKNOWN] = { "unknown", "unknown" },
        [CAUSE_TIMER] = { "timer", "timer" },
        [CAUSE_TICK] = { "tick", "tick" },
        [CAUSE_IRQ] = { "irq", "IRQ" },
        [CAUSE_RESCHEDULE] = { "reschedule", "reschedule IPI" },
        [CAUSE_FUNCTION_CALL] = { "function-call", "function call IPI" },
        [CAUSE_IRQ_WORK] = { "irq-work", "IRQ work" },
        [CAUSE_VECTOR] = { "vector", "interrupt" },
        [CAUSE_TASK] = { "task", "task" },
        [CAUSE_LOCAL_TIMER] = { "timer-interrupt", "timer interrupt" },
        [CAUSE_POLL] = { "poll-limit", "end of polling" },
        [CAUSE_UNSTORED] = { "other", "other (table of causes full)" },
};

const char *ledger_kind_text(enum cause_kind kind)
{
        return kind < CAUSE_KINDS ? kinds[kind].word : "unknown";
}

char *ledger_cause_text(const LedgerCause *cause)
{
        GString *text = g_string_new(cause->kind < CAUSE_KINDS ? kinds[cause->kind].title : "?");

        if (cause->irq >= 0)
                g_string_append_printf(text, " %d", cause->irq);
        if (cause->function && cause->kind != CAUSE_TICK)
                g_string_append_printf(text, " %s", cause->function);
        if (cause->name)
                g_string_append_printf(text, cause->function ? " (%s)" : " %s", cause->name);
        return g_string_free(text, FALSE);
}
