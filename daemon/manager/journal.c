/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The journal: causes by CPU, the texts that they refer to, and the history.
 */
#include "manager/journal.h"

#include <glib.h>

/* At more texts than this, and one for each CPU, those without a reference are dropped. */
#define TEXTS_MAX 64

struct Journal {
        int n_cpus;
        CpuCause *causes;  /* by CPU number */
        GHashTable *texts; /* of causes, as their own keys */
        History *history;
};

Journal *journal_new(int n_cpus, uint64_t now_usec)
{
        Journal *journal = g_new0(Journal, 1);

        journal->n_cpus = n_cpus;
        journal->causes = g_new0(CpuCause, (gsize)n_cpus);
        journal->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        journal->history = history_new(n_cpus, now_usec);
        return journal;
}

void journal_free(Journal *journal)
{
        if (!journal)
                return;
        history_free(journal->history);
        g_hash_table_unref(journal->texts);
        g_free(journal->causes);
        g_free(journal);
}

CpuCause *journal_cause(Journal *journal, int cpu)
{
        return &journal->causes[cpu];
}

static gboolean is_unused(gpointer text, gpointer value, gpointer userdata)
{
        const Journal *journal = userdata;

        for (int cpu = 0; cpu < journal->n_cpus; cpu++)
                if (journal->causes[cpu].reason.because == text)
                        return FALSE;
        return TRUE;
}

const char *journal_text(Journal *journal, char *text)
{
        gpointer kept;

        if (g_hash_table_lookup_extended(journal->texts, text, &kept, NULL)) {
                g_free(text);
                return kept;
        }
        if (g_hash_table_size(journal->texts) > TEXTS_MAX + (guint)journal->n_cpus)
                g_hash_table_foreach_remove(journal->texts, is_unused, journal);
        g_hash_table_add(journal->texts, text);
        return text;
}

History *journal_history(Journal *journal)
{
        return journal->history;
}
