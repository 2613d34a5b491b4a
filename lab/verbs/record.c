/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlelab record: samples of everything into a file, or with --idle every idle period; or with
 * --daemon idled itself does so, as the configuration's section [Recording] then says.
 */
#include "record.h"

#include <string.h>

#include "base/number.h"
#include "model/snapshot.h"
#include "cli/facts.h"
#include "cli/save.h"
#include "cli/sleeps-read.h"
#include "verbs.h"

#define AGE_LEAST_USEC     (60u * 1000 * 1000)
#define INTERVAL_MOST_USEC (3600ull * 1000 * 1000)
#define MEGABYTE           (1u << 20)

/* "64K", "10M", "1G": bytes; 0 if it is something else. */
static uint64_t parse_size(const char *text)
{
        static const char units[] = "KMG";
        size_t length = strlen(text);
        const char *unit = length > 1 ? strchr(units, text[length - 1]) : NULL;
        g_autofree char *digits = g_strndup(text, length - (unit ? 1 : 0));
        unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
        uint64_t number;

        if (u64_parse(digits, &number) < 0 || number > UINT64_MAX >> 1 >> shift)
                return 0;
        return number << shift;
}

static int take_max_size(Ctl *ctl, const VerbOption *row, const char *text)
{
        record_asked.limits.max_bytes = parse_size(text);
        if (record_asked.limits.max_bytes < RECORDING_SIZE_LEAST)
                return complain_usage(NULL,
                                      "--max-size: found \"%s\", expected a size of at least 64K, "
                                      "such as 10M",
                                      text);
        return EXIT_FINE;
}

static const VerbOption record_options[] = {
        { "interval", "TIME", "take a sample so often, from 50ms to 1h (1s)",
          .number = &interval_asked_usec, .least = READING_USEC, .most = INTERVAL_MOST_USEC,
          .expected = "a duration from 50ms to 1h, such as 1s" },
        { "seconds", "N", "end after so many seconds (with --idle: 10)", SLEEPS_SECONDS },
        { "append", NULL, "continue FILE if it exists", .flag = &record_asked.append },
        { "max-size", "SIZE", "keep the newest samples only: at most SIZE, such as 10M",
          .take = take_max_size },
        { "max-age", "TIME", "keep the samples of the last TIME only, such as 24h",
          .number = &record_asked.limits.max_age_usec, .least = AGE_LEAST_USEC,
          .expected = "a time of at least 1min, such as 24h" },
        { "daemon", NULL, "idled keeps a ring in /var/lib/idled/idled.rec from now on",
          .flag = &record_asked.daemon },
        { "sleeps", NULL, "record what ends sleeps, and their lengths",
          .flag = &record_asked.sleeps },
        { "idle", "FILE", "write every idle period to FILE instead; - is standard output",
          .text = &record_asked.idle },
        { "causes", NULL, "with --idle: add a comment with state and cause to each period",
          .flag = &record_asked.causes },
        { "exits", NULL, "with --idle: add the column exit_ns", .flag = &record_asked.exits },
        { 0 },
};

static int check_daemon(const Ctl *ctl, const Verb *verb)
{
        if (ctl->n_args > 0 || record_asked.idle || record_asked.append || record_asked.sleeps ||
            record_asked.exits || record_asked.causes || sleeps_asked > 0)
                return complain_usage(verb, "--daemon: expected only --interval, --max-age and "
                                            "--max-size with it");
        if (record_asked.limits.max_bytes % MEGABYTE)
                return complain_usage(verb, "--max-size: expected whole megabytes with --daemon, "
                                            "such as 10M");
        return EXIT_FINE;
}

