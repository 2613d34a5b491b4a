/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What idlelab prove found, as a document and for people, and the bar while it measures.
 */
#include <math.h>
#include <unistd.h>

#include "base/number.h"
#include "prove.h"

#define BAR_EVERY_USEC (500 * 1000)

/* A quantity in the document and in the table. */
static const struct {
        const char *key, *suffix, *title;
        int decimals;
} rows[QUANTITIES] = {
        [QUANTITY_POWER] = { "power", "watts", "Power, W", 3 },
        [QUANTITY_WAITING] = { "waiting", "percent", "Tasks wait, %", 3 },
        [QUANTITY_DELAY_MEAN] = { "delay_mean", "usec", "Wake-up delay, us", 1 },
        [QUANTITY_DELAY_P99] = { "delay_p99", "usec", "its 99th percentile, us", 1 },
        [QUANTITY_RUN] = { "run_time", "seconds", "Run time, s", 4 },
};

static const char *const work_titles[WORK_UNITS] = {
        [WORK_BUSY] = "J per busy second",
        [WORK_SWITCHES] = "J per 10^4 context switches",
        [WORK_INSTRUCTIONS] = "J per 10^9 instructions",
        [WORK_RUNS] = "J per run",
};

static void put_unit(json_object *object, const char *key, const char *suffix, double value,
                     int decimals)
{
        g_autofree char *name = g_strdup_printf("%s_%s", key, suffix);

        json_put_real(object, name, value, decimals);
}

/* The change from the first setting to the second, given what the second saves. */
static void put_change(json_object *object, const char *suffix, Interval saved, double scale,
                       int decimals)
{
        put_unit(object, "change", suffix, -saved.value * scale, decimals);
        put_unit(object, "change_low", suffix, -saved.high * scale, decimals);
        put_unit(object, "change_high", suffix, -saved.low * scale, decimals);
}

static json_object *describe_quantity(const Prove *prove, Quantity quantity)
{
        bool power = quantity == QUANTITY_POWER;
        Estimate found = power && prove->unit != WORK_RUNS
                                 ? prove_estimate(prove)
                                 : estimate(prove->results.quantities[quantity],
                                            &(EstimateQuery){ .work_error = INFINITY });
        json_object *object;
        int decimals = rows[quantity].decimals;

        if (found.n_pairs == 0)
                return NULL;
        object = json_object_new_object();
        put_unit(object, "first", rows[quantity].suffix, found.off_watts, decimals);
        put_unit(object, "second", rows[quantity].suffix, found.on_watts, decimals);
        put_change(object, rows[quantity].suffix, found.watts, 1, decimals);
        if (power)
                put_unit(object, "change", "percent", -found.watts.value / found.off_watts * 100,
                         3);
        return object;
}

static json_object *describe_energy(const Estimate *found)
{
        json_object *object = json_object_new_object();

        put_unit(object, "first", "joules", found->off_joules_per_work, 4);
        put_unit(object, "second", "joules", found->on_joules_per_work, 4);
        put_change(object, "joules", found->per_work, found->off_joules_per_work, 4);
        put_change(object, "percent", found->per_work, 100, 3);
        return object;
}

static void add_reason(json_object *array, const char *text, uint64_t n)
{
        json_object *object;

        if (n == 0)
                return;
        object = json_add(array);
        json_put_text(object, "reason", text);
        json_put_int(object, "blocks", (int64_t)n);
}

static json_object *describe_blocks(const Prove *prove, const Estimate *found)
{
        json_object *object = json_object_new_object(), *reasons = json_object_new_array();

        for (int i = 0; i < BLOCK_DROPS; i++)
                add_reason(reasons, block_drop_text(i), prove->results.energy->dropped[i]);
        add_reason(reasons, "the command ended within the block, or failed",
                   prove->results.command_drops);
        json_put_int(object, "used", 2 * (int64_t)found->n_pairs);
        json_put_int(
                object, "dropped",
                (int64_t)(estimator_dropped(prove->results.energy) + prove->results.command_drops));
        json_put(object, "dropped_because", reasons);
        json_put_int(object, "checked_for_effect", prove->results.effect.blocks);
        json_put_int(object, "without_effect", prove->results.effect.without);
        return object;
}

