/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idlectl record: samples of everything into a file, or with --idle every idle period.
 */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "model/snapshot.h"

#define AGE_LEAST_USEC (60u * 1000 * 1000)

static RecordAsks asked;

static int take_idle(Ctl *ctl, const char *text)
{
        ctl->sleeps.file = text;
        return EXIT_FINE;
}

static int take_exits(Ctl *ctl, const char *text)
{
        ctl->sleeps.exits = true;
        return EXIT_FINE;
}

static int take_causes(Ctl *ctl, const char *text)
{
        ctl->sleeps.causes = true;
        return EXIT_FINE;
}

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

static int take_max_size(Ctl *ctl, const char *text)
{
        asked.limits.max_bytes = parse_size(text);
        if (asked.limits.max_bytes < RECORDING_SIZE_LEAST)
                return complain_usage(NULL,
                                      "--max-size: found \"%s\", expected a size of at least 64K, "
                                      "such as 10M",
                                      text);
        return EXIT_FINE;
}

static int take_max_age(Ctl *ctl, const char *text)
{
        if (duration_parse(text, &asked.limits.max_age_usec) < 0 ||
            asked.limits.max_age_usec < AGE_LEAST_USEC)
                return complain_usage(NULL,
                                      "--max-age: found \"%s\", expected a time of at least 1min, "
                                      "such as 24h",
                                      text);
        return EXIT_FINE;
}

static int take_append(Ctl *ctl, const char *text)
{
        asked.append = true;
        return EXIT_FINE;
}

static int take_sleeps(Ctl *ctl, const char *text)
{
        asked.sleeps = true;
        return EXIT_FINE;
}

const VerbOption record_options[] = {
        { "append", NULL, "continue FILE if it exists", take_append },
        { "max-size", "SIZE", "keep the newest samples only: at most SIZE, such as 10M",
          take_max_size },
        { "max-age", "TIME", "keep the samples of the last TIME only, such as 24h", take_max_age },
        { "sleeps", NULL, "record what ends sleeps, and their lengths", take_sleeps },
        { "idle", "FILE", "write every idle period to FILE instead; - is standard output",
          take_idle },
        { "causes", NULL, "with --idle: add a comment with state and cause to each period",
          take_causes },
        { "exits", NULL, "with --idle: add the column exit_ns", take_exits },
        { 0 },
};

int record_check(const Ctl *ctl, const Verb *verb)
{
        bool ring = asked.limits.max_bytes || asked.limits.max_age_usec;

        if (ctl->sleeps.file && (ring || asked.append || asked.sleeps || ctl->interval_usec))
                return complain_usage(verb, "--idle: expected none of --append, --interval, "
                                            "--max-age, --max-size and --sleeps with it");
        if (!ctl->sleeps.file && ctl->sleeps.exits)
                return complain_usage(verb, "--exits: expected --idle with it");
        if (!ctl->sleeps.file && ctl->sleeps.causes)
                return complain_usage(verb, "--causes: expected --idle with it");
        if (ctl->interval_usec && ctl->interval_usec < READING_USEC)
                return complain_usage(verb, "--interval: expected a duration from %dms to 1h",
                                      READING_USEC / 1000);
        if (!ctl->sleeps.file && ctl->n_args == 0)
                return complain_usage(verb, "record: expected FILE, or --idle FILE");
        return EXIT_FINE;
}

json_object *record_ask(Ctl *ctl, int *ret_status)
{
        if (ctl->sleeps.file)
                return record_idle_ask(ctl, ret_status);
        asked.file = ctl->args[0];
        return record_file_ask(ctl, &asked, ctl->args + 1, ret_status);
}

void record_show(const Ctl *ctl, json_object *answer)
{
        if (ctl->sleeps.file)
                record_idle_show(ctl, answer);
        else
                record_file_show(ctl, answer);
}
