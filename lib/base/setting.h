/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An option of the configuration: one row of a table has everything that parsing, checking, help
 * texts and man pages need.
 *
 * A table ends with a row whose key is NULL. The value is stored in a plain options struct at
 * `offset`, in the C type that the row's type names. Part of what idled installs for plugins;
 * parsing is in setting-value.h.
 */
#ifndef IDLED_SETTING_H
#define IDLED_SETTING_H

#include <stddef.h>

typedef enum SettingType {
        SETTING_BOOL,     /* bool: yes/no, true/false, on/off, 1/0 */
        SETTING_COUNT,    /* uint64_t: a whole number without unit */
        SETTING_REAL,     /* double: a decimal number without unit */
        SETTING_PERCENT,  /* double as a fraction: "80%" is 0.8 */
        SETTING_DURATION, /* uint64_t in microseconds: "250ms", "50us", "1.5s", "2min" */
        SETTING_CPUSET,   /* CpuSet: "2-5,9" */
        SETTING_CHOICE,   /* int: the index of the text in `choices` */
        SETTING_STRING,   /* char *, owned by the options struct, never NULL */
        SETTING_LIST,     /* char **, NULL-terminated, owned by the options struct, never NULL:
                             words separated by white space */
} SettingType;

typedef struct Setting {
        const char *section; /* without brackets; "State": idled keeps it */
        const char *key;     /* NULL ends the table */
        SettingType type;
        size_t offset;              /* of the value in the options struct */
        const char *fallback;       /* the default, as one would write it in the file */
        double min, max;            /* COUNT, REAL; PERCENT as fraction; DURATION in microseconds;
                                       both 0: only the bounds of the type */
        const char *const *choices; /* CHOICE: NULL-terminated. COUNT: NULL, or one word that stands
                                       for `max`. LIST: NULL, or all words that it may have.
                                       STRING: NULL, or one text that says what it may be */
        const char *help;           /* one line without full stop */
} Setting;

#endif
