/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab advise: which of the kernel's governors, with which limit on idle states, would have been
 * best for recorded idle periods.
 *
 * 1. Candidates are the governors that the kernel has, each with each state as the deepest one, as
 *    long as it does not poll and its exit latency is within the bound; and teo with cstates'
 *    UtilizationAware=, and menu and teo with its History=.
 * 2. Each is replayed over all traces, with the deeper states switched off.
 * 3. The best is, of those that need at most 1 % more energy than the least, the one with the
 *    shortest mean exit latency. If several did the same, the one with the deepest limit.
 *    ladder counts 15 % more, unless it is in effect.
 * 4. What is in effect stays if it is within the bound, and the best saves less than predictions
 *    may be wrong by. Without a model of the governor in effect, nothing can be said. With few
 *    periods, nothing is set.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advise-present.h"
#include "base/file.h"
#include "cli/client.h"
#include "replay.h"
#include "sense/sensor.h"
#include "cli/price.h"
#include "cli/save.h"
#include "verbs.h"

static uint64_t asked_usec;      /* longest exit latency; 0: any */
static const char *asked_record; /* seconds; NULL: traces are given */
static double asked_seconds;     /* the same as a number */

#define NEAR           1.01 /* energies that count as the same */
#define SURE           5    /* percent: smaller savings do not hold (lab/governors/README.md) */
#define LADDER_ERROR   1.15 /* predictions for ladder may be wrong by that */
#define SURE_ASSUMED   10   /* the same if the powers of the states are assumed */
#define PERIODS_NEEDED 2000 /* fewer choose worse than all of one (lab/governors/README.md) */
#define CANDIDATES     6
#define ADVISED        "IdleGovernorAdvised" /* IdleGovernor=auto uses it */

static bool apply, save, by_auto; /* --apply, --save, --auto */

/* The options of cstates that advice is about. With IdleGovernor=auto, the last instead of the
 * first. */
static const char *const advised[] = { "IdleGovernor", "DeepestState", "UtilizationAware",
                                       "History", ADVISED };

/* One governor of the kernel, and by which model it is replayed. */
typedef struct Candidate {
        const char *kernel, *model;
        bool by_utilization, by_history;
} Candidate;

typedef struct Result {
        const Candidate *candidate;
        int deepest;
        Score score;
} Result;

/* What is in effect on this machine. */
typedef struct Present {
        char *governor; /* "": not known */
        int deepest;    /* state */
        bool by_utilization, by_history;
        bool here; /* the periods are this machine's, not maybe another's */
} Present;

static const VerbOption advise_options[] = {
        { "table", "FILE", "the idle states; this: those of this machine",
          .text = &replay_arguments.table },
        { "power", "NAME", "the power table, for the states of this machine",
          .text = &power_asked },
        { "latency", "TIME", "no wake-up may take longer than this", .number = &asked_usec,
          .least = 1, .expected = "a duration such as 50us" },
        { "record", "SECONDS", "record this machine instead of reading traces",
          .text = &asked_record, .real = &asked_seconds, .least = 1, .most = 86400,
          .expected = "a number of seconds from 1 to 86400" },
        { "apply", NULL, "set the options of cstates to the best, until idled ends",
          .flag = &apply },
        { "save", NULL, "write the best into a drop-in that outlives idled, and reload",
          .flag = &save },
        { "auto", NULL, "as --apply if IdleGovernor=auto, otherwise do nothing", .flag = &by_auto },
        { 0 },
};

static int advise_check(const Ctl *ctl, const Verb *verb)
{
        apply |= by_auto;
        if (replay_check_table(ctl, verb) != EXIT_FINE)
                return EXIT_USAGE;
        if (by_auto && save)
                return complain_usage(verb, "advise: --auto and --save exclude each other");
        if ((ctl->n_args > 0) == (asked_record != NULL))
                return complain_usage(verb, "advise: expected either traces or --record");
        for (int i = 0; i < ctl->n_args; i++)
                if (g_str_equal(ctl->args[i], "-"))
                        return complain_usage(verb, "a trace is read several times: found standard "
                                                    "input, expected a file");
        return EXIT_FINE;
}

