/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Replaying traces: a thread per CPU takes one after the other through all governors, while the
 * first thread shows how far they are.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/number.h"
#include "replay.h"

#define BATCH       512 /* records that are read, and then go through each governor */
#define PROGRESS_US 200000

typedef struct Work {
        const GPtrArray *choices;
        const StateTable *table;
        GAsyncQueue *done;
        uint64_t bytes,
                size; /* read of all files, changed by all threads; their size, 0: not known */
} Work;

static void run_free(void *data)
{
        Run *run = data;

        for (int i = 0; run->replays && run->replays[i]; i++)
                replay_free(run->replays[i]);
        g_free(run->replays);
        g_free(run->error);
        g_free(run);
}

static void replay_trace(Work *work, Run *run, Trace *trace)
{
        Record records[BATCH];
        uint64_t seen = 0;
        int n;

        while ((n = trace_read(trace, records, BATCH, &run->error)) > 0) {
                __atomic_add_fetch(&work->bytes, trace_bytes(trace) - seen, __ATOMIC_RELAXED);
                seen = trace_bytes(trace);
                for (int i = 0; run->replays[i]; i++)
                        replay_run(run->replays[i], records, n, NULL);
        }
        run->facts = trace_facts(trace);
}

static void replay_one(gpointer data, gpointer user)
{
        Work *work = user;
        Run *run = data;
        Trace *trace = trace_open(run->path, &run->error);

        run->replays = g_new0(Replay *, work->choices->len + 1);
        for (guint i = 0; i < work->choices->len; i++) {
                const Choice *choice = g_ptr_array_index(work->choices, i);

                run->replays[i] = replay_new(choice->governor, choice->options, work->table);
        }
        if (trace)
                replay_trace(work, run, trace);
        trace_free(trace);
        g_async_queue_push(work->done, run);
}

static void draw(const Work *work, guint done, guint n)
{
        uint64_t size = work->size, bytes = __atomic_load_n(&work->bytes, __ATOMIC_RELAXED);
        double share = size ? (double)MIN(bytes, size) / (double)size : NAN;
        g_autoptr(GString) text = g_string_new(NULL);

        if (size)
                g_string_printf(text, "%.0f %%", share * 100);
        else
                g_string_printf(text, "%" PRIu64 " MB read", bytes / 1000000);
        if (n > 1)
                g_string_append_printf(text, ", %u of %u traces", done, n);
        progress_draw(share, text->str);
}

static void wait_for_all(const Work *work, guint n)
{
        for (guint done = 0; done < n;)
                if (g_async_queue_timeout_pop(work->done, PROGRESS_US))
                        done++;
                else
                        draw(work, done, n);
        progress_draw(NAN, "");
}

/* The size of all files; 0: that of one is not known, as of a pipe. */
static uint64_t find_size(char *const *paths, int n)
{
        uint64_t size = 0;
        struct stat st;

        for (int i = 0; i < n; i++) {
                if (stat(paths[i], &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
                        return 0;
                size += (uint64_t)st.st_size;
        }
        return size;
}

GPtrArray *replay_runs(char *const *paths, int n, const GPtrArray *choices, const StateTable *table)
{
        g_autoptr(GAsyncQueue) done = g_async_queue_new();
        Work work = { choices, table, done, 0, find_size(paths, n) };
        GPtrArray *runs = g_ptr_array_new_with_free_func(run_free);
        GThreadPool *pool;

        pool = g_thread_pool_new(replay_one, &work, (int)g_get_num_processors(), TRUE, NULL);
        for (int i = 0; i < n; i++) {
                Run *run = g_new0(Run, 1);

                run->path = paths[i];
                g_ptr_array_add(runs, run);
        }
        for (guint i = 0; i < runs->len; i++)
                g_thread_pool_push(pool, g_ptr_array_index(runs, i), NULL);
        wait_for_all(&work, runs->len);
        g_thread_pool_free(pool, FALSE, TRUE);
        return runs;
}

int replay_decisions(const char *path, const Choice *choice, const StateTable *table)
{
        g_autofree char *error = NULL;
        Trace *trace = trace_open(path, &error);
        Replay *replay = replay_new(choice->governor, choice->options, table);
        char text[BATCH * 32];
        int8_t states[BATCH];
        Record records[BATCH];
        uint64_t record = 0;
        int n = trace ? 0 : -1;

        while (trace && (n = trace_read(trace, records, BATCH, &error)) > 0) {
                char *to = text;

                replay_run(replay, records, n, states);
                for (int i = 0; i < n; i++) {
                        to = number_put(to, record++, ' ');
                        to = number_put(to, records[i].cpu, ' ');
                        to = number_put(to, (uint64_t)states[i], '\n');
                }
                if (fwrite(text, 1, (size_t)(to - text), stdout) < (size_t)(to - text))
                        break; /* main() says why */
        }
        replay_free(replay);
        trace_free(trace);
        if (n == 0 && record == 0)
                return complain("replay: %s: found no idle periods", path);
        return n < 0 ? complain("%s", error) : EXIT_FINE;
}
