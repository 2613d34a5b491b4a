/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * idled: the command line, the event loop, and the exit.
 *
 * Everything else is in libraries. This file has what only a process has: signals, the lock that
 * prevents a second instance from restoring what the first one changed, systemd's notification
 * socket, the exit status.
 *
 * The order matters. The bus name is requested before the machine is changed, so that a second
 * daemon stops with an error and without effect. What an earlier instance left changed is restored
 * before the first decision. At the end everything is restored before the process reports that it
 * stops.
 */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <systemd/sd-daemon.h>
#include <systemd/sd-event.h>
#include <unistd.h>

#include "base/cpuset-text.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "bus/bus.h"
#include "manager/manager-view.h"
#include "systemd/unit-control.h"
#include "sense/netlink.h"
#include "arguments.h"

/* How long --once waits for a decision, and --probe for the service manager. */
#define ONCE_USEC  (10 * G_USEC_PER_SEC)
#define STORE_USEC (5 * G_USEC_PER_SEC)

typedef struct Daemon {
        sd_event *event;
        Manager *manager;
        Bus *bus;
        Units *units;       /* of --once, which has no bus to serve; else those of `bus` */
        bool misconfigured; /* the configuration has errors, so the daemon did not start */
} Daemon;

/* A directory given on the command line, for use with openat(): absolute ones ignore the root. */
static const char *directory(const char *given, const char *below_root)
{
        g_autofree char *path = given ? g_canonicalize_filename(given, NULL) : NULL;

        return path ? g_intern_string(path) : below_root;
}

/* Where the chosen profile is kept; made only when there is something to keep. */
static const char *state_directory(const Arguments *arguments)
{
        g_autofree char *usual = g_build_filename(arguments->root ?: "/", "var/lib/idled", NULL);

        return directory(arguments->state, g_intern_string(usual));
}

static int fill_setup(const Arguments *arguments, ManagerSetup *setup)
{
        int root = root_open(arguments->root ?: "/");

        if (root < 0)
                return log_error_errno(root, "%s: %m", arguments->root);
        *setup = (ManagerSetup){
                .paths = { .root = root,
                           .root_path = arguments->root,
                           .vendor_dir = directory(arguments->vendor_dir, &VENDOR_DIR[1]),
                           .admin_dir = directory(arguments->config_dir, "etc/idled"),
                           .policy_dir = directory(arguments->policy_dir, POLICY_DIR) },
                .root = root,
                .run = -1,
                .state = state_directory(arguments),
                .dry_run = arguments->dry_run,
                .live = !arguments->root,
                .keep_log_level = arguments->log_level_given,
        };
        return 0;
}

/* Opens the directory of the record, making it and what leads to it if it is not there. */
static int open_run_directory(const char *path)
{
        bool made = g_mkdir_with_parents(path, 0755) == 0;
        int fd = made ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1, error = -errno;
        bool needs_root = (error == -EACCES || error == -EPERM) && geteuid() != 0;

        if (fd < 0)
                return log_error_errno(error, "%s: %m%s", path,
                                       needs_root ? ": idled needs root (or --run DIR)" : "");
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
                return fd;
        error = -errno;
        close(fd);
        if (error == -EWOULDBLOCK)
                log_error("%s: another idled is running", path);
        else
                log_error_errno(error, "%s: %m", path);
        return error;
}

static int check(const ManagerSetup *setup, const Arguments *arguments)
{
        g_autoptr(GPtrArray) errors = config_errors_new(), warnings = config_errors_new();
        g_autoptr(Config) config = NULL;
        int r;

        r = config_check_directory(arguments->config_dir, errors) &&
                            config_check_directory(arguments->vendor_dir, errors)
                    ? config_load(&setup->paths, errors, &config)
                    : -ENOENT;
        config_errors_log(errors, LOG_ERR);
        if (r < 0)
                return r;
        config_find_warnings_below(setup->root, &setup->paths, config, warnings);
        config_errors_log(warnings, LOG_WARNING);
        puts("The configuration is valid.");
        return 0;
}

