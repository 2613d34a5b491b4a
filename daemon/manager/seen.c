/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is seen of the machine.
 *
 * Between readings these are noticed:
 *
 * - CPUs that come and go, reported by uevents.
 * - Mains that is plugged in or out, reported by uevents too, if a policy reads it.
 * - A driver that comes late, as far as it is a module: no event reports drivers of frequencies and
 *   idle states, but events report modules.
 * - The clock or the time zone that is set, for policies that decide by the time of day.
 * - That the machine was asleep. Firmware and kernel may change our knobs meanwhile, and idled must
 *   not take that for a change by another program, which would then own the knobs. logind reports
 *   when the machine is back, but possibly late, and idled hears it only when the loop is free,
 *   while the machine may have fallen asleep in the middle of acting. So before knobs are touched
 *   two clocks are compared, one of which goes on while the machine sleeps.
 */
#include "manager/seen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/number.h"
#include "sense/netlink.h"
#include "sense/uevents.h"

/* A module is reported before it is ready, and seldom comes alone. */
#define DRIVER_USEC G_USEC_PER_SEC

/* In etc. The C library reads it. */
#define ZONE "localtime"

/* Less is what the kernel makes of the clocks' rounding. */
#define SLEEP_LEAST_USEC 10000

/* Two readings of the one clock that are so near have that of the other in their midst. */
#define NEAR_USEC 1000

struct Seen {
        Ground *ground;
        MachineFacts machine;
        Sensors *sensors;
        Readings readings;    /* the policies' */
        unsigned senses;      /* of the last of these: Sense flags */
        Observers *observers; /* readings made for queries */
        AffinityCache *affinities;
        Watching *watching;
        CpuSet parked;       /* online CPUs that are kept free of work now */
        uint64_t slept_usec; /* how long the machine had slept at the last check */
        CpuSet counted;      /* the CPUs of /proc/stat at the last reading */
        unsigned n_counted;  /* for so many readings in a row they were not those online */
        CpuSet returned;     /* CPUs that came online: the kernel set their knobs */
        sd_event_source *clock, *zone; /* fire when the clock is set; when /etc/localtime may be
                                          another file */
        sd_event_source *energy_timer, *drivers_timer;
        sd_event_source *uevents;
};

static uint64_t slept_by_clocks(void)
{
        uint64_t before, boot, after;

        do {
                before = manager_now();
                boot = clock_usec(CLOCK_BOOTTIME);
                after = manager_now();
        } while (after - before > NEAR_USEC);
        return boot - before;
}

void seen_distrust_knobs(Seen *seen)
{
        cpuset_or(&seen->returned, &seen->machine.topology->online);
        ground_raise(seen->ground, DUE_STALE);
}

bool seen_note_sleep(Seen *seen)
{
        const ManagerSetup *setup = &seen->ground->setup;
        uint64_t slept = setup->slept ? setup->slept() : slept_by_clocks();

        if (slept < seen->slept_usec + SLEEP_LEAST_USEC)
                return false;
        log_debug("The machine was asleep");
        seen->slept_usec = slept;
        ground_raise(seen->ground, DUE_DROP(DROP_SLEEP));
        seen_distrust_knobs(seen);
        return true;
}

void seen_read_facts(Seen *seen, bool needed)
{
        machine_read_facts(&seen->machine, needed);
}

bool seen_recheck_facts(Seen *seen)
{
        MachineFacts *machine = &seen->machine;

        if (!machine->needed || !machine_drivers_changed(machine))
                return false;
        log_info("The cpufreq or cpuidle driver has changed");
        machine_read_facts(machine, true);
        ground_raise(seen->ground, CHANGE_MISSING | DUE_OPEN);
        if (machine_drivers_changed(machine))
                return false; /* they are changing still */
        ground_raise(seen->ground, DUE_STALE | DUE_TICK_SOON);
        return true;
}

bool seen_rescan(Seen *seen)
{
        CpuSet came;
        int r = machine_rescan(&seen->machine, &seen->parked, &came);

        if (r < 0)
                log_error_errno(r, "Failed to read the topology again: %m");
        if (r <= 0)
                return false;
        cpuset_or(&seen->returned, &came);
        machine_read_facts(&seen->machine, seen->machine.needed);
        sensors_rescan(seen->sensors, seen->machine.topology);
        ground_raise(seen->ground, CHANGE_TOPOLOGY | DUE_DROP(DROP_HOTPLUG) | DUE_STALE);
        return true;
}