/* What the second setting saves: watts, or joules in each run of the command. */
static void put_saved(const Prove *prove, json_object *answer, const Estimate *found)
{
        const char *suffix = prove->unit == WORK_RUNS ? "joules_per_run" : "watts";
        double half = (found->watts.high - found->watts.low) / 2;

        put_unit(answer, "saved", suffix, found->watts.value, 4);
        put_unit(answer, "saved_low", suffix, found->watts.low, 4);
        put_unit(answer, "saved_high", suffix, found->watts.high, 4);
        json_put_real(answer, "saved_percent", found->watts.value / found->off_watts * 100, 3);
        json_put_real(answer, "precision_percent", half / found->off_watts * 100, 2);
}

/* How long measuring takes in all, if the noise stays as it is, for a round precision that may give
 * a verdict, or be good enough to give up. */
static void put_time(const Prove *prove, json_object *answer, const Estimate *found)
{
        const char *suffix = prove->unit == WORK_RUNS ? "joules_per_run" : "watts";
        double half = (found->watts.high - found->watts.low) / 2;
        double wanted = MAX(fabs(found->watts.value) / 2, half / 4);
        double ten = pow(10, floor(log10(wanted))), first = wanted / ten;
        double precision = (first >= 5 ? 5 : first >= 2 ? 2 : 1) * ten;
        double seconds = prove_seconds_needed(prove, found, precision);
        double so_far = found->n_pairs * (double)prove_pair_usec(prove) / G_USEC_PER_SEC;
        bool open = half > 0 && seconds > 0;

        put_unit(answer, "next_precision", suffix, open ? precision : NAN, 6);
        json_put_real(answer, "next_precision_seconds", open ? so_far + seconds : NAN, 0);
}

static void put_verdict(const Prove *prove, json_object *answer, const Estimate *found)
{
        Verdict verdict = prove_verdict(prove, found);
        double seconds = prove_verdict_seconds(prove, found);

        json_put_text(answer, "verdict", verdict_text(verdict));
        json_put_bool(answer, "claim_holds", verdict == VERDICT_SAVES);
        json_put_real(answer, "odds", found->odds, 2);
        json_put_real(answer, "verdict_after_seconds", seconds < 0 ? NAN : seconds, 0);
}

/* Whether the p99 of wake-ups is another one, and whose they are. */
static void put_delays(const Prove *prove, json_object *answer)
{
        Estimate found = estimate(prove->results.quantities[QUANTITY_DELAY_P99],
                                  &(EstimateQuery){ .work_error = INFINITY });
        const char *verdict = found.n_pairs == 0     ? NULL
                              : found.watts.low > 0  ? "shorter"
                              : found.watts.high < 0 ? "longer"
                                                     : "unknown";

        json_put_text(answer, "delay_verdict", verdict);
        json_put_text(answer, "delay_source",
                      prove->bill                ? "wakeups"
                      : prove->asked->probe_usec ? "probe"
                                                 : NULL);
        json_put_text(answer, "delay_problem", prove->bill_error);
}

json_object *prove_answer(const Prove *prove)
{
        json_object *answer = json_object_new_object();
        Estimate found = prove_estimate(prove);
        EnergySource source = meter_source(prove->meter);

        json_put_text(answer, "kind", arms_kind_text(arms_asked.kind));
        json_put_text(answer, "first", arms_label(prove->arms, 0));
        json_put_text(answer, "second", arms_label(prove->arms, 1));
        put_verdict(prove, answer, &found);
        put_saved(prove, answer, &found);
        put_time(prove, answer, &found);
        put_delays(prove, answer);
        json_put_bool(answer, "equal_work", found.equal_work);
        json_put_real(answer, "work_change_percent",
                      found.work_change == 0 ? NAN : found.work_change * 100, 2);
        json_put_real(answer, "overhead_usec", found.overhead * 1e6, 1);
        json_put_bool(answer, "interrupted", prove->interrupted != 0);
        json_put_text(answer, "problem", prove->problem);
        json_put_text(answer, "energy_source", energy_source_text(source));
        json_put_text(answer, "power_table",
                      source == ENERGY_SOURCE_ESTIMATE ? prove->table->name : NULL);
        json_put_text(answer, "work_unit", work_unit_text(prove->unit));
        json_put(answer, "blocks", describe_blocks(prove, &found));
        json_put_int(answer, "block_usec", (int64_t)prove->schedule.block_usec);
        json_put_int(answer, "wash_out_usec", (int64_t)prove->schedule.washout_usec);
        json_put_int(answer, "seed", (int64_t)prove->schedule.seed);
        json_put(answer, "energy_per_work", describe_energy(&found));
        for (int i = 0; i < QUANTITIES; i++)
                json_put(answer, rows[i].key, describe_quantity(prove, i));
        return answer;
}