/* What the machine says; NULL if it says nothing. */
static char *machine_text(const Ctl *ctl, const char *path)
{
        char *text = NULL;

        return file_read(ctl->root, path, &text) == 0 ? g_strchomp(text) : NULL;
}

/* Without powers: each state needs half as much as the one before it. True if that was assumed. */
static bool assume_powers(StateTable *table)
{
        if (table->has_power)
                return false;
        for (int i = 0; i < table->n; i++)
                table->states[i].power_mw = 1000 / (double)(1 << i);
        state_table_price(table);
        return true;
}

static void add_score(Score *sum, const Score *score)
{
        sum->periods += score->periods;
        sum->correct += score->correct;
        sum->deep += score->deep;
        sum->shallow += score->shallow;
        sum->energy += score->energy;
        sum->ideal_energy += score->ideal_energy;
        sum->latency_ns += score->latency_ns;
        sum->idle_ns += score->idle_ns;
}

/* Replays the governors of `list` with `deepest` as the deepest state. Scores are in the list's
 * order; -1 after messages. */
static int replay_limited(const Ctl *ctl, const StateTable *table, int deepest, const char *list,
                          Score *ret_scores)
{
        StateTable limited = *table;
        g_autoptr(GPtrArray) choices = NULL, runs = NULL;

        for (int i = deepest + 1; i < limited.n; i++)
                limited.states[i].off = true;
        choices = replay_choices(ctl, list, &limited);
        if (!choices)
                return -1;
        runs = replay_runs(ctl->args, ctl->n_args, choices, &limited);
        for (guint r = 0; r < runs->len; r++) {
                const Run *run = g_ptr_array_index(runs, r);

                if (run->error)
                        return complain("%s", run->error), -1;
                for (guint i = 0; i < choices->len; i++)
                        add_score(&ret_scores[i], replay_score(run->replays[i]));
        }
        return 0;
}

/* The candidates by the models of the kernel with this release, of the newest for one that is not
 * known. */
static void list_candidates(const char *release, Candidate ret[CANDIDATES])
{
        static const struct {
                unsigned major, minor; /* up to below this */
                const char *menu, *menu_by_history, *teo, *teo_by_history;
        } kernels[] = {
                { 6, 12, "menu-6.1", "history:menu-6.1", "teo-6.1", "history:teo-6.1" },
                { 6, 18, "menu-6.12", "history:menu-6.12", "teo-6.12", "history:teo-6.12" },
                { 7, 0, "menu-6.12", "history:menu-6.12", "teo-6.18", "history:teo-6.18" },
                { UINT_MAX, 0, "menu-7.3", "history:menu-7.3", "teo-7.3", "history:teo-7.3" },
        };
        unsigned major = 7, minor = 0, k = 0;

        if (release && sscanf(release, "%u.%u", &major, &minor) != 2)
                major = 7;
        while (major > kernels[k].major || (major == kernels[k].major && minor >= kernels[k].minor))
                k++;
        ret[0] = (Candidate){ "menu", kernels[k].menu };
        ret[1] = (Candidate){ "teo", kernels[k].teo };
        ret[2] = (Candidate){ "ladder", "ladder" };
        ret[3] = (Candidate){ "teo", "teo-util", .by_utilization = true };
        ret[4] = (Candidate){ "menu", kernels[k].menu_by_history, .by_history = true };
        ret[5] = (Candidate){ "teo", kernels[k].teo_by_history, .by_history = true };
}

/* Those that this machine has, and their models with commas. NULL after a message. */
static GArray *find_candidates(const Ctl *ctl, bool here, char **ret_list)
{
        g_autofree char *release = machine_text(ctl, "proc/sys/kernel/osrelease");
        g_autofree char *available =
                here ? machine_text(ctl, "sys/devices/system/cpu/cpuidle/available_governors")
                     : NULL;
        g_auto(GStrv) words = g_strsplit_set(available ? available : "", " \n\t", -1);
        g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Candidate));
        g_autoptr(GString) list = g_string_new(NULL);
        Candidate all[CANDIDATES];

        list_candidates(release, all);
        for (int i = 0; i < CANDIDATES; i++) {
                if (available && !g_strv_contains((const char *const *)words, all[i].kernel))
                        continue;
                g_string_append_printf(list, "%s%s", found->len ? "," : "", all[i].model);
                g_array_append_val(found, all[i]);
        }
        if (found->len == 0) {
                complain("advise: found governors \"%s\", there are models of menu, teo and ladder "
                         "only",
                         available);
                return NULL;
        }
        *ret_list = g_string_free(g_steal_pointer(&list), FALSE);
        return g_steal_pointer(&found);
}