bool seen_set_parked(Seen *seen, const CpuSet *parked)
{
        bool changed = !cpuset_equal(&seen->parked, parked);

        seen->parked = *parked;
        return changed;
}

CpuSet seen_take_returned(Seen *seen)
{
        CpuSet returned = seen->returned;

        seen->returned = (CpuSet){ 0 };
        return returned;
}

/* A reading shows CPUs that came or went without an event. In a container the kernel may always
 * show times of other CPUs than are online, so idled checks a lasting difference less and less
 * often. It checks more than once, because a CPU that goes offline between two readings may be back
 * before the topology is read. */
static void check_moved_cpus(Seen *seen)
{
        const CpuSet *counted = &seen->readings.current->cpus;
        g_autofree char *text = NULL;
        unsigned n;

        if (cpuset_equal(counted, &seen->machine.topology->online) ||
            !cpuset_equal(counted, &seen->counted))
                seen->n_counted = 0;
        seen->counted = *counted;
        if (cpuset_equal(counted, &seen->machine.topology->online))
                return;
        n = ++seen->n_counted;
        if ((n & (n - 1)) != 0)
                return;
        seen_rescan(seen);
        if (n != 2 || cpuset_equal(counted, &seen->machine.topology->online))
                return;
        text = cpuset_format(counted);
        log_info("The kernel counts the time of CPUs %s, which are not the online CPUs", text);
}

int seen_read(Seen *seen, unsigned senses, bool pressed)
{
        Readings *readings = &seen->readings;
        uint64_t last_usec = readings->current->time_usec;
        int r = 0;

        seen->senses = senses;
        readings->seen->pressed = pressed;
        if (last_usec == 0 || manager_now() - last_usec >= READING_USEC)
                r = readings_read(readings, seen->sensors, senses);
        if (r < 0) {
                log_error_errno(r, "Failed to read the load: %m");
                sensors_reopen(seen->sensors, SENSE_LOAD, seen->machine.topology);
                return r;
        }
        readings->seen->pressed = pressed;
        check_moved_cpus(seen);
        return 0;
}

/* Mains came or went: the last reading of it is invalid, and the next one decides. */
static void power_moved(Seen *seen)
{
        if (!(seen->senses & SENSE_POWER))
                return;
        sensors_reopen(seen->sensors, SENSE_POWER, seen->machine.topology);
        ground_raise(seen->ground, DUE_READING);
}

/* A CPU that went and came back within one event has new knobs, made by the kernel. */
static bool note_returned(Seen *seen, const Uevent *event)
{
        int cpu;

        if (!g_str_equal(event->action, "online") || !g_str_has_prefix(event->name, "cpu") ||
            int_parse(event->name + strlen("cpu"), &cpu) < 0)
                return false;
        cpuset_add(&seen->returned, cpu);
        ground_raise(seen->ground, DUE_STALE);
        return true;
}

static void module_moved(Seen *seen)
{
        timer_set_in(seen->drivers_timer, DRIVER_USEC);
}

/* The module may have knobs that the plan requests, such as the firmware's profile. */
static int on_drivers(sd_event_source *source, uint64_t usec, void *userdata)
{
        Seen *seen = userdata;

        seen_recheck_facts(seen);
        seen_find_energy(seen);
        ground_raise(seen->ground, DUE_OPEN | DUE_STALE | DUE_TICK_SOON);
        return 0;
}

static void unlisten_for_devices(Seen *seen)
{
        int fd = seen->uevents ? sd_event_source_get_io_fd(seen->uevents) : -1;

        seen->uevents = sd_event_source_disable_unref(seen->uevents);
        uevents_close(fd);
}

static void take_uevent(Seen *seen, const Uevent *event)
{
        if (g_str_equal(event->subsystem, "power_supply")) {
                power_moved(seen);
        } else if (g_str_equal(event->subsystem, "module")) {
                module_moved(seen);
        } else if (g_str_equal(event->subsystem, "cpu")) {
                bool changed = seen_rescan(seen);

                if (note_returned(seen, event) || changed)
                        ground_raise(seen->ground, DUE_TICK_SOON);
        }
}

