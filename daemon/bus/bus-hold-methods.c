/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The methods that make and end holds.
 *
 * A hold belongs to its owner: only the name on the bus that requested it, and root, may release
 * it; a guessed number opens nothing. Names are those of one bus: when the bus is gone no client
 * owns the hold by name any more, and it lives as long as its descriptor.
 */
#include <errno.h>
#include <unistd.h>

#include "base/file.h"
#include "bus/bus-hold.h"

int bus_method_release_hold(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        const char *path, *name = sd_bus_message_get_sender(message);
        Bus *bus = userdata;
        const Held *held;
        Sender sender;
        int r = sd_bus_message_read(message, "o", &path);

        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, &sender);
        if (r < 0)
                return r;
        held = bus_path_hold(bus, path);
        if (!held)
                return sd_bus_error_setf(error, BUS_ERROR_NO_SUCH_HOLD, "There is no hold %s",
                                         path);
        if (sender.uid != 0 &&
            (sender.uid != held->uid || !name || !held->sender || !g_str_equal(name, held->sender)))
                return sd_bus_error_set(
                        error, SD_BUS_ERROR_ACCESS_DENIED,
                        "Only the client that requested a hold, or root, can release it");
        holds_release(manager_holds(bus->manager), held->id);
        manager_attend(bus->manager);
        return sd_bus_reply_method_return(message, NULL);
}

static int explain_failure(int r, sd_bus_error *error)
{
        if (r == -EDQUOT)
                return sd_bus_error_setf(error, BUS_ERROR_TOO_MANY_HOLDS,
                                         "There are too many holds already");
        if (r == -EPERM)
                return sd_bus_error_set(
                        error, SD_BUS_ERROR_ACCESS_DENIED,
                        "The process belongs to another user: only root can hold for it");
        if (r == -ESRCH)
                return sd_bus_error_set(error, BUS_ERROR_NO_SUCH_PROCESS,
                                        "There is no such process");
        if (r == -EBADF)
                return sd_bus_error_set(error, BUS_ERROR_INVALID_VALUE,
                                        "pidfd: expected a process descriptor from pidfd_open(2)");
        return r;
}

/* Holds for whom the client named; else for the client itself, as far as that is known. */
static int hold(Bus *bus, HoldRequest *request, pid_t client, int *ret_fd, uint64_t *ret_id)
{
        Holds *holds = manager_holds(bus->manager);
        bool for_client = !request->bound && client > 0;
        int r;

        if (for_client)
                request->pid = client;
        r = holds_add(holds, request, ret_fd, ret_id);
        if (for_client && (r == -ESRCH || r == -EPERM)) {
                request->pid = 0;
                r = holds_add(holds, request, ret_fd, ret_id);
        }
        manager_attend(bus->manager);
        return r;
}

/* True if it requests more than a profile and a kind of cores. */
static bool needs_policy(const HoldRequest *request)
{
        return request->latency_us >= 0 || request->min_khz > 0 || request->min_cores > 0 ||
               request->cpus;
}

int bus_check_hold_limit(const Bus *bus, uid_t uid, const char *name, sd_bus_error *error)
{
        if (uid == 0 || holds_count_of(manager_holds(bus->manager), uid) < HOLDS_OF_USER_MAX)
                return 0;
        return sd_bus_error_setf(error, name, "User %u has %d holds already, which is the limit",
                                 (unsigned)uid, HOLDS_OF_USER_MAX);
}

static int check_available(const Bus *bus, const HoldRequest *request, sd_bus_error *error)
{
        int r = bus_check_hold_limit(bus, request->uid, BUS_ERROR_TOO_MANY_HOLDS, error);

        if (r < 0)
                return r;
        if (needs_policy(request) && !manager_serves_holds(bus->manager))
                return sd_bus_error_set(error, BUS_ERROR_NOT_AVAILABLE,
                                        "No active policy serves holds: add \"latency\" to "
                                        "Policies= in idled.conf");
        return 0;
}

/* What is requested and by whom, if it is available. */
static int read_request(sd_bus_message *message, Bus *bus, BusHoldRequest *ret_request,
                        Sender *ret_sender, sd_bus_error *error)
{
        int r = bus_hold_request_read(message, bus->manager, ret_request, error);

        if (r >= 0)
                r = authorizer_sender(bus->authorizer, message, ret_sender);
        if (r < 0)
                return r;
        ret_request->hold.uid = ret_sender->uid;
        return check_available(bus, &ret_request->hold, error);
}

static int do_hold(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        g_autofree char *owner = NULL, *path = NULL;
        BusHoldRequest request;
        _fd_ int fd = -1;
        Sender sender;
        uint64_t id;
        int r = read_request(message, bus, &request, &sender, error);

        if (r < 0)
                return r;
        request.hold.sender = sd_bus_message_get_sender(message);
        request.hold.owner = owner = g_strdup_printf("user %u (%s)", (unsigned)sender.uid,
                                                     request.hold.sender);
        r = hold(bus, &request.hold, sender.pid, &fd, &id);
        if (r < 0)
                return explain_failure(r, error);
        path = bus_hold_path(id);
        return sd_bus_reply_method_return(message, "oh", path, fd);
}

int bus_method_hold(sd_bus_message *message, void *userdata, sd_bus_error *error)
{
        Bus *bus = userdata;
        BusHoldRequest request;
        Sender sender;
        /* At its limit a client gets an error at once, without a question to polkit. */
        int r = read_request(message, bus, &request, &sender, error);

        if (r < 0)
                return r;
        return authorize(bus->authorizer, message,
                         request.hold.global ? "org.idled1.hold-global" : "org.idled1.hold",
                         do_hold, bus, error);
}

int bus_append_holds(sd_bus_message *message, const Holds *holds)
{
        int r = sd_bus_message_open_container(message, 'a', "o");

        for (unsigned i = 0; r >= 0 && i < holds_count(holds); i++) {
                g_autofree char *hold = bus_hold_path(holds_nth(holds, i)->id);

                r = sd_bus_message_append(message, "o", hold);
        }
        return r < 0 ? r : sd_bus_message_close_container(message);
}