/* All candidates with all limits. NULL after a message. */
static GArray *try_all(const Ctl *ctl, const StateTable *table, const GArray *candidates,
                       const char *list)
{
        g_autoptr(GArray) results = g_array_new(FALSE, FALSE, sizeof(Result));

        for (int deepest = 0; deepest < table->n; deepest++) {
                const ReplayState *state = &table->states[deepest];
                Score scores[CANDIDATES] = { 0 };

                if (state->off || (state->polling && state_table_next(table, deepest, 1) >= 0))
                        continue;
                if (replay_limited(ctl, table, deepest, list, scores) < 0)
                        return NULL;
                for (guint i = 0; i < candidates->len; i++) {
                        Result result = { &g_array_index(candidates, Candidate, i), deepest,
                                          scores[i] };

                        g_array_append_val(results, result);
                }
        }
        return g_steal_pointer(&results);
}

static int by_energy(gconstpointer a, gconstpointer b)
{
        const Result *x = a, *y = b;

        return x->score.energy < y->score.energy ? -1 : x->score.energy > y->score.energy;
}

/* ladder, unless it is in effect: lengths of sleeps follow from what it chose before. */
static bool is_unsure(const Result *result, const Present *present)
{
        return g_str_equal(result->candidate->kernel, "ladder") &&
               !g_str_equal(present->governor, "ladder");
}

/* The energy that may be needed. */
static double energy_at_most(const Result *result, const Present *present)
{
        return result->score.energy * (is_unsure(result, present) ? LADDER_ERROR : 1);
}

/* True if it wakes up sooner, or does the same with a deeper limit: a limit must save something. */
static bool is_better(const Result *result, const Result *than)
{
        if (result->score.latency_ns != than->score.latency_ns)
                return result->score.latency_ns < than->score.latency_ns;
        return result->score.energy == than->score.energy && result->deepest > than->deepest;
}

/* Among those that need hardly more than the least, the one that wakes up soonest. */
static const Result *best_of(const GArray *results, const Present *present)
{
        const Result *best = NULL;
        double least = INFINITY;

        for (guint i = 0; i < results->len; i++)
                least = fmin(least, energy_at_most(&g_array_index(results, Result, i), present));
        for (guint i = 0; i < results->len; i++) {
                const Result *result = &g_array_index(results, Result, i);

                if (energy_at_most(result, present) <= least * NEAR &&
                    (!best || is_better(result, best)))
                        best = result;
        }
        return best;
}

/* `least` is the energy that the ratio is to. */
static json_object *describe(const Result *result, const StateTable *table, bool assumed,
                             double least)
{
        json_object *answer = json_object_new_object();
        const Score *score = &result->score;
        const ReplayState *state = &table->states[result->deepest];

        json_put_text(answer, "governor", result->candidate->kernel);
        json_put_text(answer, "model", result->candidate->model);
        json_put_bool(answer, "utilization_aware", result->candidate->by_utilization);
        json_put_bool(answer, "history", result->candidate->by_history);
        json_put_text(answer, "deepest_state", state->name);
        json_put_int(answer, "worst_exit_latency_us", state->latency_ns / 1000);
        json_put_real(answer, "mean_exit_latency_us",
                      score->latency_ns / (double)score->periods / 1000, 3);
        json_put_real(answer, "correct_percent",
                      100 * (double)score->correct / (double)score->periods, 3);
        json_put_real(answer, "energy_ratio", least > 0 ? score->energy / least : NAN, 6);
        json_put_real(answer, "energy_joules", assumed ? NAN : score->energy / 1e12, 9);
        json_put_real(answer, "idle_power_mw", assumed ? NAN : score->energy / score->idle_ns, 3);
        return answer;
}

