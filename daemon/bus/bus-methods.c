/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The manager's methods that change something. Each passes through authorize() first and does its
 * work in a second function, which may run much later: it looks everything up again.
 */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/nearest.h"
#include "bus/bus-parts.h"
#include "config/config-section.h"
#include "config/removed.h"

/* No value of an option is longer: every second of CPUSET_MAX CPUs. */
#define VALUE_MAX  32768
#define REASON_MAX 256
#define PAUSES_MAX 16

/* No pause with a time lasts longer: a year. */
#define PAUSE_MAX_USEC (366ull * 24 * 3600 * 1000 * 1000)

/* 0, or the error for a section that does not exist or a value that is too long. */
static int check_option(const Bus *bus, const OptionValue *option, sd_bus_error *error)
{
        const Config *config = manager_config(bus->manager);

        if (!config_section(config, option->section)) {
                g_autofree char *clean = log_clean(option->section);
                g_autofree char *hint = text_suggest(
                        config_section_nearest(config, option->section));

                return sd_bus_error_setf(
                        error, BUS_ERROR_NO_SUCH_POLICY,
                        "\"%s\" is neither an active policy nor a section of idled.conf%s", clean,
                        hint);
        }
        if (strlen(option->value) > VALUE_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "found a value of %zu bytes, expected at most %d",
                                         strlen(option->value), VALUE_MAX);
        return 0;
}

/* All options or none, and the words for what is wrong with them. */
static int set_options(Bus *bus, const OptionValue *options, size_t n, sd_bus_error *error)
{
        g_autofree char *problem = NULL, *clean = NULL;
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n; i++)
                r = check_option(bus, &options[i], error);
        if (r < 0)
                return r;
        r = manager_set_options(bus->manager, options, n, &problem);
        if (r >= 0)
                return 0;
        clean = log_clean(problem ? problem : g_strerror(-r));
        return sd_bus_error_set(
                error, r == -ENOENT ? BUS_ERROR_NO_SUCH_OPTION : BUS_ERROR_INVALID_VALUE, clean);
}

/* Takes removed options out of the others, and adds a warning of each. What is a key of the
 * policy's state now is none. */
static void take_removed(const Bus *bus, GArray *options, GStrvBuilder *warnings)
{
        const Config *config = manager_config(bus->manager);

        for (guint i = 0; i < options->len;) {
                const OptionValue *option = &g_array_index(options, OptionValue, i);
                const Section *section = config_section(config, option->section);
                g_autofree char *warning = removed_warning(option->section, option->key);

                if (!warning || !section || section_state_row(section, option->key)) {
                        i++;
                        continue;
                }
                g_strv_builder_add(warnings, warning);
                g_array_remove_index(options, i);
        }
}

/* Answers with the warnings, and with what this machine does not offer of the options. */
static int answer_warnings(sd_bus_message *message, const Bus *bus, const GArray *options,
                           GStrvBuilder *warnings)
{
        _message_ sd_bus_message *reply = NULL;
        g_auto(GStrv) texts = NULL;
        int r;

        for (guint i = 0; i < options->len; i++) {
                const OptionValue *option = &g_array_index(options, OptionValue, i);
                g_autofree char *unmet = manager_option_unmet(bus->manager, option->section,
                                                              option->key);

                if (unmet)
                        g_strv_builder_add(warnings, unmet);
        }
        texts = g_strv_builder_end(warnings);
        r = sd_bus_message_new_method_return(message, &reply);
        if (r >= 0)
                r = sd_bus_message_append_strv(reply, texts);
        return r < 0 ? r : sd_bus_message_send(reply);
}

static int do_set_options(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        g_autoptr(GArray) options = g_array_new(FALSE, FALSE, sizeof(OptionValue));
        g_autoptr(GStrvBuilder) warnings = g_strv_builder_new();
        int r = bus_read_options(message, options, error);

        if (r < 0)
                return r;
        take_removed(userdata, options, warnings);
        r = set_options(userdata, (const OptionValue *)options->data, options->len, error);
        return r < 0 ? r : answer_warnings(message, userdata, options, warnings);
}

BUS_AUTHORIZED(bus_method_set_options, "org.idled1.set-option", do_set_options);

static int do_reload(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_autoptr(GString) text = g_string_new(NULL);
        int r = manager_reload(bus->manager, errors);

        if (r >= 0)
                return sd_bus_reply_method_return(message, NULL);
        for (guint i = 0; i < errors->len; i++) {
                g_autofree char *line = config_error_format(errors->pdata[i]);

                g_string_append_printf(text, "%s%s", i > 0 ? "\n" : "", line);
        }
        if (errors->len == 0)
                g_string_append(text, g_strerror(-r));
        return sd_bus_error_set(error, BUS_ERROR_CONFIG_INVALID, text->str);
}