/* What the lost events may have been about. */
static void take_lost(Seen *seen)
{
        power_moved(seen);
        module_moved(seen);
        seen_rescan(seen);
        seen_distrust_knobs(seen);
        ground_raise(seen->ground, DUE_TICK_SOON);
}

static int on_uevents(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Seen *seen = userdata;
        char buffer[UEVENT_SIZE];
        Uevent event;
        int r;

        while ((r = uevents_read(fd, buffer, &event)) > 0)
                take_uevent(seen, &event);
        if (r == -ENOBUFS) {
                take_lost(seen);
        } else if (r < 0) {
                log_warning("Uevents are no longer available (%s): CPUs that come and go are "
                            "detected at the next tick",
                            g_strerror(-r));
                unlisten_for_devices(seen);
        }
        return 0;
}

/* Uevents of CPUs, power supplies and modules; without them the reading at the next tick shows the
 * change. */
static int listen_for_devices(Seen *seen)
{
        int fd, r = timer_add(seen->ground->event, &seen->drivers_timer, DRIVER_USEC, on_drivers,
                              seen);

        if (r < 0)
                return r;
        fd = uevents_open();
        if (fd < 0)
                return fd;
        r = sd_event_add_io(seen->ground->event, &seen->uevents, fd, EPOLLIN, on_uevents, seen);
        if (r < 0)
                uevents_close(fd);
        return r;
}

/*
 * How often energy is read; more often than it may be would only cost wake-ups. The timer fires up
 * to a quarter of it later. With some time for the reading itself, that must be before the
 * deadline.
 */
static uint64_t energy_period(const Seen *seen)
{
        uint64_t deadline = sensors_energy_deadline(seen->sensors);

        return deadline == UINT64_MAX ? deadline : MAX(deadline / 4 * 3, OBSERVERS_ENERGY_USEC);
}

static int on_energy(sd_event_source *source, uint64_t usec, void *userdata)
{
        Seen *seen = userdata;

        observers_read(seen->observers, SENSE_ENERGY);
        timer_set_in(source, energy_period(seen));
        return 0;
}

/* The last second that the kernel's timers know, or 32 bits can have. */
#define LAST_SECOND (sizeof(time_t) > 4 ? INT64_MAX / (int64_t)G_USEC_PER_SEC / 1000 : INT32_MAX)

/* Arms a timer that is not to go off, but which the kernel cancels when the clock is set. */
static int arm_clock(int fd)
{
        const struct itimerspec never = { .it_value.tv_sec = (time_t)LAST_SECOND };

        return timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL) < 0
                       ? -errno
                       : 0;
}

/* Policies may decide by the time of day. The last reading of it is invalid, and the next one
 * decides. */
static void time_moved(Seen *seen)
{
        tzset();
        ground_raise(seen->ground, DUE_READING);
}

static int on_clock(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
        Seen *seen = userdata;
        uint64_t count;
        int r;

        if (read(fd, &count, sizeof(count)) < 0 && errno != ECANCELED)
                return 0;
        log_debug("The clock was set");
        ground_raise(seen->ground, DUE_DROP(DROP_CLOCK));
        time_moved(seen);
        r = arm_clock(fd);
        if (r < 0)
                log_error_errno(r, "Failed to set a timer: %m");
        return 0;
}

static int listen_for_clock(Seen *seen)
{
        int fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK);
        int r = fd < 0 ? -errno : arm_clock(fd);

        if (r >= 0)
                r = sd_event_add_io(seen->ground->event, &seen->clock, fd, EPOLLIN, on_clock, seen);
        if (r >= 0)
                r = sd_event_source_set_io_fd_own(seen->clock, true);
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

static int listen_for_zone(Seen *seen)
{
        _fd_ int etc = openat(seen->ground->setup.root, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC);

        return etc < 0 ? -errno
                       : sd_event_add_inotify_fd(seen->ground->event, &seen->zone, etc,
                                                 IN_CREATE | IN_MOVED_TO, on_zone, seen);
}