/* Needs systemd on the bus only for units, and not our name there. */
static int restore(const ManagerSetup *setup, const Arguments *arguments)
{
        g_autoptr(Units) units = units_new(NULL, arguments->no_bus ? NULL : arguments->bus);
        g_autoptr(Knobs) knobs = NULL;

        units_be_patient(units);
        knobs = knobs_new(&(ActContext){ setup->root, units_control(units), setup->live },
                          setup->run, false);
        return manager_recover(knobs, setup->root, setup->run_path);
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        Daemon *daemon = userdata;

        sd_notifyf(false, "RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
        if (manager_reload(daemon->manager, errors) < 0) {
                config_errors_log(errors, LOG_ERR);
                log_error(
                        "The configuration has errors; the running configuration stays in effect");
        }
        sd_notify(false, "READY=1");
        return 0;
}

static int run(Daemon *daemon)
{
        int r;

        r = daemon->bus ? bus_serve(daemon->bus, daemon->manager) : 0;
        if (r < 0)
                return log_error_errno(r, "Failed to publish the manager on the bus: %m");
        r = manager_start(daemon->manager);
        if (r < 0)
                log_error("Some knobs could not be restored");
        r = sd_event_set_watchdog(daemon->event, true);
        if (r < 0)
                log_error_errno(r, "Failed to enable the watchdog: %m");
        sd_notify(false, "READY=1\nSTATUS=Watching the load");
        log_info("idled " IDLED_VERSION "%s",
                 manager_setup(daemon->manager)->dry_run ? ": dry run, nothing is changed" : "");
        memory_settle();
        r = sd_event_loop(daemon->event);
        if (r < 0)
                log_error_errno(r, "The event loop failed: %m");
        sd_notify(false, "STOPPING=1");
        return r;
}

/* "online 0-3, load 0.10, parked 2-3"; or "parked none, planned 2-3: WHY" if the plan could not be
 * carried out, or was not meant to be. */
static void print_parked(const Manager *manager)
{
        g_autofree char *online = cpuset_format(&manager_topology(manager)->online);
        g_autofree char *parked = cpuset_format(manager_parked(manager)), *wanted = NULL,
                        *why = NULL;
        CpuSet planned = manager_topology(manager)->online;

        cpuset_subtract(&planned, &manager_plan(manager)->allowed);
        printf("online %s, load %.2f, parked %s", online, manager_snapshot(manager)->load,
               *parked ? parked : "none");
        if (!cpuset_equal(&planned, manager_parked(manager))) {
                wanted = cpuset_format(&planned);
                why = manager_obstacle(manager);
                printf(", planned %s: %s", *wanted ? wanted : "none", why ?: "not yet");
        }
        putchar('\n');
}

static void print_decision(const Manager *manager)
{
        const ActivePolicy *p;

        for (unsigned i = 0; (p = manager_policy(manager, i)); i++) {
                g_autofree char *wish = policy_explain_wish(p, &manager_topology(manager)->online);

                printf("%s: %s\n", p->policy->name, wish);
        }
        print_parked(manager);
}

/* Runs the loop for `usec`, or until `is_over`. */
static int run_for(Daemon *daemon, uint64_t usec, bool (*is_over)(const Manager *manager))
{
        uint64_t end = (uint64_t)g_get_monotonic_time() + usec, now;
        int r = 0;

        while (r >= 0 && (now = (uint64_t)g_get_monotonic_time()) < end &&
               !(is_over && is_over(daemon->manager)))
                r = sd_event_run(daemon->event, end - now);
        return r < 0 ? log_error_errno(r, "The event loop failed: %m") : 0;
}

static void unit_cpus(const char *unit, const UnitCpus *cpus, void *userdata)
{
        manager_unit_cpus(((Daemon *)userdata)->manager, unit, cpus);
}

static void units_listed(int error, void *userdata)
{
        manager_units_listed(((Daemon *)userdata)->manager, error);
}

/* Two ticks, so that there is an interval to decide by, and more while a policy requests another
 * reading to be sure. A record that was not understood does not change the decision, but the exit
 * status is a failure. */
static int run_once(Daemon *daemon)
{
        const UnitListener listener = { .cpus = unit_cpus,
                                        .listed = units_listed,
                                        .userdata = daemon };
        int started, r;

        if (daemon->units)
                units_watch(daemon->units, UNITS_JOBS, &listener);
        started = manager_start(daemon->manager);
        r = started == -EBADMSG ? 0 : started;
        if (r >= 0)
                r = run_for(daemon, MAX(manager_plan(daemon->manager)->period_usec, 250000), NULL);
        manager_tick(daemon->manager);
        if (r >= 0)
                r = run_for(daemon, ONCE_USEC, manager_has_decided);
        print_decision(daemon->manager);
        return r ?: actuator_set_error(manager_actuators(daemon->manager)) ?: started;
}

static int make_loop(Daemon *daemon)
{
        static const struct {
                int number;
                sd_event_signal_handler_t handler; /* NULL: the loop ends */
        } wanted[] = { { SIGTERM, NULL }, { SIGINT, NULL }, { SIGHUP, on_reload } };
        sigset_t signals;
        int r;

        sigemptyset(&signals);
        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++)
                sigaddset(&signals, wanted[i].number);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        r = sd_event_default(&daemon->event);
        for (size_t i = 0; r >= 0 && i < G_N_ELEMENTS(wanted); i++)
                r = sd_event_add_signal(daemon->event, NULL, wanted[i].number, wanted[i].handler,
                                        wanted[i].handler ? daemon : NULL);
        return r < 0 ? log_error_errno(r, "Failed to create the event loop: %m") : 0;
}

/* A machine that is not ours has to do with a bus only if one is named. */
static bool has_bus(const Arguments *arguments)
{
        return !arguments->no_bus && (arguments->bus || !arguments->root);
}

/* Connects to systemd, and to run also serves the bus. */
static int connect_bus(Daemon *daemon, ManagerSetup *setup, const Arguments *arguments)
{
        int r;

        if (!has_bus(arguments))
                return 0;
        if (arguments->mode == MODE_ONCE) {
                daemon->units = units_new(daemon->event, arguments->bus);
                setup->units = units_control(daemon->units);
                return 0;
        }
        r = bus_new(daemon->event, arguments->bus, &daemon->bus);
        if (r >= 0)
                setup->units = bus_units(daemon->bus);
        return r;
}

