/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of measured properties: every row is complete, and its numbers are those meant. */
#include "model/counters.h"
#include "model/measured.h"
#include "table.h"

TEST(complete)
{
        for (const Measured *row = measured_properties; row->property; row++) {
                const char *name = row->property;
                bool is_bool = strcmp(row->signature, "b") == 0;

                ck_case(name, measured_find(name) == row, "is there twice");
                ck_case(name,
                        is_bool || strcmp(row->signature, "d") == 0 ||
                                strcmp(row->signature, "u") == 0 ||
                                strcmp(row->signature, "(ddd)") == 0,
                        "signature %s", row->signature);
                ck_case(name, row->offset < sizeof(Snapshot), "offset %zu", row->offset);
                ck_case(name, row->group && row->keys[0], "no key");
                ck_case(name, !is_bool || (row->words[0] && row->words[1]), "no words");
                ck_case(name, row->line && (row->before || row->after), "no line");
                ck_case(name, row->help && g_str_has_suffix(row->help, "."), "no help");
                ck_case(name, (measured_senses() & row->sense) == row->sense, "is not read");
        }
}

TEST(sources)
{
        unsigned named = 0;

        for (const SenseSource *source = sense_sources; source->sense; source++) {
                ck_assert_msg(!(named & source->sense), "%x is there twice", source->sense);
                ck_assert_ptr_eq(sense_missing_name(source->sense), source->name);
                named |= source->sense;
        }
        ck_assert_msg((measured_senses() & ~named) == 0, "a property without source");
        ck_assert_ptr_null(sense_missing_name(SENSE_IDLE_STATISTICS));
}

static const struct {
        const char *name;
        int online;
        double numbers[MEASURED_NUMBERS];
} numbers[] = {
        { "LoadAverage", 4, { 0.5, 0.25, 0.125 } },
        { "Running", 4, { 3 } },
        { "Load", 4, { 1.5 } },
        { "Utilization", 4, { 0.375 } },
        { "Utilization", 1, { 1 } },
        { "Utilization", 0, { 0 } },
        { "Pressure", 4, { 0.25 } },
        { "OnBattery", 4, { 1 } },
        { "BatteryLevel", 4, { -1 } },
};

TEST_EACH(values, numbers)
{
        const Snapshot seen = { .loadavg = { 0.5, 0.25, 0.125 },
                                .running = 3,
                                .load = 1.5,
                                .pressure = 0.25,
                                .on_battery = true,
                                .battery_level = -1 };
        double found[MEASURED_NUMBERS];
        int n = measured_numbers(measured_find(c->name), &seen, c->online, found);

        ck_case(c->name, n == (c->numbers[1] ? 3 : 1), "%d numbers", n);
        for (int i = 0; i < n; i++)
                ck_case(c->name, found[i] == c->numbers[i], "found %g", found[i]);
}

TEST(reasons)
{
        ck_assert_ptr_null(measured_find("None"));
        ck_assert_str_ne(missing_reason(-ENOENT), missing_reason(-EOPNOTSUPP));
        ck_assert_str_eq(missing_reason(-EACCES), g_strerror(EACCES));
}

UNIT("measured")