/* An option that is not at its default is set by an advice without it, too. */
static void put_choice(const Ctl *ctl, json_object *settings, const char *key, bool value)
{
        if (value || present_is_set(ctl, key))
                json_put_text(settings, key, value ? "yes" : "no");
}

/* "Key=value" of each option of cstates that differs from its default or is set. */
static json_object *describe_settings(const Ctl *ctl, const Result *best, const StateTable *table)
{
        json_object *settings = json_object_new_object();
        int64_t latency_us = table->states[best->deepest].latency_ns / 1000;
        g_autofree char *latency = g_strdup_printf("%" G_GINT64_FORMAT "us", latency_us);

        json_put_text(settings, "IdleGovernor", best->candidate->kernel);
        if ((!by_auto && present_is_limited(ctl)) || state_table_next(table, best->deepest, 1) >= 0)
                json_put_text(settings, "DeepestState", latency);
        put_choice(ctl, settings, "UtilizationAware", best->candidate->by_utilization);
        put_choice(ctl, settings, "History", best->candidate->by_history);
        return settings;
}

/* Until idled ends, and for ever. */
static json_object *describe_commands(json_object *settings)
{
        json_object *commands = json_object_new_array();
        g_autoptr(GString) command = g_string_new("idlectl set cstates");

        json_object_object_foreach(settings, key, value)
                g_string_append_printf(command, " %s=%s", key, json_object_get_string(value));
        json_add_text(commands, command->str);
        g_string_append(command, " --save");
        json_add_text(commands, command->str);
        return commands;
}

/* The candidate that is in effect. NULL if there is no model of it. */
static const Result *find_now(const GArray *results, const Present *present)
{
        for (guint i = 0; i < results->len; i++) {
                const Result *result = &g_array_index(results, Result, i);

                if (result->candidate->by_utilization == present->by_utilization &&
                    result->candidate->by_history == present->by_history &&
                    result->deepest == present->deepest &&
                    g_str_equal(result->candidate->kernel, present->governor))
                        return result;
        }
        return NULL;
}

/* How much less energy `best` needs than `other`; NAN if that is not known. */
static double saving(const Result *best, double other)
{
        return other > 0 ? 100 * (1 - best->score.energy / other) : NAN;
}

/* As a new string. */
static char *combination_text(const char *governor, const char *deepest, bool by_utilization,
                              bool by_history)
{
        return g_strdup_printf("%s with %s as the deepest state%s%s", governor, deepest,
                               by_utilization ? ", UtilizationAware=yes" : "",
                               by_history ? ", History=yes" : "");
}

static bool is_few(uint64_t periods)
{
        return periods < PERIODS_NEEDED;
}

/* Why nothing should change; NULL: something should. */
static char *find_obstacle(const Ctl *ctl, const Result *best, const Result *now,
                           const Present *present, const StateTable *table, bool assumed)
{
        int sure = assumed ? SURE_ASSUMED : SURE;

        if ((apply || save) && is_few(best->score.periods))
                return g_strdup_printf("%" PRIu64 " idle periods are too few: --apply, --save and "
                                       "--auto need %d. Record for longer.",
                                       best->score.periods, PERIODS_NEEDED);
        if (!now && (!*present->governor || !present->here))
                return NULL;
        if (!now) {
                g_autofree char *text = combination_text(
                        present->governor, table->states[present->deepest].name,
                        present->by_utilization, present->by_history);

                return g_strdup_printf("There is no model of %s, which is in effect, so it is not "
                                       "known what a change saves.",
                                       text);
        }
        if (asked_usec && (uint64_t)table->states[now->deepest].latency_ns / 1000 > asked_usec)
                return NULL;
        if (saving(best, now->score.energy) >= sure)
                return NULL;
        return g_strdup_printf("No candidate saves %d %%, and predictions may be wrong by that%s.",
                               sure, assumed ? ", because powers are assumed" : "");
}

static void describe_change(const Ctl *ctl, json_object *answer, const Result *best,
                            const StateTable *table, const char *obstacle)
{
        json_object *settings = obstacle ? json_object_new_object()
                                         : describe_settings(ctl, best, table);

        json_put_bool(answer, "change", !obstacle);
        json_put_text_any(answer, "obstacle", obstacle ? obstacle : "");
        json_put(answer, "settings", settings);
        json_put(answer, "commands",
                 obstacle ? json_object_new_array() : describe_commands(settings));
}