/* As many as are significant. */
static int decimals_of(double value)
{
        return fabs(value) < 0.9995 ? 3 : fabs(value) < 99.995 ? 2 : 1;
}

/* "12.3"; "-" for null. */
static void add_number(Table *table, json_object *object, const char *key, const char *suffix)
{
        g_autofree char *name = g_strdup_printf("%s_%s", key, suffix);
        double value = json_number(object, name, NAN);
        int decimals = decimals_of(value);

        table_number(table, json_rounded(value, decimals), decimals);
}

static void add_row(Table *table, const char *title, json_object *object, const char *suffix)
{
        static const char *const keys[] = { "first", "second", "change", "change_low",
                                            "change_high" };
        /* Shares of the time have no share. */
        double share = g_str_equal(suffix, "percent") ? NAN
                                                      : json_number(object, "change_percent", NAN);

        table_cell(table, STYLE_PLAIN, title);
        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++)
                add_number(table, object, keys[i], suffix);
        if (isfinite(share))
                table_cellf(table, STYLE_PLAIN, "%.1f %%", json_rounded(share, 1));
        else
                table_cell(table, STYLE_DIM, "");
}

static bool has_probe(json_object *answer)
{
        return g_str_equal(json_text(answer, "delay_source"), "probe");
}

static void show_table(const Ctl *ctl, json_object *answer)
{
        g_autoptr(Table) table = table_new();
        const char *unit = json_text(answer, "work_unit");

        table_columns(table, "|>First|>Second|>Change|>from|>to (95 %)|>of First");
        add_row(table, rows[QUANTITY_POWER].title, json_get(answer, "power"), "watts");
        for (WorkUnit i = 0; i < WORK_UNITS; i++)
                if (g_str_equal(work_unit_text(i), unit))
                        add_row(table, work_titles[i], json_get(answer, "energy_per_work"),
                                "joules");
        for (int i = QUANTITY_POWER + 1; i < QUANTITIES; i++)
                if (json_get(answer, rows[i].key))
                        add_row(table,
                                i == QUANTITY_DELAY_MEAN && has_probe(answer)
                                        ? "Delay of the probe, us"
                                        : rows[i].title,
                                json_get(answer, rows[i].key), rows[i].suffix);
        table_print(table, &ctl->screen);
}

static void show_blocks(const Ctl *ctl, json_object *answer)
{
        json_object *blocks = json_get(answer, "blocks"), *reason;
        json_object *reasons = json_get(blocks, "dropped_because");
        g_autofree char *length = duration_format((uint64_t)json_int(answer, "block_usec", 0));
        g_autofree char *washout = duration_format((uint64_t)json_int(answer, "wash_out_usec", 0));

        screen_line(&ctl->screen, STYLE_PLAIN,
                    "%d blocks of %s, each after a wash-out of %s; %d dropped",
                    (int)json_int(blocks, "used", 0), length, washout,
                    (int)json_int(blocks, "dropped", 0));
        JSON_FOREACH(reason, reasons)
                screen_line(&ctl->screen, STYLE_WARN, "  %d: %s",
                            (int)json_int(reason, "blocks", 0), json_text(reason, "reason"));
}

/* Policies may do nothing on a machine, or under its load. */
static void show_effect(const Ctl *ctl, json_object *answer)
{
        json_object *blocks = json_get(answer, "blocks");
        int64_t n = json_int(blocks, "without_effect", 0);

        if (n > 0)
                screen_line(&ctl->screen, STYLE_WARN,
                            "%s: no effect in %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " blocks",
                            json_text(answer, "second"), n,
                            json_int(blocks, "checked_for_effect", 0));
}

static void show_work(const Ctl *ctl, json_object *answer)
{
        double change = json_number(answer, "work_change_percent", NAN);
        double overhead = json_number(answer, "overhead_usec", 0);

        if (overhead != 0)
                screen_line(&ctl->screen, STYLE_PLAIN,
                            "Each time a CPU changed to a task it took %.0f us %s with the second "
                            "setting, which is overhead and not work",
                            json_rounded(fabs(overhead), 0), overhead > 0 ? "less" : "more");
        if (isfinite(change))
                screen_line(&ctl->screen, STYLE_WARN,
                            "The second setting did %.1f %% %s work in the same time, so the "
                            "interval includes the power of that work",
                            json_rounded(fabs(change), 1), change < 0 ? "less" : "more");
}