BUS_AUTHORIZED(bus_method_reload, "org.idled1.reload", do_reload);

static unsigned pauses_of(const Pauses *pauses, uid_t uid)
{
        const Pause *pause;
        unsigned n = 0;

        for (unsigned i = 0; (pause = pauses_nth(pauses, i)); i++)
                n += pause->uid == uid;
        return n;
}

/* 0, or the error for a reason that is too long. */
static int check_pause_reason(const char *reason, sd_bus_error *error)
{
        if (strlen(reason) <= REASON_MAX)
                return 0;
        return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                 "reason: found %zu bytes, expected at most %d", strlen(reason),
                                 REASON_MAX);
}

/* Pauses until the returned descriptor is closed, if the user may have one more such pause. */
static int pause_open(Bus *bus, const char *reason, const Sender *sender, const char *name,
                      int *ret_fd, sd_bus_error *error)
{
        g_autofree char *owner = g_strdup_printf("user %u (%s)", (unsigned)sender->uid, name);

        if (pauses_of(manager_pauses(bus->manager), sender->uid) >= PAUSES_MAX)
                return sd_bus_error_setf(error, BUS_ERROR_TOO_MANY_PAUSES,
                                         "User %u holds %d pauses already, which is the limit",
                                         (unsigned)sender->uid, PAUSES_MAX);
        return pauses_add(manager_pauses(bus->manager), reason, owner, sender->uid, ret_fd);
}

/* Pauses for that long, UINT64_MAX: until Resume, whether or not the client is there. */
static int pause_lastingly(Bus *bus, const char *reason, const Sender *sender, uint64_t usec,
                           sd_bus_error *error)
{
        g_autofree char *owner = g_strdup_printf("user %u", (unsigned)sender->uid);

        if (usec != UINT64_MAX && usec > PAUSE_MAX_USEC)
                return sd_bus_error_setf(error, BUS_ERROR_INVALID_VALUE,
                                         "usec: found %" PRIu64 ", expected at most %llu (366 "
                                         "days), or %" PRIu64 " for no end",
                                         usec, PAUSE_MAX_USEC, UINT64_MAX);
        return pauses_add_lasting(manager_pauses(bus->manager), reason, owner, sender->uid,
                                  usec == UINT64_MAX ? 0 : usec);
}

static int do_pause(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const char *reason, *name = sd_bus_message_get_sender(message);
        Bus *bus = userdata;
        _fd_ int fd = -1;
        Sender sender;
        uint64_t usec;
        int r = sd_bus_message_read(message, "st", &reason, &usec);

        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r >= 0)
                r = check_pause_reason(reason, error);
        if (r >= 0)
                r = usec == 0 ? pause_open(bus, reason, &sender, name, &fd, error)
                              : pause_lastingly(bus, reason, &sender, usec, error);
        if (r < 0)
                return r;
        return fd >= 0 ? sd_bus_reply_method_return(message, "ah", 1, fd)
                       : sd_bus_reply_method_return(message, "ah", 0);
}

BUS_AUTHORIZED(bus_method_pause, "org.idled1.pause", do_pause);

static int do_resume_all(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;

        return sd_bus_reply_method_return(message, "u",
                                          pauses_resume(manager_pauses(bus->manager), (uid_t)-1));
}

/* Another user may have paused since this was allowed: that needs more. */
static int do_resume_own(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const Bus *bus = userdata;
        Sender sender;
        int r = authorizer_sender(bus->authorizer, message, &sender);

        return r < 0 ? r
                     : sd_bus_reply_method_return(
                               message, "u",
                               pauses_resume(manager_pauses(bus->manager), sender.uid));
}

/* True if a pause of another user lasts. */
static bool others_pause(const Pauses *pauses, uid_t uid)
{
        const Pause *pause;

        for (unsigned i = 0; (pause = pauses_nth(pauses, i)); i++)
                if (pause->lasting && pause->uid != uid)
                        return true;
        return false;
}

int bus_method_resume(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        Sender sender;
        int r = authorizer_sender(bus->authorizer, message, &sender);

        if (r < 0)
                return r;
        if (others_pause(manager_pauses(bus->manager), sender.uid))
                return authorize(bus->authorizer, message, "org.idled1.resume", do_resume_all, bus,
                                 error);
        return authorize(bus->authorizer, message, "org.idled1.pause", do_resume_own, bus, error);
}
