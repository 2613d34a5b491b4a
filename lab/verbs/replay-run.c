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

static void replay_trace(Run *run, Trace *trace)
{
        Record records[BATCH];
        int n;

        while ((n = trace_read(trace, records, BATCH, &run->error)) > 0) {
                __atomic_store_n(&run->bytes, trace_bytes(trace), __ATOMIC_RELAXED);
                for (int i = 0; run->replays[i]; i++)
                        replay_run(run->replays[i], records, n, NULL);
        }
        run->facts = trace_facts(trace);
}

static void replay_one(gpointer data, gpointer user)
{
        const Work *work = user;
        Run *run = data;
        Trace *trace = trace_open(run->path, &run->error);

        run->replays = g_new0(Replay *, work->choices->len + 1);
        for (guint i = 0; i < work->choices->len; i++) {
                const Choice *choice = g_ptr_array_index(work->choices, i);

                run->replays[i] = replay_new(choice->governor, choice->options, work->table);
        }
        if (trace)
                replay_trace(run, trace);
        trace_free(trace);
        g_async_queue_push(work->done, run);
}

/* How much of all files has been read; `ret_size` is their size, 0 if one's is not known. */
static uint64_t count_bytes(const GPtrArray *runs, uint64_t *ret_size)
{
        uint64_t bytes = 0, size = 0;
        bool known = true;

        for (guint i = 0; i < runs->len; i++) {
                const Run *run = g_ptr_array_index(runs, i);

                bytes += __atomic_load_n(&run->bytes, __ATOMIC_RELAXED);
                size += run->size;
                known &= run->size > 0;
        }
        *ret_size = known ? size : 0;
        return bytes;
}

static void draw(const GPtrArray *runs, guint done)
{
        uint64_t size, bytes = count_bytes(runs, &size);
        double share = size ? (double)MIN(bytes, size) / (double)size : NAN;
        g_autoptr(GString) text = g_string_new(NULL);

        if (size)
                g_string_printf(text, "%.0f %%", share * 100);
        else
                g_string_printf(text, "%" PRIu64 " MB read", bytes / 1000000);
        if (runs->len > 1)
                g_string_append_printf(text, ", %u of %u traces", done, runs->len);
        progress_draw(share, text->str);
}

static void wait_for_all(GAsyncQueue *queue, const GPtrArray *runs)
{
        for (guint done = 0; done < runs->len;)
                if (g_async_queue_timeout_pop(queue, PROGRESS_US))
                        done++;
                else
                        draw(runs, done);
        progress_draw(NAN, "");
}

/* 0 if it is not known, as of a pipe. */
static uint64_t file_size(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

GPtrArray *replay_runs(char *const *paths, int n, const GPtrArray *choices, const StateTable *table)
{
        g_autoptr(GAsyncQueue) done = g_async_queue_new();
        Work work = { choices, table, done };
        GPtrArray *runs = g_ptr_array_new_with_free_func(run_free);
        GThreadPool *pool;

        pool = g_thread_pool_new(replay_one, &work, (int)g_get_num_processors(), TRUE, NULL);
        for (int i = 0; i < n; i++) {
                Run *run = g_new0(Run, 1);

                run->path = paths[i];
                run->size = file_size(paths[i]);
                g_ptr_array_add(runs, run);
        }
        for (guint i = 0; i < runs->len; i++)
                g_thread_pool_push(pool, g_ptr_array_index(runs, i), NULL);
        wait_for_all(done, runs);
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