static bool is_runs(json_object *answer)
{
        return g_str_equal(json_text(answer, "work_unit"), work_unit_text(WORK_RUNS));
}

/* A number of the row that the answer is about, for people: "change", "_low" as in the table. */
static double change(json_object *answer, const char *end)
{
        bool runs = is_runs(answer);
        g_autofree char *key = g_strdup_printf("change%s_%s", end, runs ? "joules" : "watts");
        double value = json_number(json_get(answer, runs ? "energy_per_work" : "power"), key, NAN);

        return json_rounded(value, decimals_of(value));
}

/* "; the p99 of wake-ups is 120 us longer, 95 % interval 80 to 160", or nothing. */
static char *delay_text(json_object *answer)
{
        json_object *row = json_get(answer, "delay_p99");
        const char *whose = has_probe(answer) ? "the probe's " : "";
        const char *verdict = json_text(answer, "delay_verdict");
        double value = json_number(row, "change_usec", NAN), sign = value < 0 ? -1 : 1;
        double low = json_number(row, "change_low_usec", NAN);
        double high = json_number(row, "change_high_usec", NAN);

        if (!isfinite(low) || !isfinite(high))
                return g_strdup("");
        if (g_str_equal(verdict, "unknown"))
                return g_strdup_printf("; no change of the p99 of %swake-ups is shown, between "
                                       "%+.1f and %+.1f us",
                                       whose, low, high);
        return g_strdup_printf("; the p99 of %swake-ups is %.1f us %s, 95 %% interval %.1f to %.1f",
                               whose, fabs(value), verdict, sign < 0 ? -high : low,
                               sign < 0 ? -low : high);
}

/* "Shown: ondemand active saves 0.820 W (6.9 %), 95 % interval 0.670 to 0.970". */
static void show_saved(const Ctl *ctl, json_object *answer, Style style, const char *verdict)
{
        double value = change(answer, ""), sign = value < 0 ? -1 : 1;
        double from = json_rounded(sign * change(answer, sign < 0 ? "_high" : "_low"), 3);
        double to = json_rounded(sign * change(answer, sign < 0 ? "_low" : "_high"), 3);
        g_autofree char *text = NULL, *delay = delay_text(answer);

        text = g_strdup_printf("%s: %s %s %.*f %s (%.1f %%), 95 %% interval %.*f to %.*f%s%s",
                               verdict, json_text(answer, "second"), sign < 0 ? "saves" : "costs",
                               decimals_of(value), fabs(value), is_runs(answer) ? "J per run" : "W",
                               json_rounded(fabs(json_number(answer, "saved_percent", 0)), 1),
                               decimals_of(from), from, decimals_of(to), to,
                               json_true(answer, "equal_work") ? ", at equal work" : "", delay);
        screen_sentence(&ctl->screen, style, text);
}

/* In seconds, as text: rounded up, because noise is not known better. */
static char *time_text(double seconds)
{
        double step = seconds < 600 ? 10 : seconds < 36000 ? 60 : 3600;

        return duration_format((uint64_t)(ceil(seconds / step) * step * G_USEC_PER_SEC));
}

/* "No answer yet: between -0.900 and +0.200 W; at this noise +-0.1 W takes about 40min". */
static void show_open(const Ctl *ctl, json_object *answer)
{
        double low = change(answer, "_low"), high = change(answer, "_high");
        double time = json_number(answer, "next_precision_seconds", NAN);
        double precision = json_number(answer, "next_precision_watts", NAN);
        const char *unit = is_runs(answer) ? "J per run" : "W";
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *delay = delay_text(answer);
        g_autofree char *left = isfinite(time) ? time_text(time) : NULL;

        g_string_printf(text, "No answer yet: between %+.*f and %+.*f %s", decimals_of(low), low,
                        decimals_of(high), high, unit);
        if (low > 0 || high < 0)
                g_string_append_printf(text,
                                       "; that may be chance: the odds against it are %.2g to 1, "
                                       "expected at least %g to 1",
                                       json_number(answer, "odds", 1), ESTIMATE_ODDS);
        if (left)
                g_string_append_printf(
                        text, "; at this noise +-%g %s takes about %s",
                        json_number(answer, "next_precision_joules_per_run", precision), unit,
                        left);
        g_string_append(text, delay);
        screen_sentence(&ctl->screen, STYLE_WARN, text->str);
}