static int record_check(const Ctl *ctl, const Verb *verb)
{
        bool ring = record_asked.limits.max_bytes || record_asked.limits.max_age_usec;
        int files = record_asked.idle ? 0 : 1, before = ctl->n_args - ctl->n_behind;

        if (record_asked.daemon)
                return check_daemon(ctl, verb);
        if (record_asked.idle &&
            (ring || record_asked.append || record_asked.sleeps || interval_asked_usec))
                return complain_usage(verb, "--idle: expected none of --append, --interval, "
                                            "--max-age, --max-size and --sleeps with it");
        if (!record_asked.idle && record_asked.exits)
                return complain_usage(verb, "--exits: expected --idle with it");
        if (!record_asked.idle && record_asked.causes)
                return complain_usage(verb, "--causes: expected --idle with it");
        if (sleeps_asked > 0 && ctl->n_args > files)
                return complain_usage(verb, "--seconds: expected no COMMAND with it, because the "
                                            "recording ends with COMMAND");
        if (before < files)
                return complain_usage(verb, "record: expected FILE, --idle FILE or --daemon");
        if (ctl->n_behind > 0 && before > files)
                return complain_usage(verb, "record: found an unexpected argument \"%s\"",
                                      ctl->args[files]);
        return EXIT_FINE;
}

/* Writes the options into the configuration, which idled then loads. */
static int daemon_ask(Ctl *ctl, json_object **ret_answer)
{
        g_autofree char *interval = duration_format(interval_asked_usec);
        g_autofree char *age = duration_format(record_asked.limits.max_age_usec), *path = NULL;
        g_autofree char *size = g_strdup_printf("%" G_GUINT64_FORMAT,
                                                record_asked.limits.max_bytes / MEGABYTE);
        SavedValue values[4] = { { "Enabled", "yes" } };
        json_object *answer;
        guint n = 1;

        if (interval_asked_usec)
                values[n++] = (SavedValue){ "Interval", interval };
        if (record_asked.limits.max_age_usec)
                values[n++] = (SavedValue){ "MaxAge", age };
        if (record_asked.limits.max_bytes)
                values[n++] = (SavedValue){ "MaxMegabytes", size };
        if (settings_save(ctl, "Recording", values, n, &path) != EXIT_FINE)
                return EXIT_FAILED;
        answer = answer_new(ctl);
        json_put_text(answer, "file", "/var/lib/idled/idled.rec");
        json_put_text(answer, "saved_in", path);
        *ret_answer = answer;
        return EXIT_FINE;
}

static void daemon_show(const Ctl *ctl, json_object *answer)
{
        answer_show_daemon(ctl, answer);
        screen_line(&ctl->screen, STYLE_GOOD, "idled keeps a recording in %s; saved in %s",
                    json_text(answer, "file"), json_text(answer, "saved_in"));
}

static int record_ask(Ctl *ctl, json_object **ret_answer)
{
        if (record_asked.daemon)
                return daemon_ask(ctl, ret_answer);
        if (record_asked.idle)
                return record_idle_ask(ctl, ret_answer);
        record_asked.file = ctl->args[0];
        return record_file_ask(ctl, ctl->args + 1, ret_answer);
}

static void record_show(const Ctl *ctl, json_object *answer)
{
        if (record_asked.daemon)
                daemon_show(ctl, answer);
        else if (record_asked.idle)
                record_idle_show(ctl, answer);
        else
                record_file_show(ctl, answer);
}

const Verb verb_record = {
        .name = "record",
        .arguments = "FILE [-- COMMAND...] | --idle FILE [-- COMMAND...] | --daemon",
        .summary = "Record what the machine and idled do",
        .help = "Every second (--interval), samples load, idle states, frequencies, power, and\n"
                "the plan, holds and transitions of idled: until interrupted, for --seconds, or\n"
                "while COMMAND runs. With --max-size or --max-age it continues an existing "
                "FILE.\n"
                "--idle writes every idle period of every CPU as CSV, for 10 s, and requires\n"
                "root. --daemon makes idled itself record, as root.\n"
                "  idlelab record a.rec -- make -j8",
        .options = { record_options },
        .check = record_check,
        .max_args = INT_MAX,
        .ask = record_ask,
        .show = record_show,
};