/* The deepest state of the candidates, which those with a limit leave unused, and of `best`. */
static int find_deepest(const GArray *within, const Result *best)
{
        int deepest = best->deepest;

        for (guint i = 0; i < within->len; i++)
                deepest = MAX(deepest, g_array_index(within, Result, i).deepest);
        return deepest;
}

static json_object *describe_all(const Ctl *ctl, const GArray *within, const GArray *all,
                                 const StateTable *table, const Present *present, bool assumed)
{
        json_object *answer = json_object_new_object(), *rows = json_object_new_array();
        const Result *best = best_of(within, present), *now = find_now(all, present);
        double least = g_array_index(within, Result, 0).score.energy;
        g_autofree char *obstacle = find_obstacle(ctl, best, now, present, table, assumed);
        Score bound[1] = { 0 };

        for (guint i = 0; i < within->len; i++)
                json_object_array_add(
                        rows, describe(&g_array_index(within, Result, i), table, assumed, least));
        if (obstacle && now)
                best = now;
        if (replay_limited(ctl, table, find_deepest(within, best), "omniscient", bound) < 0)
                bound->energy = NAN;
        json_put_int(answer, "periods", (int64_t)best->score.periods);
        json_put_int(answer, "periods_needed", PERIODS_NEEDED);
        json_put_int_from(answer, "latency_us", (int64_t)asked_usec, 1);
        json_put_bool(answer, "powers_assumed", assumed);
        json_put(answer, "candidates", rows);
        json_put_text_any(answer, "governor_now", present->governor);
        json_put(answer, "now", now ? describe(now, table, assumed, least) : NULL);
        json_put(answer, "best", describe(best, table, assumed, least));
        json_put_real(answer, "saved_percent", now ? saving(best, now->score.energy) : NAN, 3);
        json_put_real(answer, "above_ideal_percent",
                      bound->energy > 0 ? 100 * (best->score.energy / bound->energy - 1) : NAN, 3);
        describe_change(ctl, answer, best, table, obstacle);
        return answer;
}

static void find_present(Ctl *ctl, const StateTable *table, bool here, Present *ret_present)
{
        char *governor = machine_text(ctl, "sys/devices/system/cpu/cpuidle/current_governor");

        *ret_present = (Present){
                .governor = governor ? governor : g_strdup(""),
                .deepest = present_deepest(ctl, table),
                .by_utilization = present_is(ctl, "UtilizationAware", "yes"),
                .by_history = present_is(ctl, "History", "yes"),
                .here = here,
        };
}

/* The results that wake up within the bound, sorted by energy. NULL after a message. */
static GArray *sort_within(const GArray *all, const StateTable *table)
{
        g_autoptr(GArray) within = g_array_new(FALSE, FALSE, sizeof(Result));

        for (guint i = 0; i < all->len; i++) {
                const Result *result = &g_array_index(all, Result, i);
                int64_t latency_us = table->states[result->deepest].latency_ns / 1000;

                if (!asked_usec || (uint64_t)latency_us <= asked_usec)
                        g_array_append_vals(within, result, 1);
        }
        g_array_sort(within, by_energy);
        if (within->len == 0)
                complain(asked_usec ? "advise: no idle state that does not poll wakes up within "
                                      "--latency"
                                    : "advise: no idle state is enabled");
        else if (g_array_index(within, Result, 0).score.periods == 0)
                complain("advise: found no idle periods in the traces");
        else
                return g_steal_pointer(&within);
        return NULL;
}

static int advise(Ctl *ctl, json_object **ret_answer)
{
        bool own_table = !replay_arguments.table || g_str_equal(replay_arguments.table, "this");
        bool here = own_table || asked_record || apply || save, assumed;
        g_autoptr(GArray) candidates = NULL, within = NULL, all = NULL;
        g_autofree char *list = NULL;
        StateTable table;
        Present present;

        if (replay_table(ctl, replay_arguments.table, &table) != EXIT_FINE)
                return EXIT_FAILED;
        if (own_table && !(by_auto && present_is_limited(ctl)))
                present_switch_own_on(ctl, &table);
        assumed = assume_powers(&table);
        candidates = find_candidates(ctl, here, &list);
        all = candidates ? try_all(ctl, &table, candidates, list) : NULL;
        within = all ? sort_within(all, &table) : NULL;
        if (!within)
                return EXIT_FAILED;
        find_present(ctl, &table, here, &present);
        *ret_answer = describe_all(ctl, within, all, &table, &present, assumed);
        g_free(present.governor);
        return EXIT_FINE;
}

