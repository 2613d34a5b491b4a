/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history: causes by CPU, the texts that they refer to, and the changes.
 *
 * The changes are a ring that grows to HISTORY_KEPT changes, and a sum for each CPU. Most changes
 * have one of few reasons and one of few sets, so strings are counted references. In the log an
 * entry has a field for each part, so that journalctl can filter them: IDLED_POLICY=ondemand.
 */
#include "manager/history.h"

#include <fcntl.h>
#include <glib.h>
#include <math.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/log.h"
#include "base/number.h"
#include "base/private-text.h"

#define FIELDS_MAX 12

/* At more texts than this, and one for each CPU, those without a reference are dropped. */
#define TEXTS_MAX 64

struct History {
        int n_cpus;
        CpuCause *cpus;    /* by CPU number */
        GHashTable *texts; /* of these causes, as their own keys */
        GArray *ring;      /* of Transition; number n is at (n - 1) % HISTORY_KEPT */
        uint64_t count;
        GArray *causes; /* of CauseCount */
        uint64_t start_usec;
        CpuSet noted;          /* those parked after the last change */
        uint64_t *since_usec;  /* of changes, by CPU number */
        CpuSet parked;         /* now */
        uint64_t *parked_usec; /* by CPU number: sums up to parked_since_usec */
        uint64_t parked_since_usec;
};

static void transition_clear(gpointer data)
{
        Transition *transition = data;

        g_clear_pointer((char **)&transition->parked, g_ref_string_release);
        g_clear_pointer((char **)&transition->reason.because, g_ref_string_release);
}

static void cause_clear(gpointer data)
{
        g_ref_string_release((char *)((CauseCount *)data)->policy);
}

History *history_new(int n_cpus, uint64_t now_usec)
{
        History *history = g_new0(History, 1);

        history->n_cpus = n_cpus;
        history->cpus = g_new0(CpuCause, (gsize)n_cpus);
        history->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        history->ring = g_array_new(FALSE, TRUE, sizeof(Transition));
        g_array_set_clear_func(history->ring, transition_clear);
        history->causes = g_array_new(FALSE, FALSE, sizeof(CauseCount));
        g_array_set_clear_func(history->causes, cause_clear);
        history->start_usec = now_usec;
        history->since_usec = g_new0(uint64_t, (gsize)n_cpus);
        history->parked_usec = g_new0(uint64_t, (gsize)n_cpus);
        return history;
}

void history_free(History *history)
{
        if (!history)
                return;
        g_free(history->cpus);
        g_hash_table_unref(history->texts);
        g_array_unref(history->ring);
        g_array_unref(history->causes);
        g_free(history->parked_usec);
        g_free(history->since_usec);
        g_free(history);
}

/* There are as many as policies, and three. */
static void count_cause(History *history, Cause cause, const char *policy)
{
        CauseCount added = { .cause = cause, .count = 1 };

        for (guint i = 0; i < history->causes->len; i++) {
                CauseCount *known = &g_array_index(history->causes, CauseCount, i);

                if (known->cause == cause && g_str_equal(known->policy, policy)) {
                        known->count++;
                        return;
                }
        }
        added.policy = g_ref_string_new_intern(policy);
        g_array_append_val(history->causes, added);
}

CpuSet history_moved(const History *history, const CpuSet *online, const CpuSet *parked)
{
        CpuSet moved = { 0 };

        CPUSET_FOREACH(cpu, online)
                if (cpuset_has(parked, cpu) != cpuset_has(&history->noted, cpu))
                        cpuset_add(&moved, cpu);
        return moved;
}

const Transition *history_add(History *history, const Transition *transition, const CpuSet *moved)
{
        Transition added = *transition, *place;

        added.number = ++history->count;
        count_cause(history, transition->cause, transition->policy ? transition->policy : "");
        added.parked = g_ref_string_new_intern(transition->parked);
        if (transition->reason.because)
                added.reason.because = g_ref_string_new_intern(transition->reason.because);
        if (history->ring->len < HISTORY_KEPT)
                g_array_set_size(history->ring, history->ring->len + 1);
        place = &g_array_index(history->ring, Transition, (added.number - 1) % HISTORY_KEPT);
        transition_clear(place);
        *place = added;
        CPUSET_FOREACH(cpu, moved) {
                history->since_usec[cpu] = transition->time_usec;
                if (cpuset_has(&history->noted, cpu))
                        cpuset_remove(&history->noted, cpu);
                else
                        cpuset_add(&history->noted, cpu);
        }
        return place;
}

uint64_t history_since_usec(const History *history, int cpu)
{
        return history->since_usec[cpu];
}

uint64_t history_age_usec(const History *history, uint64_t now_usec)
{
        return now_usec - history->start_usec;
}

uint64_t history_count(const History *history)
{
        return history->count;
}

unsigned history_causes(const History *history, const CauseCount **ret_counts)
{
        *ret_counts = (const CauseCount *)(void *)history->causes->data;
        return history->causes->len;
}

const Transition *history_find(const History *history, uint64_t number)
{
        if (number == 0 || number > history->count || number + HISTORY_KEPT <= history->count)
                return NULL;
        return &g_array_index(history->ring, Transition, (number - 1) % HISTORY_KEPT);
}