/* Reads counters before they wrap. */
static int listen_for_energy(Seen *seen)
{
        uint64_t period = energy_period(seen);

        return period == UINT64_MAX
                       ? 0
                       : sd_event_add_time_relative(seen->ground->event, &seen->energy_timer,
                                                    CLOCK_MONOTONIC, period, period / 4, on_energy,
                                                    seen);
}

void seen_find_energy(Seen *seen)
{
        const EnergyDomain *domains;
        int r;

        if (!sensors_may_improve_energy(seen->sensors) ||
            !sensors_improve_energy(seen->sensors, seen->machine.topology))
                return;
        sensors_energy_domains(seen->sensors, &domains);
        log_info("Energy is measured by another source from now on: %s",
                 energy_source_text(domains[0].source));
        observers_forget_energy(seen->observers);
        seen->energy_timer = sd_event_source_disable_unref(seen->energy_timer);
        r = listen_for_energy(seen);
        if (r < 0)
                log_error_errno(r, "Failed to create timers: %m");
        ground_raise(seen->ground, CHANGE_CONFIG | CHANGE_MISSING | DUE_DROP(DROP_CONFIG));
}

void seen_listen(Seen *seen)
{
        int r = listen_for_energy(seen);

        if (r >= 0)
                r = watching_listen(seen->watching);
        if (r < 0)
                log_error_errno(r, "Failed to create timers: %m");
        r = listen_for_clock(seen);
        if (r < 0)
                log_info("Failed to watch changes of the clock (%s)", g_strerror(-r));
        r = listen_for_zone(seen);
        if (r < 0)
                log_debug("Failed to watch changes of the time zone (%s)", g_strerror(-r));
        r = seen->ground->setup.live ? listen_for_devices(seen) : 0;
        if (r < 0)
                log_info("Failed to watch CPUs that come and go (%s): they are detected at the "
                         "next tick",
                         netlink_strerror(r));
}

void seen_unlisten(Seen *seen)
{
        unlisten_for_devices(seen);
        seen->clock = sd_event_source_disable_unref(seen->clock);
        seen->zone = sd_event_source_disable_unref(seen->zone);
        seen->drivers_timer = sd_event_source_disable_unref(seen->drivers_timer);
        seen->energy_timer = sd_event_source_disable_unref(seen->energy_timer);
        watching_unlisten(seen->watching);
}

const MachineFacts *seen_machine(const Seen *seen)
{
        return &seen->machine;
}

const Topology *seen_topology(const Seen *seen)
{
        return seen->machine.topology;
}

const CpuSet *seen_parked(const Seen *seen)
{
        return &seen->parked;
}

const Snapshot *seen_snapshot(const Seen *seen)
{
        return seen->readings.seen;
}

Sensors *seen_sensors(const Seen *seen)
{
        return seen->sensors;
}

Observers *seen_observers(const Seen *seen)
{
        return seen->observers;
}

AffinityCache *seen_affinities(const Seen *seen)
{
        return seen->affinities;
}

Watching *seen_watching(const Seen *seen)
{
        return seen->watching;
}

int seen_new(Ground *ground, const Knobs *knobs, Seen **ret_seen)
{
        Seen *seen = g_new0(Seen, 1);
        int r = machine_init(&seen->machine, ground->setup.root);

        if (r < 0) {
                g_free(seen);
                return log_error_errno(
                        r, "Failed to read the machine's CPUs from sys/devices/system/cpu: %m");
        }
        seen->ground = ground;
        seen->sensors = sensors_new(ground->setup.root, seen->machine.topology);
        readings_init(&seen->readings, seen->machine.topology->n_cpus);
        seen->observers = observers_new(seen->sensors, seen->machine.topology->n_cpus);
        seen->affinities = affinity_cache_new(ground, &seen->parked);
        seen->watching = watching_new(ground, &seen->machine, knobs, &seen->parked);
        seen_note_sleep(seen);
        *ret_seen = seen;
        return 0;
}

void seen_free(Seen *seen)
{
        if (!seen)
                return;
        watching_free(seen->watching);
        affinity_cache_free(seen->affinities);
        observers_free(seen->observers);
        readings_done(&seen->readings);
        sensors_free(seen->sensors);
        machine_done(&seen->machine);
        g_free(seen);
}
