/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The load watch: the first of these that the kernel supports. docs/load-watch.md has the reasons.
 *
 * 1. A PSI trigger: tasks waited for a CPU for 40 ms within 500 ms. Until then idled needs no
 *    reading. It exists only while it is of use, because it wakes the machine. Once the machine has
 *    been quiet (tick-timer.h) idled closes it and follows fork events, with ticks at most
 *    HALF_BLIND_USEC apart; the first tick that finds work sets it again. Where the kernel does not
 *    report forks, it stays.
 * 2. Fork events (sense/processes.h) bring the next tick forward to FORK_DELAY_USEC after the first
 *    one, but never to less than a period after the last tick. Until then the socket is not
 *    watched. If a task runs at that tick, ticks begin again at the period. A slow trigger, 200 ms
 *    within 2 s, detects load of existing tasks. Its event causes a reading and does not count as
 *    pressure. Where the kernel refuses it, too, ticks are HALF_BLIND_USEC apart at most.
 * 3. Ticks that do not stretch.
 *
 * None of these detects an existing task that begins to fill a CPU while no other task waits: ticks
 * do, and STRETCH_MAX bounds how far they are apart.
 */
#include "manager/load-watch.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/log.h"
#include "sense/netlink.h"
#include "sense/processes.h"
#include "sense/sensor.h"

#define FORK_DELAY_USEC 30000
#define HALF_BLIND_USEC (2 * G_USEC_PER_SEC)

/* A few messages: one says as much as thousands. */
#define FORKS_BUFFER_SIZE 4096

struct LoadWatch {
        Ground *ground;
        TickTimer *timer;

        sd_event_source *pressure, *forks; /* NULL: not watched now */
        Quiet quiet;          /* whether new tasks are watched instead, because the trigger costs */
        int trigger_error;    /* why there is no fast trigger; 0: none was refused */
        int forks_error;      /* why new tasks are not watched; 0: they may be */
        bool no_slow_trigger; /* the kernel refuses that, too */
        bool pressed;         /* the fast trigger fired */
        bool called;          /* a new task, or the slow trigger */
};

static int on_pressure(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        LoadWatch *watch = userdata;

        if (revents & EPOLLERR) {
                log_warning("The PSI trigger is gone");
                watch->pressure = sd_event_source_disable_unref(watch->pressure);
                return 0;
        }
        if (watch->trigger_error < 0)
                watch->called = true;
        else
                watch->pressed = true;
        ground_raise(watch->ground, DUE_TICK);
        return 0;
}

/* Sets a trigger; its end is the end of the descriptor that the event source owns. */
static int set_trigger(LoadWatch *watch, PressureTrigger trigger)
{
        int fd = pressure_trigger_open(watch->ground->setup.root, trigger), r;

        if (fd < 0)
                return fd;
        r = sd_event_add_io(watch->ground->event, &watch->pressure, fd, EPOLLPRI, on_pressure,
                            watch);
        if (r < 0) {
                close(fd);
                return r;
        }
        return sd_event_source_set_io_fd_own(watch->pressure, true);
}

