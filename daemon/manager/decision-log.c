/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Decisions in the log. An entry of the journal has a field for each part, so that journalctl can
 * filter them: IDLED_POLICY=ondemand.
 */
#include "manager/decision-log.h"

#include <fcntl.h>
#include <math.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#include "base/log.h"
#include "base/number.h"
#include "base/private-text.h"

#define FIELDS_MAX 12

static void add_field(GPtrArray *fields, const char *name, const char *value)
{
        g_autofree char *whole = value ? private_text_for(value, 0) : NULL;

        if (whole && *whole)
                g_ptr_array_add(fields, g_strdup_printf("%s=%s", name, whole));
}

/* "filtered load=0.4 CPUs, wanted=1 core". */
static char *inputs_format(const Reason *reason)
{
        GString *text = g_string_new(NULL);

        for (int i = 0; i < REASON_INPUTS && reason->inputs[i].name; i++) {
                const char *unit = reason->inputs[i].unit;
                g_autofree char *value = NULL;

                if (!isfinite(reason->inputs[i].value))
                        continue;
                value = value_format(reason->inputs[i].value, unit ? unit : "");
                g_string_append_printf(text, "%s%s=%s", text->len ? ", " : "",
                                       reason->inputs[i].name, value);
        }
        return g_string_free(text, FALSE);
}

static char *threshold_format(const Reason *reason)
{
        if (!reason->threshold_unit || !isfinite(reason->threshold))
                return NULL;
        return value_format(reason->threshold, reason->threshold_unit);
}

/* Only root and the administrator's group read the journal. */
static GPtrArray *decision_fields(const Transition *transition, const char *text)
{
        GPtrArray *fields = g_ptr_array_new_full(FIELDS_MAX, g_free);
        const Reason *reason = &transition->reason;
        g_autofree char *inputs = inputs_format(reason), *threshold = threshold_format(reason);
        g_autofree char *source = reason->option ? source_format(&transition->option_source) : NULL;
        g_autofree char *number = g_strdup_printf("%" G_GUINT64_FORMAT, transition->number);

        add_field(fields, "MESSAGE", text);
        add_field(fields, "MESSAGE_ID", DECISION_MESSAGE_ID);
        add_field(fields, "PRIORITY", G_STRINGIFY(LOG_INFO));
        add_field(fields, "SYSLOG_IDENTIFIER", "idled");
        add_field(fields, "IDLED_TRANSITION", number);
        g_ptr_array_add(fields, g_strconcat("IDLED_PARKED=", transition->parked, NULL));
        add_field(fields, "IDLED_POLICY",
                  *cause_name(transition->cause, transition->policy)
                          ? cause_name(transition->cause, transition->policy)
                          : NULL);
        add_field(fields, "IDLED_BECAUSE", reason->because);
        add_field(fields, "IDLED_INPUTS", inputs);
        add_field(fields, "IDLED_OPTION", reason->option);
        add_field(fields, "IDLED_THRESHOLD", threshold);
        add_field(fields, "IDLED_SOURCE", source);
        return fields;
}

static bool journal_is_there(int root)
{
        return g_str_equal(log_get_target(), "journal") &&
               faccessat(root, "run/systemd/journal/socket", F_OK, 0) == 0;
}

static int send_fields(const GPtrArray *fields)
{
        struct iovec parts[FIELDS_MAX];
        guint n = MIN(fields->len, FIELDS_MAX);

        for (guint i = 0; i < n; i++)
                parts[i] = (struct iovec){ fields->pdata[i], strlen(fields->pdata[i]) };
        return sd_journal_sendv(parts, (int)n);
}

void decision_log(int root, const Transition *transition)
{
        g_autofree char *text = transition_explain(transition);
        g_autoptr(GPtrArray) fields = NULL;

        if (log_get_level() < LOG_INFO)
                return;
        fields = decision_fields(transition, text);
        if (!journal_is_there(root) || send_fields(fields) < 0)
                log_info("%s", text);
}