/* Records by this program's own verb, which needs what a build may lack. EXIT_FAILED after a
 * message, which may be that verb's. */
static int record(const char *path, const char *seconds)
{
        g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
        const char *arguments[] = { program, "record",  "--idle", path, "--seconds",
                                    seconds, "--exits", "--json", NULL };
        g_autoptr(GError) error = NULL;
        int status;

        if (!program)
                return complain("advise: --record needs /proc");
        if (!g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL,
                          NULL, NULL, &status, &error))
                return complain("advise: %s", error->message);
        return g_spawn_check_wait_status(status, NULL)
                       ? EXIT_FINE
                       : complain("advise: idlelab record failed; expected a trace instead of "
                                  "--record");
}

/* What idled has for the options now, and where it is from. */
static json_object *describe_effect(Ctl *ctl)
{
        json_object *effect = json_object_new_array();

        for (size_t i = 0; i < G_N_ELEMENTS(advised); i++) {
                g_autoptr(json_object) setting = present_setting(ctl, advised[i]);
                json_object *one;

                if (!setting)
                        continue;
                one = json_add(effect);
                json_put_members(one, setting, "key value source");
        }
        return effect;
}

/* What IdleGovernor=auto then uses, and says why. */
static char *describe_choice(const Ctl *ctl, json_object *answer)
{
        g_autoptr(GDateTime) now = g_date_time_new_now_local();
        g_autofree char *date = g_date_time_format(now, "%Y-%m-%d %H:%M");
        const char *governor = json_text(json_get(answer, "settings"), "IdleGovernor");
        double saved = json_number(answer, "saved_percent", NAN);
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "%s: auto chose %s by the advice of %s", governor, governor,
                               date);
        if (saved > 0)
                g_string_append_printf(text, ", which saves %s%.1f %% of the energy while idle",
                                       json_true(answer, "powers_assumed") ? "~" : "", saved);
        if (asked_usec)
                g_string_append_printf(
                        text, ", with wake-ups of at most %.0f us",
                        json_number(json_get(answer, "best"), "worst_exit_latency_us", 0));
        return g_string_free(text, FALSE);
}

/* Until idled ends. IdleGovernor=auto stays, and uses what is chosen. */
static int apply_values(Ctl *ctl, json_object *answer, SavedValue *values, guint n)
{
        g_autoptr(json_object) warnings = NULL; /* this section has none */
        g_autofree char *choice = NULL;

        if (!client_manager(ctl->client))
                return complain("advise: nothing was applied: %s; use --save",
                                client_problem(ctl->client));
        if (present_is(ctl, "IdleGovernor", "auto")) {
                choice = describe_choice(ctl, answer);
                values[n - 1].value = choice;
                return settings_set(ctl, ADVISE_SECTION, values + 1, n - 1, &warnings);
        }
        return settings_set(ctl, ADVISE_SECTION, values, n, &warnings);
}

/* EXIT_FAILED after a message if --apply or --save cannot say what is best. */
static int change_nothing(Ctl *ctl, json_object *answer)
{
        bool few = is_few((uint64_t)json_int(answer, "periods", 0));

        json_put(answer, "in_effect", describe_effect(ctl));
        return by_auto || (json_get(answer, "now") && !few)
                       ? EXIT_FINE
                       : complain("advise: nothing was applied: %s", json_text(answer, "obstacle"));
}

/* Does what --apply and --save ask for. What an earlier advice set and this one does not is taken
 * back. EXIT_FAILED after a message. */
