/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What makes the manager tick.
 *
 * - A timer (tick-timer.c).
 * - While CPUs are parked, the kernel, which reports new load (load-watch.c).
 * - CPUs that come and go, reported by udev.
 * - Mains that is plugged in or out, reported by udev too, if a policy reads it.
 * - A driver that comes late, as far as it is a module: no event reports drivers of frequencies and
 *   idle states, but events report modules.
 * - The clock or the time zone that is set, for policies that decide by the time of day.
 * - manager_wake(), for all that clients do.
 *
 * Once after a change, when all is quiet again, the memory that it took is freed.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <systemd/sd-device.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "manager/tick-timer.h"
#include "manager/manager-evaluate.h"
#include "manager/manager-parts.h"

/* A module is reported before it is ready, and seldom comes alone. */
#define DRIVER_USEC G_USEC_PER_SEC

/* In etc. The C library reads it. */
#define ZONE "localtime"

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
        manager_rest(userdata);
        return 0;
}

/* Mains came or went: the last reading of it is invalid, and the next one decides. */
static void power_moved(Manager *manager)
{
        if (!(manager_needed_senses(manager) & SENSE_POWER))
                return;
        sensors_reopen(manager->sensors, SENSE_POWER, manager->machine.topology);
        tick_timer_in(manager->timer, READING_USEC);
}

/* A CPU that went and came back within one event has new knobs, made by the kernel. */
static bool note_returned(Manager *manager, sd_device *device)
{
        sd_device_action_t action;
        const char *number;
        int cpu;

        if (sd_device_get_action(device, &action) < 0 || action != SD_DEVICE_ONLINE ||
            sd_device_get_sysnum(device, &number) < 0 || int_parse(number, &cpu) < 0)
                return false;
        cpuset_add(&manager->returned, cpu);
        manager->stale = true;
        return true;
}

static void module_moved(Manager *manager)
{
        if (manager_wishes_cpus(manager))
                timer_set_in(manager->drivers_timer, DRIVER_USEC);
}

static int on_drivers(sd_event_source *source, uint64_t usec, void *userdata)
{
        Manager *manager = userdata;

        if (manager_recheck_facts(manager))
                manager_wake(manager);
        return 0;
}

static int on_device(sd_device_monitor *monitor, sd_device *device, void *userdata)
{
        Manager *manager = userdata;
        const char *subsystem = NULL;

        sd_device_get_subsystem(device, &subsystem);
        if (g_strcmp0(subsystem, "power_supply") == 0) {
                power_moved(manager);
        } else if (g_strcmp0(subsystem, "module") == 0) {
                module_moved(manager);
        } else if (manager_rescan(manager) | note_returned(manager, device)) {
                manager_wake(manager);
        }
        return 0;
}

/* udev's events of CPUs, power supplies and modules; without udev the reading at the next tick
 * shows the change. */
static int listen_for_devices(Manager *manager)
{
        static const char *const subsystems[] = { "cpu", "power_supply", "module" };
        int r;

        r = sd_device_monitor_new(&manager->monitor);
        if (r < 0)
                return r;
        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(subsystems); i++)
                r = sd_device_monitor_filter_add_match_subsystem_devtype(manager->monitor,
                                                                         subsystems[i], NULL);
        if (r >= 0)
                r = sd_event_add_time(manager->event, &manager->drivers_timer, CLOCK_MONOTONIC, 0,
                                      DRIVER_USEC, on_drivers, manager);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->drivers_timer, SD_EVENT_OFF);
        if (r < 0)
                return r;
        r = sd_device_monitor_attach_event(manager->monitor, manager->event);
        if (r < 0)
                return r;
        return sd_device_monitor_start(manager->monitor, on_device, manager);
}

/*
 * How often energy is read; more often than it may be would only cost wake-ups. The timer fires up
 * to a quarter of it later. With some time for the reading itself, that must be before the
 * deadline.
 */
static uint64_t energy_period(const Manager *manager)
{
        uint64_t deadline = sensors_energy_deadline(manager->sensors);

        return deadline == UINT64_MAX ? deadline : MAX(deadline / 4 * 3, OBSERVERS_ENERGY_USEC);
}

static int on_energy(sd_event_source *source, uint64_t usec, void *userdata)
{
        Manager *manager = userdata;

        observers_read(manager->observers, SENSE_ENERGY);
        timer_set_in(source, energy_period(manager));
        return 0;
}

