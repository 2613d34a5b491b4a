/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Snapshots as rows: what is known is there, what is not is absent, and the page describes it all.
 */
#include "model/counters.h"
#include "recording/recording-fixture.h"
#include "recording/sample.h"

#define CPUS 3

typedef struct World {
        Topology topology;
        TopologyCpu places[CPUS];
        IdleTable tables[CPUS];
        Snapshot *seen;
        RecordingBatch *batch;
        RecordingSampler *sampler;
        RecordingReader *reader;
} World;

/* A hybrid of two CPUs with states C1, C6 and one with C1, C8; the last one is offline. */
static World *world_new(void)
{
        World *world = g_new0(World, 1);

        world->topology.n_cpus = CPUS;
        world->topology.cpus = world->places;
        for (int cpu = 0; cpu < CPUS; cpu++) {
                IdleTable *table = &world->tables[cpu];

                cpuset_add(&world->topology.possible, cpu);
                world->places[cpu] = (TopologyCpu){ .core = (int16_t)cpu,
                                                    .node = -1,
                                                    .capacity = 1024 };
                table->n_states = 2;
                table->states[0] = (IdleState){ "C1", 1, 2 };
                table->states[1] = (IdleState){ "C6", 100, 300 };
        }
        world->tables[1].states[1] = (IdleState){ "C8", 200, 800 };
        cpuset_add_range(&world->topology.online, 0, 1);
        world->seen = snapshot_new(CPUS);
        world->seen->cpus = world->topology.online;
        world->seen->have = SENSE_LOAD;
        world->seen->interval_usec = 1000000;
        world->seen->real_usec = FIXTURE_START;
        world->seen->battery_level = -1;
        world->batch = recording_batch_new();
        world->sampler = recording_sampler_new(world->batch);
        recording_machine(world->sampler, &world->topology,
                          g_memdup2(world->tables, sizeof(world->tables)));
        return world;
}