static int carry_out(Ctl *ctl, json_object *answer)
{
        json_object *settings = json_get(answer, "settings");
        SavedValue values[G_N_ELEMENTS(advised)];
        g_autofree char *path = NULL;
        int status;

        if (!json_true(answer, "change"))
                return change_nothing(ctl, answer);
        for (size_t i = 0; i < G_N_ELEMENTS(advised); i++) {
                json_object *value = json_get(settings, advised[i]);

                values[i] = (SavedValue){ advised[i], value ? json_object_get_string(value) : "" };
        }
        if (save)
                status = settings_save(ctl, ADVISE_SECTION, values, G_N_ELEMENTS(values) - 1,
                                       &path);
        else
                status = apply_values(ctl, answer, values, G_N_ELEMENTS(values));
        if (status != EXIT_FINE)
                return status;
        client_forget(ctl->client);
        json_put_text_any(answer, "saved_in", path);
        json_put(answer, "in_effect", describe_effect(ctl));
        return EXIT_FINE;
}

/* From recorded periods. Their file has no name, so that an interrupted recording leaves none. */
static int advise_recorded(Ctl *ctl, json_object **ret_answer)
{
        g_autofree char *name = NULL, *path = NULL;
        char *recorded[2] = { NULL };
        g_autoptr(GError) error = NULL;
        _fd_ int fd = g_file_open_tmp("idlectl-advise-XXXXXX", &name, &error);
        int status;

        if (fd < 0)
                return complain("advise: %s", error->message);
        unlink(name);
        path = g_strdup_printf("/proc/%d/fd/%d", (int)getpid(), fd);
        recorded[0] = path;
        ctl->args = recorded;
        ctl->n_args = 1;
        status = record(path, asked_record);
        client_forget(ctl->client);
        if (status == EXIT_FINE)
                status = advise(ctl, ret_answer);
        ctl->n_args = 0;
        return status;
}

/* For --auto without IdleGovernor=auto, which is no error. EXIT_FAILED after a message if idled
 * does not run. */
static int refuse(Ctl *ctl, json_object **ret_answer)
{
        g_autoptr(json_object) setting = present_setting(ctl, "IdleGovernor");
        g_autofree char *why = setting ? g_strdup_printf("IdleGovernor is %s, not auto.",
                                                         json_text(setting, "value"))
                                       : g_strdup("The policy " ADVISE_SECTION " is not active.");
        json_object *answer;

        if (!client_manager(ctl->client))
                return complain("advise: %s", client_problem(ctl->client));
        answer = json_object_new_object();
        json_put_bool(answer, "change", false);
        json_put_text(answer, "obstacle", why);
        *ret_answer = answer;
        return EXIT_FINE;
}

static int advise_ask(Ctl *ctl, json_object **ret_answer)
{
        int status;

        /* The bus closes connections that say nothing within 30 s, and recording takes longer. */
        client_manager(ctl->client);
        if (by_auto && !present_is(ctl, "IdleGovernor", "auto"))
                return refuse(ctl, ret_answer);
        status = asked_record ? advise_recorded(ctl, ret_answer) : advise(ctl, ret_answer);
        return *ret_answer && (apply || save) ? carry_out(ctl, *ret_answer) : status;
}

/* Energy of a row by that of the best: known even where powers are assumed. */
static void show_candidates(const Ctl *ctl, json_object *answer)
{
        g_autoptr(Table) table = table_new();
        const char *mark = json_true(answer, "powers_assumed") ? "~" : "";
        json_object *row;

        table_columns(table, "Governor|Deepest|>Energy|>Exit_us|>Worst_us|>Correct%");
        JSON_FOREACH(row, json_get(answer, "candidates")) {
                g_autofree char *name = g_strdup_printf(
                        "%s%s%s", json_text(row, "governor"),
                        json_true(row, "utilization_aware") ? " + UtilizationAware" : "",
                        json_true(row, "history") ? " + History" : "");

                table_cell(table, STYLE_PLAIN, name);
                table_cell(table, STYLE_PLAIN, json_text(row, "deepest_state"));
                table_cellf(table, STYLE_PLAIN, "%s%.3f", mark,
                            json_number(row, "energy_ratio", NAN));
                table_number(table, json_number(row, "mean_exit_latency_us", NAN), 1);
                table_number(table, json_number(row, "worst_exit_latency_us", NAN), 0);
                table_number(table, json_number(row, "correct_percent", NAN), 1);
        }
        table_print(table, &ctl->screen);
}