void history_note_parked(History *history, const CpuSet *parked, uint64_t now_usec)
{
        CPUSET_FOREACH(cpu, &history->parked)
                history->parked_usec[cpu] += now_usec - history->parked_since_usec;
        history->parked_since_usec = now_usec;
        history->parked = *parked;
}

uint64_t history_parked_usec(const History *history, int cpu, uint64_t now_usec)
{
        bool is_parked = cpuset_has(&history->parked, cpu);

        return history->parked_usec[cpu] + (is_parked ? now_usec - history->parked_since_usec : 0);
}

char *transition_explain(const Transition *transition)
{
        g_autofree char *source = source_format(&transition->option_source);
        g_autofree char *text = explain_change(
                transition->parked, &(Explanation){ transition->policy, transition->reason, source,
                                                    transition->cause });

        *text = g_ascii_toupper(*text);
        return g_strconcat(text, ".", NULL);
}

static void add_field(GPtrArray *fields, const char *name, const char *value)
{
        g_autofree char *whole = value ? private_text_for(value, 0) : NULL;

        if (whole && *whole)
                g_ptr_array_add(fields, g_strdup_printf("%s=%s", name, whole));
}

/* "filtered load=0.4 CPUs, wanted=1 core". */
static char *inputs_format(const Reason *reason)
{
        GString *text = g_string_new(NULL);

        for (int i = 0; i < REASON_INPUTS && reason->inputs[i].name; i++) {
                const char *unit = reason->inputs[i].unit;
                g_autofree char *value = NULL;

                if (!isfinite(reason->inputs[i].value))
                        continue;
                value = value_format(reason->inputs[i].value, unit ? unit : "");
                g_string_append_printf(text, "%s%s=%s", text->len ? ", " : "",
                                       reason->inputs[i].name, value);
        }
        return g_string_free(text, FALSE);
}

static char *threshold_format(const Reason *reason)
{
        if (!reason->threshold_unit || !isfinite(reason->threshold))
                return NULL;
        return value_format(reason->threshold, reason->threshold_unit);
}

/* Only root and the administrator's group read the journal. */
static GPtrArray *decision_fields(const Transition *transition, const char *text)
{
        GPtrArray *fields = g_ptr_array_new_full(FIELDS_MAX, g_free);
        const Reason *reason = &transition->reason;
        g_autofree char *inputs = inputs_format(reason), *threshold = threshold_format(reason);
        g_autofree char *source = reason->option ? source_format(&transition->option_source) : NULL;
        g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, transition->number);

        add_field(fields, "MESSAGE", text);
        add_field(fields, "MESSAGE_ID", DECISION_MESSAGE_ID);
        add_field(fields, "PRIORITY", G_STRINGIFY(LOG_INFO));
        add_field(fields, "SYSLOG_IDENTIFIER", "idled");
        add_field(fields, "IDLED_TRANSITION", number);
        g_ptr_array_add(fields, g_strconcat("IDLED_PARKED=", transition->parked, NULL));
        add_field(fields, "IDLED_POLICY",
                  *cause_name(transition->cause, transition->policy)
                          ? cause_name(transition->cause, transition->policy)
                          : NULL);
        add_field(fields, "IDLED_BECAUSE", reason->because);
        add_field(fields, "IDLED_INPUTS", inputs);
        add_field(fields, "IDLED_OPTION", reason->option);
        add_field(fields, "IDLED_THRESHOLD", threshold);
        add_field(fields, "IDLED_SOURCE", source);
        return fields;
}

static bool journal_is_there(int root)
{
        return g_str_equal(log_get_target(), "journal") &&
               faccessat(root, "run/systemd/journal/socket", F_OK, 0) == 0;
}

static int send_fields(const GPtrArray *fields)
{
        struct iovec parts[FIELDS_MAX];
        guint n = MIN(fields->len, FIELDS_MAX);

        for (guint i = 0; i < n; i++)
                parts[i] = (struct iovec){ fields->pdata[i], strlen(fields->pdata[i]) };
        return sd_journal_sendv(parts, (int)n);
}

void decision_log(int root, const Transition *transition)
{
        g_autofree char *text = transition_explain(transition);
        g_autoptr(GPtrArray) fields = NULL;

        if (log_get_level() < LOG_INFO)
                return;
        fields = decision_fields(transition, text);
        if (!journal_is_there(root) || send_fields(fields) < 0)
                log_info("%s", text);
}

CpuCause *history_cause(History *history, int cpu)
{
        return &history->cpus[cpu];
}

static gboolean is_unused(gpointer text, gpointer value, gpointer userdata)
{
        const History *history = userdata;

        for (int cpu = 0; cpu < history->n_cpus; cpu++)
                if (history->cpus[cpu].reason.because == text)
                        return FALSE;
        return TRUE;
}

const char *history_text(History *history, char *text)
{
        gpointer kept;

        if (g_hash_table_lookup_extended(history->texts, text, &kept, NULL)) {
                g_free(text);
                return kept;
        }
        if (g_hash_table_size(history->texts) > TEXTS_MAX + (guint)history->n_cpus)
                g_hash_table_foreach_remove(history->texts, is_unused, history);
        g_hash_table_add(history->texts, text);
        return text;
}