/* Those that "idled --probe" stored. */
static void take_sockets(void)
{
        int n = sd_listen_fds(true);

        for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + n; fd++)
                if (sd_is_socket(fd, AF_NETLINK, 0, -1) > 0)
                        netlink_adopt(fd);
}

static int start(Daemon *daemon, ManagerSetup *setup, const Arguments *arguments)
{
        g_autoptr(GPtrArray) errors = config_errors_new();
        int r;

        r = make_loop(daemon);
        if (r < 0)
                return r;
        r = connect_bus(daemon, setup, arguments);
        if (r < 0)
                return r;
        take_sockets();
        manager_learn_affinities(setup);
        r = manager_new(setup, daemon->event, errors, &daemon->manager);
        config_errors_log(errors, LOG_ERR);
        daemon->misconfigured = r == -EINVAL && errors->len > 0;
        if (r < 0)
                return r;
        return arguments->mode == MODE_ONCE ? run_once(daemon) : run(daemon);
}

/* Gives the service manager sockets that the daemon may not open. Those of a process that was
 * killed are replaced. Without FDPOLL=0 systemd would drop one whose queue is full. Waits until the
 * manager has them. */
static int store_sockets(int root)
{
        int fds[NETLINK_SOCKETS], n, r = netlink_enter_first(root);

        if (r < 0)
                log_warning("Events of processes cannot reach the daemon: the first network "
                            "namespace cannot be entered (%s)",
                            g_strerror(-r));
        n = netlink_open_all(fds);
        if (n < 0)
                return n;
        r = sd_notify(false, "FDSTOREREMOVE=1\nFDNAME=netlink");
        if (r > 0)
                r = sd_pid_notify_with_fds(0, false, "FDSTORE=1\nFDNAME=netlink\nFDPOLL=0", fds,
                                           (unsigned)n);
        if (r > 0)
                r = sd_notify_barrier(false, STORE_USEC);
        for (int i = 0; i < n; i++)
                close(fds[i]);
        return r;
}

/* Before each start: what the rights that idled.service gives the daemon do not permit. */
static int probe(const ManagerSetup *setup)
{
        int r = getenv("NOTIFY_SOCKET") ? store_sockets(setup->root) : 0;

        if (r < 0)
                log_warning("Sockets for the kernel's events cannot be passed to the daemon (%s)",
                            g_strerror(-r));
        return manager_probe(setup);
}

/* `*ret_status`: with which status to exit after a failure. */
static int act_on(const Arguments *arguments, int *ret_status)
{
        g_autofree char *run = NULL;
        Daemon daemon = { 0 };
        ManagerSetup setup = { .root = -1, .run = -1 };
        int r, restored;

        r = fill_setup(arguments, &setup);
        if (r < 0)
                return r;
        if (arguments->mode == MODE_CHECK)
                return check(&setup, arguments);
        if (!arguments->dry_run) {
                run = arguments->run ? g_strdup(arguments->run)
                                     : g_build_filename(arguments->root ?: "/", "run/idled", NULL);
                setup.run_path = run;
                setup.run = open_run_directory(run);
                if (setup.run < 0)
                        return setup.run;
        }
        if (arguments->mode == MODE_RESTORE)
                return restore(&setup, arguments);
        if (arguments->mode == MODE_PROBE)
                return probe(&setup);
        r = start(&daemon, &setup, arguments);
        if (daemon.misconfigured)
                *ret_status = EX_CONFIG;
        bus_be_patient(daemon.bus);
        if (daemon.units)
                units_be_patient(daemon.units);
        restored = manager_free(daemon.manager);
        bus_free(daemon.bus);
        units_free(daemon.units);
        sd_event_unref(daemon.event);
        return r < 0 ? r : restored;
}

/* Every hold and every process that holds takes a descriptor; the usual 1024 are for programs that
 * use select(2), which this one does not. */
static void allow_descriptors(void)
{
        struct rlimit limit;

        if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
                return;
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
                log_debug("Failed to raise the limit of file descriptors: %m");
}

/* Programs that a service starts inherit JOURNAL_STREAM, and may have another standard error. */
static bool logs_to_journal(void)
{
        const char *stream = g_getenv("JOURNAL_STREAM");
        g_autofree char *ours = NULL;
        struct stat st;

        if (!stream || fstat(STDERR_FILENO, &st) < 0)
                return false;
        ours = g_strdup_printf("%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
        return g_str_equal(stream, ours);
}

int main(int argc, char **argv)
{
        Arguments arguments = { 0 };
        int r, failure = EXIT_FAILURE;

        allow_descriptors();
        signal(SIGPIPE, SIG_IGN); /* a log without reader is no reason to leave the machine changed
                                   */
        if (logs_to_journal())
                log_set_target("journal");
        r = arguments_parse(argc, argv, &arguments);
        if (r < 0)
                return 2;
        if (r > 0)
                r = act_on(&arguments, &failure);
        return r < 0 ? failure : EXIT_SUCCESS;
}
