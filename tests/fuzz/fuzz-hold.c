/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any dictionary is a request for a hold or is refused with a reason. The input is a list of
 * entries: a byte that chooses the key, a byte that chooses the type of the value, and a line with
 * the value.
 */
#include <sys/socket.h>

#include "bus/bus-hold.h"
#include "config/profile.h"
#include "fuzz-config.h"
#include "manager/manager-parts.h"

#define N_CPUS 8

static const char *const keys[] = {
        "latency_us", "global", "profile",       "min_cores", "min_frequency_khz", "cpus", "pid",
        "pidfd",      "reason", "wakeup_p99_us", "kind"
};

/* A connection that is never made: messages of it can be written and read. */
static sd_bus *connection_new(void)
{
        sd_bus *bus = NULL;
        int ends[2];

        g_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        g_assert(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, ends[0], ends[0]) >= 0);
        g_assert(sd_bus_start(bus) >= 0);
        return bus;
}

static Manager *manager_make(void)
{
        static Manager manager;
        ConfigPaths paths = { fuzz_root(), "/", "usr/lib/idled", "etc/idled", fuzz_modules() };
        g_autoptr(GPtrArray) errors = g_ptr_array_new();

        fuzz_put("sys/devices/system/cpu/possible", "0-7", 3);
        fuzz_put("sys/devices/system/cpu/online", "0-6", 3); /* the last one is offline */
        manager.ground.setup.root = fuzz_root();
        g_assert(seen_new(&manager.ground, NULL, &manager.seen) == 0);
        fuzz_put("etc/idled/idled.conf", "[Daemon]\nPolicies=alpha\n", 24);
        fuzz_put("etc/idled/profiles/game.conf", "[Profile]\n", 10);
        g_assert(config_load(&paths, errors, &manager.ground.config) == 0);
        return &manager;
}

static int append_value(sd_bus_message *m, uint8_t type, const char *text)
{
        uint32_t number = (uint32_t)g_ascii_strtoull(text, NULL, 0);

        switch (type % 8) {
        case 0:
                return sd_bus_message_append(m, "v", "u", number);
        case 1:
                return sd_bus_message_append(m, "v", "s", text);
        case 2:
                return sd_bus_message_append(m, "v", "b", number & 1);
        case 3:
                return sd_bus_message_append(m, "v", "h", STDIN_FILENO);
        case 4:
                return sd_bus_message_append(m, "v", "t", (uint64_t)number);
        case 5:
                return sd_bus_message_append(m, "v", "as", 1, text);
        case 6:
                return sd_bus_message_append(m, "v", "v", "s", text);
        }
        return sd_bus_message_append(m, "v", "a{sv}", 1, text, "u", number);
}

static int append_entries(sd_bus_message *m, const uint8_t *data, size_t size)
{
        int r = 0;

        while (r >= 0 && size > 2) {
                const uint8_t *end = memchr(data + 2, '\n', size - 2);
                size_t length = end ? (size_t)(end - data) : size;
                g_autofree char *text = g_strndup((const char *)data + 2, length - 2);
                const char *key = data[0] % 16 < G_N_ELEMENTS(keys) ? keys[data[0] % 16] : text;

                r = sd_bus_message_open_container(m, 'e', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(m, "s", key);
                if (r >= 0)
                        r = append_value(m, data[1], text);
                if (r >= 0)
                        r = sd_bus_message_close_container(m);
                data += end ? length + 1 : length;
                size -= end ? length + 1 : length;
        }
        return r;
}

static void check(const Manager *manager, const HoldRequest *hold)
{
        g_assert(hold->latency_us >= -1 && hold->latency_us <= (int)HOLD_LATENCY_MAX_US);
        g_assert(hold->min_cores <= N_CPUS && hold->pid >= 0 && hold->pidfd >= -1);
        g_assert(!hold->cpus || cpuset_intersects(hold->cpus, &manager_topology(manager)->online));
        g_assert(!hold->profile || config_profile(manager_config(manager), hold->profile));
        g_assert(hold->p99_us <= CONTRACT_LIMIT_MAX_US);
        g_assert(hold->kinds < 1u << g_strv_length((char **)kind_names));
        g_assert(hold->bound == (hold->pid > 0 || hold->pidfd >= 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static sd_bus *bus;
        static Manager *manager;
        sd_bus_message *m = NULL;
        BusHoldRequest request;
        sd_bus_error error = SD_BUS_ERROR_NULL;

        bus = bus ? bus : connection_new();
        manager = manager ? manager : manager_make();
        g_assert(sd_bus_message_new_method_call(bus, &m, "a.b", "/", "a.b", "Hold") >= 0);
        g_assert(sd_bus_message_open_container(m, 'a', "{sv}") >= 0);
        if (append_entries(m, data, size) >= 0) { /* else it is no text, which no client can send */
                int r;

                g_assert(sd_bus_message_close_container(m) >= 0);
                g_assert(sd_bus_message_seal(m, 1, 0) >= 0);
                r = bus_hold_request_read(m, manager, &request, &error);
                g_assert((r < 0) == sd_bus_error_is_set(&error));
                if (r >= 0)
                        check(manager, &request.hold);
                else
                        g_assert(g_utf8_validate(error.message, -1, NULL) &&
                                 !strchr(error.message, '\n'));
        }
        sd_bus_error_free(&error);
        sd_bus_message_unref(m);
        return 0;
}