static void world_free(World *world)
{
        snapshot_free(world->seen);
        recording_sampler_free(world->sampler);
        recording_batch_free(world->batch);
        recording_reader_free(world->reader);
        g_free(world);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(World, world_free)

/* The frame of all that was added. */
static const RecordedFrame *take(World *world)
{
        recording_reader_free(world->reader);
        return take_frame(world->batch, &world->reader);
}

static void give_residency(World *world)
{
        world->seen->have |= SENSE_RESIDENCY;
        if (!world->seen->residency)
                world->seen->residency = g_new0(Residency, CPUS);
        for (int cpu = 0; cpu < 2; cpu++) {
                world->seen->busy[cpu] = 0.5f;
                world->seen->residency[cpu] = (Residency){ .n_states = 2,
                                                           .busy = 0.5f,
                                                           .share = { 0.125f, 0.375f },
                                                           .entered = { 10, 20 },
                                                           .above = { 1, 2 },
                                                           .estimated = cpu == 0 ? 1 : -1 };
        }
}

TEST(states_by_name)
{
        g_autoptr(World) world = world_new();
        const RecordedFrame *frame;
        const RecordedTable *cpu;

        give_residency(world);
        ck_assert(recording_sample(world->sampler, world->seen, NULL));
        frame = take(world);
        cpu = recorded_table(frame, "cpu");
        ck_assert_uint_eq(cpu->n_rows, 2);
        ck_assert_double_eq(recorded_numbers(cpu, "residency_share", "C1")[1], 0.125);
        ck_assert_double_eq(recorded_numbers(cpu, "residency_share", "C6")[0], 0.375);
        ck_assert(isnan(recorded_numbers(cpu, "residency_share", "C6")[1]));
        ck_assert_double_eq(recorded_numbers(cpu, "residency_share", "C8")[1], 0.375);
        ck_assert_double_eq(recorded_numbers(cpu, "entered", "C8")[1], 20);
        ck_assert_ptr_null(recorded_numbers(cpu, "above", "C1")); /* they were not counted */
        ck_assert_double_eq(recorded_numbers(cpu, "estimated", NULL)[0], 1);
        ck_assert_double_eq(recorded_numbers(cpu, "estimated", NULL)[1], 0);
        ck_assert_ptr_null(recorded_numbers(cpu, "parked", NULL));
        ck_assert_uint_eq(recorded_table(frame, "topology")->n_rows, 2);
        ck_assert_uint_eq(recorded_table(frame, "idle_state")->n_rows, 4);
        ck_assert_ptr_null(
                recorded_column(recorded_table(frame, "machine"), "battery_share", NULL));
}

TEST(first_snapshot_is_no_sample)
{
        g_autoptr(World) world = world_new();

        world->seen->interval_usec = 0;
        ck_assert(!recording_sample(world->sampler, world->seen, NULL));
        ck_assert_uint_eq(recording_batch_size(world->batch), 0);
}

TEST(facts_change)
{
        g_autoptr(World) world = world_new();
        const RecordedTable *info;

        recording_fact(world->sampler, "kernel", "6.1");
        recording_fact(world->sampler, "daemon", "idled is not running");
        recording_fact(world->sampler, "kernel", "6.12");
        recording_fact(world->sampler, "daemon", NULL);
        recording_sample(world->sampler, world->seen, NULL);
        info = recorded_table(take(world), "info");
        ck_assert_uint_eq(info->n_rows, 1);
        ck_assert_str_eq(recorded_texts(info, "value", NULL)[0], "6.12");
}

/* A CPU comes with a state that was not there, in the middle of a frame. */
TEST(cpus_come)
{
        g_autoptr(World) world = world_new();
        const RecordedTable *cpu;

        give_residency(world);
        recording_sample(world->sampler, world->seen, NULL);
        strcpy(world->tables[2].states[1].name, "C10");
        cpuset_add(&world->topology.online, 2);
        recording_machine(world->sampler, &world->topology,
                          g_memdup2(world->tables, sizeof(world->tables)));
        world->seen->cpus = world->topology.online;
        world->seen->residency[2] = world->seen->residency[1];
        recording_sample(world->sampler, world->seen, NULL);
        cpu = recorded_table(take(world), "cpu");
        ck_assert_uint_eq(cpu->n_rows, 5);
        ck_assert(isnan(recorded_numbers(cpu, "residency_share", "C10")[1]));
        ck_assert_double_eq(recorded_numbers(cpu, "residency_share", "C10")[4], 0.375);
}

/* Everything that is written is described in docs/recording.md. */
TEST(page_has_it)
{
        static const RecordingCpu known[CPUS] = { { 1, 1, 1, 1, 1 } };
        g_autoptr(World) world = world_new();
        g_autofree char *page = NULL;
        const RecordedFrame *frame;

        ck_assert(g_file_get_contents(TESTS_DIR "/../docs/recording.md", &page, NULL, NULL));
        give_residency(world);
        world->seen->have |= SENSE_LOADAVG | SENSE_PRESSURE | SENSE_POWER | SENSE_IDLE_STATISTICS;
        world->seen->battery_level = 0.5;
        recording_fact(world->sampler, "kernel", "6.1");
        recording_sample(world->sampler, world->seen, known);
        recording_event(world->sampler, &(RecordingEvent){ 1, "start", "0-1", "x", "y" });
        frame = take(world);
        ck_assert_int_eq(frame->n_tables, 6);
        for (int t = 0; t < frame->n_tables; t++)
                for (int c = 0; c < frame->tables[t]->n_columns; c++) {
                        const RecordedColumn *column = &frame->tables[t]->columns[c];
                        g_autofree char *quoted = g_strdup_printf("`%s`", column->name);

                        ck_case(frame->tables[t]->name, strstr(page, quoted), "no %s in the page",
                                quoted);
                }
}

/* Clocks that go on by so much between two samples of one second, and what is noted. */
static const struct {
        const char *name;
        int64_t real_sec, boot_sec;
        const char *kinds; /* of the events */
} clocks[] = {
        { "as expected", 1, 1, "" },
        { "a late sample", 3, 3, "" },
        { "suspend", 3600, 3600, "gap " },
        { "the clock is set forward", 3601, 1, "clock " },
        { "the clock is set back", -3599, 1, "clock " },
        { "suspend, and a clock that was corrected after it", 3900, 3600, "gap clock " },
};

TEST_EACH(clocks_and_sleep, clocks)
{
        g_autoptr(World) world = world_new();
        g_autoptr(GString) kinds = g_string_new(NULL);
        uint64_t boot = UINT64_C(10000000000);
        const char *const *texts;
        const RecordedFrame *frame;
        const RecordedTable *events;

        recording_clocks(world->sampler, FIXTURE_START, boot, 1000000);
        recording_sample(world->sampler, world->seen, NULL);
        recording_clocks(world->sampler, FIXTURE_START + (uint64_t)(c->real_sec * 1000000),
                         boot + (uint64_t)(c->boot_sec * 1000000), 1000000);
        frame = take(world);
        events = recorded_table(frame, "event");
        texts = events ? recorded_texts(events, "kind", NULL) : NULL;
        for (size_t row = 0; texts && row < events->n_rows; row++)
                g_string_append_printf(kinds, "%s ", texts[row]);
        ck_case(c->name, g_str_equal(kinds->str, c->kinds), "found \"%s\"", kinds->str);
}

/* Both recorders write what a hold asks for by the same words. */
TEST(text_of_a_hold)
{
        const RecordingHold most = { .id = 3,
                                     .owner = "music",
                                     .uid = 1000,
                                     .latency_us = 0,
                                     .p99_us = 5000,
                                     .khz = 2000000,
                                     .cores = 2,
                                     .global = true,
                                     .cpus = "0-1",
                                     .kinds = "cache",
                                     .profile = "balanced",
                                     .reason = "playing" };
        const RecordingHold all = {
                .id = 4, .owner = "x", .latency_us = -1, .cores = CPUSET_MAX, .reason = ""
        };
        g_autoptr(World) world = world_new();
        const RecordedTable *events;
        const char *const *kinds, *const *texts;

        recording_hold(world->sampler, &most);
        recording_holds_end(world->sampler);
        recording_hold(world->sampler, &most);
        recording_hold(world->sampler, &all);
        recording_holds_end(world->sampler);
        recording_hold(world->sampler, &all);
        recording_holds_end(world->sampler);
        events = recorded_table(take(world), "event");
        kinds = recorded_texts(events, "kind", NULL);
        texts = recorded_texts(events, "text", NULL);
        ck_assert_uint_eq(events->n_rows, 3);
        ck_assert_str_eq(kinds[0], "hold");
        ck_assert_str_eq(recorded_texts(events, "cpus", NULL)[0], "0-1");
        ck_assert_str_eq(texts[0], "hold 3 of music (user 1000): latency 0 us on all CPUs p99 of "
                                   "wake-ups 5000 us 2 cores 2000000 kHz cores of kind cache "
                                   "profile balanced: playing");
        ck_assert_str_eq(kinds[1], "hold");
        ck_assert_str_eq(texts[1], "hold 4 of x (user 0): all cores");
        ck_assert_str_eq(kinds[2], "release");
        ck_assert_str_eq(texts[2], texts[0]);
}

/* The same profile or pauses again are no event. */
TEST(profile_and_pauses)
{
        g_autoptr(World) world = world_new();
        g_autoptr(GString) found = g_string_new(NULL);
        const RecordedTable *events;

        recording_pauses(world->sampler, NULL);
        for (int i = 0; i < 2; i++) {
                recording_profile(world->sampler, "balanced", "chosen");
                recording_pauses(world->sampler, "x: for tests");
        }
        recording_profile(world->sampler, NULL, NULL);
        recording_pauses(world->sampler, NULL);
        events = recorded_table(take(world), "event");
        for (size_t row = 0; row < events->n_rows; row++)
                g_string_append_printf(found, "%s %s, ", recorded_texts(events, "kind", NULL)[row],
                                       recorded_texts(events, "text", NULL)[row] ?: "-");
        ck_assert_str_eq(found->str, "profile balanced: chosen, pause x: for tests, "
                                     "profile none: , resume -, ");
}

UNIT("recording-sample")