/* Arms a timer that is not to go off, but which the kernel cancels when the clock is set. */
static int arm_clock(int fd)
{
        const struct itimerspec never = { .it_value.tv_sec = INT64_MAX / (int64_t)G_USEC_PER_SEC /
                                                             1000 };

        return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0
                       ? -errno
                       : 0;
}

/* Policies may decide by the time of day. The last reading of it is invalid, and the next one
 * decides. */
static void time_moved(Manager *manager)
{
        tzset();
        tick_timer_in(manager->timer, READING_USEC);
}

static int on_clock(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        uint64_t count;
        int r;

        if (read(fd, &count, sizeof(count)) < 0 && errno != ECANCELED)
                return 0;
        log_debug("The clock was set");
        manager_interrupt_evaluation(userdata, DROP_CLOCK);
        time_moved(userdata);
        r = arm_clock(fd);
        if (r < 0)
                log_error_errno(r, "Failed to set a timer: %m");
        return 0;
}

static int listen_for_clock(Manager *manager)
{
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        int r = fd < 0 ? -errno : arm_clock(fd);

        if (r >= 0)
                r = sd_event_add_io(manager->event, &manager->clock, fd, EPOLLIN, on_clock,
                                    manager);
        if (r >= 0)
                r = sd_event_source_set_io_fd_own(manager->clock, true);
        else
                fd_close(&fd);
        return r;
}

/* The file that names the time zone is replaced when that is set. */
static int on_zone(sd_event_source *source, const struct inotify_event *event, void *userdata)
{
        if (event->len == 0 || !g_str_equal(event->name, ZONE))
                return 0;
        log_debug("The time zone was set");
        time_moved(userdata);
        return 0;
}

static int listen_for_zone(Manager *manager)
{
        _fd_ int etc = openat(manager->setup.root, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return etc < 0 ? -errno
                       : sd_event_add_inotify_fd(manager->event, &manager->zone, etc,
                                                 IN_CREATE | IN_MOVED_TO, on_zone, manager);
}

static void on_tick(void *userdata)
{
        manager_tick(userdata);
}

void manager_listen(Manager *manager)
{
        uint64_t period = energy_period(manager);
        int r;

        r = tick_timer_listen(manager->timer, manager->event, on_tick, manager);
        if (r >= 0 && period != UINT64_MAX)
                r = sd_event_add_time_relative(manager->event, &manager->energy_timer,
                                               CLOCK_MONOTONIC, period, period / 4, on_energy,
                                               manager);
        if (r >= 0)
                r = sd_event_add_time(manager->event, &manager->quiet_timer, CLOCK_MONOTONIC, 0,
                                      QUIET_USEC, on_quiet, manager);
        if (r >= 0)
                r = sd_event_source_set_enabled(manager->quiet_timer, SD_EVENT_OFF);
        if (r >= 0)
                r = manager_windows_listen(manager);
        if (r < 0)
                log_error_errno(r, "Failed to create timers: %m");
        manager_meter_listen(manager);
        r = listen_for_clock(manager);
        if (r < 0)
                log_info("Failed to watch changes of the clock (%s)", g_strerror(-r));
        r = listen_for_zone(manager);
        if (r < 0)
                log_debug("Failed to watch changes of the time zone (%s)", g_strerror(-r));
        r = manager->setup.live ? listen_for_devices(manager) : 0;
        if (r < 0)
                log_info("Failed to watch CPUs that come and go (%s): they are detected at the "
                         "next tick",
                         g_strerror(-r));
}

void manager_unlisten(Manager *manager)
{
        manager->monitor = sd_device_monitor_unref(manager->monitor);
        tick_timer_unlisten(manager->timer);
        manager->clock = sd_event_source_disable_unref(manager->clock);
        manager->zone = sd_event_source_disable_unref(manager->zone);
        manager->drivers_timer = sd_event_source_disable_unref(manager->drivers_timer);
        load_watch_stop(manager->load_watch);
        manager->energy_timer = sd_event_source_disable_unref(manager->energy_timer);
        manager->quiet_timer = sd_event_source_disable_unref(manager->quiet_timer);
        manager_unwatch_groups(manager);
        manager_windows_unlisten(manager);
}