/* A task began: tick soon, and ignore further forks until then. */
static int on_fork(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        LoadWatch *watch = userdata;
        uint64_t soon = (uint64_t)g_get_monotonic_time() + FORK_DELAY_USEC;
        ProcessEvent event;
        int r;

        r = process_events_read(fd, &event);
        if (r == 0)
                return 0;
        if (r < 0 && r != -ENOBUFS) {
                log_warning("Fork events are no longer available (%s)", g_strerror(-r));
                watch->forks_error = r;
                load_watch_stop(watch);
                ground_raise(watch->ground, CHANGE_MISSING | DUE_TICK_SOON);
                return 0;
        }
        if (r > 0)
                log_debug("Process %d started a task: checking the load soon", event.parent);
        watch->called = true;
        tick_timer_at(watch->timer, soon, FORK_DELAY_USEC / 10);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static int watch_forks(LoadWatch *watch)
{
        int fd = process_events_open(PROCESS_FORK, FORKS_BUFFER_SIZE), r;

        if (fd < 0)
                return fd;
        r = sd_event_add_io(watch->ground->event, &watch->forks, fd, EPOLLIN, on_fork, watch);
        if (r < 0)
                process_events_close(fd);
        return r;
}

static void unwatch_forks(LoadWatch *watch)
{
        int fd = watch->forks ? sd_event_source_get_io_fd(watch->forks) : -1;

        watch->forks = sd_event_source_disable_unref(watch->forks);
        process_events_close(fd);
}

/* Watches again after a tick. */
static int rewatch_forks(LoadWatch *watch)
{
        if (sd_event_source_get_enabled(watch->forks, NULL) > 0)
                return 0;
        netlink_drain(sd_event_source_get_io_fd(watch->forks));
        return sd_event_source_set_enabled(watch->forks, SD_EVENT_ON);
}

/* The two that stand in for the trigger, and what that means for how long ticks may be apart. */
static uint64_t watch_by_forks(LoadWatch *watch)
{
        int r = watch->forks_error;

        if (r >= 0)
                r = watch->forks ? rewatch_forks(watch) : watch_forks(watch);
        if (r < 0) {
                if (watch->forks_error >= 0) {
                        watch->forks_error = r;
                        ground_raise(watch->ground, CHANGE_MISSING);
                        log_info("Fork events are not available either (%s): the period bounds the "
                                 "reaction to load",
                                 g_strerror(-r));
                }
                unwatch_forks(watch);
                return 0;
        }
        if (!watch->pressure && !watch->no_slow_trigger)
                watch->no_slow_trigger = set_trigger(watch, PRESSURE_TRIGGER_SLOW) < 0;
        return watch->pressure ? UINT64_MAX : HALF_BLIND_USEC;
}

/* Watches new tasks instead of the trigger; false if they are not reported. */
static bool watch_quietly(LoadWatch *watch)
{
        int r;

        if (watch->forks_error < 0)
                return false;
        r = watch->forks ? rewatch_forks(watch) : watch_forks(watch);
        if (r < 0) {
                watch->forks_error = r;
                unwatch_forks(watch);
                return false;
        }
        if (watch->pressure)
                log_debug("The machine is idle: using fork events instead of a PSI trigger");
        watch->pressure = sd_event_source_disable_unref(watch->pressure);
        return true;
}

uint64_t load_watch_follow(LoadWatch *watch, bool wanted, bool parked, const Snapshot *last)
{
        bool quiet = quiet_note(&watch->quiet, last->time_usec, last->interval_usec, last->load);
        int r;

        if (!wanted || !parked) {
                load_watch_stop(watch);
                return parked ? 0 : UINT64_MAX;
        }
        if (!watch->ground->setup.live)
                return 0;
        if (watch->trigger_error < 0)
                return watch_by_forks(watch);
        if (quiet && watch_quietly(watch))
                return HALF_BLIND_USEC;
        unwatch_forks(watch);
        if (watch->pressure)
                return UINT64_MAX;
        r = set_trigger(watch, PRESSURE_TRIGGER_FAST);
        if (r >= 0)
                return UINT64_MAX;
        watch->trigger_error = r;
        ground_raise(watch->ground, CHANGE_MISSING);
        log_info("The kernel refuses a PSI trigger with a window of 0.5 s (%s): using fork events "
                 "for new tasks; load of existing tasks is detected within 2 s",
                 g_strerror(-r));
        return watch_by_forks(watch);
}

void load_watch_stop(LoadWatch *watch)
{
        watch->pressure = sd_event_source_disable_unref(watch->pressure);
        unwatch_forks(watch);
        watch->called = false;
}

LoadWatch *load_watch_new(Ground *ground, TickTimer *timer)
{
        LoadWatch *watch = g_new0(LoadWatch, 1);

        watch->ground = ground;
        watch->timer = timer;
        return watch;
}

void load_watch_free(LoadWatch *watch)
{
        if (!watch)
                return;
        load_watch_stop(watch);
        g_free(watch);
}

bool load_watch_take_pressed(LoadWatch *watch)
{
        bool pressed = watch->pressed;

        watch->pressed = false;
        return pressed;
}

bool load_watch_take_called(LoadWatch *watch)
{
        bool called = watch->called;

        watch->called = false;
        return called;
}

int load_watch_trigger_error(const LoadWatch *watch)
{
        return watch->trigger_error;
}

int load_watch_forks_error(const LoadWatch *watch)
{
        return watch->trigger_error < 0 ? watch->forks_error : 0;
}