static void show_verdict(const Ctl *ctl, json_object *answer)
{
        const char *word = json_text(answer, "verdict");
        json_object *blocks = json_get(answer, "blocks");
        int64_t idle = json_int(blocks, "without_effect", 0);

        if (json_int(blocks, "used", 0) < 2 * PROVE_LEAST_PAIRS) {
                screen_line(&ctl->screen, STYLE_WARN, "No answer yet: there are too few blocks");
        } else if (idle > 0 && idle == json_int(blocks, "checked_for_effect", 0)) {
                screen_line(&ctl->screen, STYLE_WARN,
                            "Not shown: %s and %s did the same in all blocks, so the change is "
                            "chance",
                            json_text(answer, "first"), json_text(answer, "second"));
        } else if (g_str_equal(word, "saves")) {
                show_saved(ctl, answer, STYLE_GOOD, "Shown");
        } else if (g_str_equal(word, "costs")) {
                show_saved(ctl, answer, STYLE_BAD, "The opposite is shown");
        } else {
                show_open(ctl, answer);
        }
}

void prove_show(const Ctl *ctl, json_object *answer)
{
        const Screen *screen = &ctl->screen;

        screen_line(screen, STYLE_TITLE, "First: %s", json_text(answer, "first"));
        screen_line(screen, STYLE_TITLE, "Second: %s", json_text(answer, "second"));
        show_table(ctl, answer);
        screen_line(screen, STYLE_DIM,
                    "First, Second and Change: means over pairs, without extremes%s",
                    json_true(answer, "equal_work") ? ", at equal work" : "");
        if (*json_text(answer, "delay_problem"))
                screen_line(screen, STYLE_DIM, "Delays of wake-ups are not measured: %s",
                            json_text(answer, "delay_problem"));
        if (g_str_equal(json_text(answer, "energy_source"), "battery"))
                screen_line(screen, STYLE_PLAIN,
                            "Energy is what the battery lost, with display and all devices");
        if (g_str_equal(json_text(answer, "energy_source"), "estimate"))
                screen_line(screen, STYLE_WARN,
                            "Energy is estimated from idle states and the power table %s",
                            json_text(answer, "power_table"));
        show_blocks(ctl, answer);
        show_effect(ctl, answer);
        show_work(ctl, answer);
        show_verdict(ctl, answer);
        if (json_true(answer, "interrupted"))
                screen_line(screen, STYLE_WARN, "Interrupted: everything is restored");
}

/* What the bar says: how precise the answer is, and how long more precision takes. */
static char *progress_text(const Prove *prove)
{
        Estimate found = prove_estimate(prove);
        double half = (found.watts.high - found.watts.low) / 2, needed;
        GString *text = g_string_new(NULL);
        g_autofree char *left = NULL;

        g_string_append_printf(text, "%u pair%s", found.n_pairs, found.n_pairs == 1 ? "" : "s");
        if (!isfinite(half) || !(found.off_watts > 0))
                return g_string_free(text, FALSE);
        g_string_append_printf(text, ", saves %.1f %% +- %.1f %%",
                               json_rounded(found.watts.value / found.off_watts * 100, 1),
                               half / found.off_watts * 100);
        needed = prove->asked->precision > 0
                         ? prove_seconds_needed(prove, &found,
                                                prove->asked->precision * found.off_watts)
                         : -1;
        if (needed < 0)
                return g_string_free(text, FALSE);
        left = text_duration(needed);
        g_string_append_printf(text, "; +- %g %% in about %s", prove->asked->precision * 100, left);
        return g_string_free(text, FALSE);
}

void prove_progress(const Prove *prove)
{
        static uint64_t last;
        uint64_t now = (uint64_t)g_get_monotonic_time();
        g_autofree char *text = NULL, *left = NULL, *line = NULL;
        double share;

        if (!isatty(STDERR_FILENO) || now < last + BAR_EVERY_USEC)
                return;
        last = now;
        share = prove->end_usec ? (double)(now - prove->begin_usec) /
                                          (double)(prove->end_usec - prove->begin_usec)
                                : 0;
        text = prove->end_usec ? progress_text(prove) : g_strdup("warming up");
        left = text_duration(
                prove->end_usec > now ? (double)(prove->end_usec - now) / G_USEC_PER_SEC : 0);
        line = g_strdup_printf("%s left, %s", left, text);
        progress_draw(share, line);
}