/* The commands, or what was done instead of them. */
static void show_effect(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;
        json_object *commands = json_get(answer, "commands"), *row;

        putchar('\n');
        if (json_true(answer, "change") && !json_get(answer, "in_effect")) {
                printf("To apply it until idled ends:\n  %s\nTo apply it for ever:\n  %s\n",
                       json_element_text(commands, 0), json_element_text(commands, 1));
                return;
        }
        if (json_get(answer, "saved_in"))
                screen_line(screen, STYLE_GOOD, "saved in %s", json_text(answer, "saved_in"));
        JSON_FOREACH(row, json_get(answer, "in_effect"))
                screen_line(screen, STYLE_PLAIN, "%s %s is %s (%s)", ADVISE_SECTION,
                            json_text(row, "key"),
                            *json_text(row, "value") ? json_text(row, "value") : "empty",
                            json_text(row, "source"));
}

static void show_doubt(const Ctl *ctl, json_object *answer)
{
        int64_t periods = json_int(answer, "periods", 0);
        int64_t needed = json_int(answer, "periods_needed", 0);

        if (periods >= needed || apply || save)
                return;
        screen_sentencef(&ctl->screen, STYLE_WARN,
                         "%" G_GINT64_FORMAT " idle period%s few: a reliable choice needs "
                         "%" G_GINT64_FORMAT ". A longer recording may lead to another choice.",
                         periods, periods == 1 ? " is" : "s are", needed);
}

static void advise_show(const Ctl *ctl, json_object *answer)
{
        json_object *best = json_get(answer, "best");
        double saved = json_number(answer, "saved_percent", NAN);
        double power = json_number(best, "idle_power_mw", NAN);
        const char *mark = json_true(answer, "powers_assumed") ? "~" : "";
        bool stays = !json_true(answer, "change") && json_get(answer, "now");
        g_autofree char *combination = NULL;

        if (!best) {
                screen_sentence(&ctl->screen, STYLE_PLAIN, json_text(answer, "obstacle"));
                printf("Nothing was changed.\n");
                return;
        }
        show_candidates(ctl, answer);
        putchar('\n');
        combination = combination_text(
                json_text(best, "governor"), json_text(best, "deepest_state"),
                json_true(best, "utilization_aware"), json_true(best, "history"));
        screen_line(&ctl->screen, STYLE_TITLE, "%s: %s",
                    !stays          ? "Best"
                    : apply || save ? "Unchanged"
                                    : "Nothing to change",
                    combination);
        printf("Mean exit latency %.1f us, at most %.0f us.",
               json_number(best, "mean_exit_latency_us", NAN),
               json_number(best, "worst_exit_latency_us", NAN));
        if (!isnan(power))
                printf(" %.0f mW for each CPU while idle.", power);
        if (!isnan(saved) && !stays)
                printf(" %s%.1f %% %s energy while idle than now.", mark, fabs(saved),
                       saved < 0 ? "more" : "less");
        printf(" %s%.1f %% above the least possible.\n", mark,
               json_number(answer, "above_ideal_percent", NAN));
        if (!json_true(answer, "change"))
                screen_sentence(&ctl->screen, STYLE_PLAIN, json_text(answer, "obstacle"));
        if (*mark)
                printf("Powers are not known: each state is taken to need half of the one before "
                       "it.\n");
        show_doubt(ctl, answer);
        show_effect(ctl, answer);
}

const Verb verb_advise = {
        .name = "advise",
        .arguments = "TRACE... | --record SECONDS",
        .summary = "Show which governor and limit suit recorded idle periods",
        .help = "Replays the kernel's governors with every limit on idle states, and prints the\n"
                "commands that apply the best. Energy is relative to the candidate that needs\n"
                "least. Among candidates that need about the same energy, the best has the\n"
                "shortest exit latency. With --apply or --save cstates uses it.\n"
                "  idlelab advise --table laptop.tbl --latency 100us trace.csv.xz",
        .options = { advise_options },
        .check = advise_check,
        .max_args = INT_MAX,
        .ask = advise_ask,
        .show = advise_show,
};
