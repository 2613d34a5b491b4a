/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * How long a Hold takes while another user floods idled with calls: ADDRESS
 * HOSTILE-UID VICTIM-UID TARGET-USEC PID-OF-IDLED.
 *
 * There are several attacks, one after the other. Against calls that want an answer the bus daemon
 * has a limit: each connection keeps as many unanswered as it permits, and sends the next one for
 * each answer. Calls that want none are sent as fast as the bus daemon reads them. The victim holds
 * and releases, one call at a time. The reference in the same run is the victim's call to the bus
 * daemon itself, before and during the attack: what is above it is idled's.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "bench-hold.h"

#define CONNECTIONS_MAX 40
#define OUTSTANDING     100 /* of the 128 that dbus-daemon permits */
#define CALLS           200
#define PAUSE_USEC      100000 /* the victim uses less than a user's share */
#define MOST_USEC       30e6   /* then fewer calls have to do */

typedef struct Kind {
        const char *path, *interface, *member, *types, *arguments[2];
} Kind;

/* Those that cost idled most. */
static const Kind costly[] = {
        { PATH, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", "", { NULL } },
        { PATH, MANAGER, "Explain", "", { NULL } },
        { PATH, MANAGER, "Verify", "", { NULL } },
        { PATH, "org.freedesktop.DBus.Properties", "GetAll", "s", { MANAGER } },
        { PATH "/cpu/0", "org.freedesktop.DBus.Properties", "GetAll", "s", { NAME ".Cpu" } },
        { PATH "/cpu/0",
          "org.freedesktop.DBus.Properties",
          "Get",
          "ss",
          { NAME ".Cpu", "Residency" } },
        { PATH, MANAGER, "GetSettings", "", { NULL } },
        { PATH "/cpu", "org.freedesktop.DBus.Introspectable", "Introspect", "", { NULL } },
        { PATH, "org.freedesktop.DBus.Peer", "Ping", "", { NULL } },
};

/* Refused by polkit, as there is none here. */
static const Kind refused[] = { { PATH, MANAGER, "Hold", "", { NULL } } };

/* Their effect is refused. */
static const Kind with_effect[] = { { PATH, MANAGER, "Reload", "", { NULL } } };

typedef struct Attack {
        const char *name;
        int connections;
        bool silent; /* wants no answer */
        const Kind *kinds;
        unsigned n_kinds;
} Attack;

static const Attack attacks[] = {
        { "16 connections", 16, false, costly, G_N_ELEMENTS(costly) },
        { "40 connections", 40, false, costly, G_N_ELEMENTS(costly) },
        { "refused Hold", 16, false, refused, G_N_ELEMENTS(refused) },
        { "no reply, 1 connection", 1, true, costly, G_N_ELEMENTS(costly) },
        { "Reload, no reply", 1, true, with_effect, G_N_ELEMENTS(with_effect) },
};

static const Attack *attack_now;
static unsigned next_kind;
static uint64_t *n_answers; /* shared with the attacker's process */

static sd_bus *connect_to(const char *address)
{
        sd_bus *connection = NULL;
        int r = sd_bus_new(&connection);

        if (r >= 0)
                r = sd_bus_set_address(connection, address);
        if (r >= 0)
                r = sd_bus_set_bus_client(connection, true);
        if (r >= 0)
                r = sd_bus_negotiate_fds(connection, true);
        if (r >= 0)
                r = sd_bus_start(connection);
        if (r < 0)
                fail("bus", r, NULL);
        return connection;
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error);

static void attack_once(sd_bus *connection)
{
        const Kind *kind = &attack_now->kinds[next_kind++ % attack_now->n_kinds];
        sd_bus_message *call = NULL;
        int r = sd_bus_message_new_method_call(connection, &call, NAME, kind->path, kind->interface,
                                               kind->member);

        for (int i = 0; r >= 0 && kind->types[i]; i++)
                r = sd_bus_message_append_basic(call, 's', kind->arguments[i]);
        if (r >= 0 && g_str_equal(kind->member, "Hold"))
                r = sd_bus_message_append(call, "a{sv}", 1, "latency_us", "u", 50);
        if (r >= 0 && attack_now->silent) {
                r = sd_bus_message_set_expect_reply(call, false);
                if (r >= 0)
                        r = sd_bus_send(connection, call, NULL);
                (*n_answers)++;
        } else if (r >= 0)
                r = sd_bus_call_async(connection, NULL, call, on_answer, connection, UINT64_MAX);
        if (r < 0)
                fail("attack", r, NULL);
        sd_bus_message_unref(call);
}

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
        (*n_answers)++;
        attack_once(userdata);
        return 0;
}

static void attack(const char *address)
{
        struct pollfd polls[CONNECTIONS_MAX];
        sd_bus *connections[CONNECTIONS_MAX];
        int n = attack_now->connections;

        for (int i = 0; i < n; i++) {
                connections[i] = connect_to(address);
                polls[i].fd = sd_bus_get_fd(connections[i]);
                for (int j = 0; !attack_now->silent && j < OUTSTANDING; j++)
                        attack_once(connections[i]);
        }
        for (;;) {
                for (int i = 0; i < n; i++) {
                        uint64_t unwritten = 0;
                        int r;

                        while ((r = sd_bus_process(connections[i], NULL)) > 0)
                                continue;
                        if (r >= 0)
                                r = sd_bus_get_n_queued_write(connections[i], &unwritten);
                        while (r >= 0 && attack_now->silent && unwritten == 0) {
                                attack_once(connections[i]);
                                r = sd_bus_get_n_queued_write(connections[i], &unwritten);
                        }
                        if (r < 0)
                                fail("attack", r, NULL);
                        polls[i].events = (short)sd_bus_get_events(connections[i]);
                }
                poll(polls, (nfds_t)n, -1);
        }
}

static pid_t attack_begin(const char *address, uid_t uid)
{
        pid_t pid = fork();

        if (pid != 0)
                return pid;
        if (setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
                fail("setresuid", -errno, NULL);
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* changing the user clears it */
        attack(address);
        _exit(EXIT_FAILURE);
}

static void ask_bus(void)
{
        int r = sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                   "org.freedesktop.DBus", "GetId", NULL, NULL, "");

        if (r < 0)
                fail("GetId", r, NULL);
}

/* `p99_target` in us; 0: none. False: it is exceeded. */
static bool measure(const char *when, double p99_target)
{
        static double bus_times[CALLS], holds[CALLS];
        g_autofree char *what_bus = g_strdup_printf("the bus daemon itself, %s", when);
        g_autofree char *what = g_strdup_printf("Hold, %s", when);
        double end = now_usec() + MOST_USEC;
        int n = 0;

        for (; n < CALLS && now_usec() < end; n++) {
                double start = now_usec();
                char *path;
                int fd;

                ask_bus();
                bus_times[n] = now_usec() - start;
                start = now_usec();
                fd = hold(50, &path);
                holds[n] = now_usec() - start;
                release(path);
                close(fd);
                g_free(path);
                g_usleep(PAUSE_USEC);
        }
        print_times(what_bus, bus_times, n, 0, 0);
        return print_times(what, holds, n, p99_target, p99_target);
}

static uint64_t read_u64(const char *property)
{
        sd_bus_error error = SD_BUS_ERROR_NULL;
        uint64_t value = 0;
        int r = sd_bus_get_property_trivial(bus, NAME, PATH, MANAGER, property, &error, 't',
                                            &value);

        if (r < 0)
                fail(property, r, &error);
        return value;
}

/* How long the process has waited for a CPU, in ms: what others on this machine cost. */
static double run_delay_ms(const char *pid)
{
        g_autofree char *path = g_strdup_printf("/proc/%s/schedstat", pid), *text = NULL;
        unsigned long long ran = 0, waited = 0;

        if (g_file_get_contents(path, &text, NULL, NULL))
                sscanf(text, "%llu %llu", &ran, &waited);
        return (double)waited / 1e6;
}

/* Attacks while the victim holds, and prints what that cost. Returns with the user's rights; true
 * if the victim's holds met the target. */
static bool measure_attack(const Attack *attack, char **argv, uid_t hostile, uid_t victim)
{
        double start, delay;
        uint64_t ticks, cpu;
        pid_t pid;
        bool met;

        if (seteuid(0) < 0)
                fail("seteuid", -errno, NULL);
        attack_now = attack;
        *n_answers = 0;
        pid = attack_begin(argv[1], hostile);
        if (seteuid(victim) < 0)
                fail("seteuid", -errno, NULL);
        ticks = read_u64("Ticks");
        cpu = read_u64("CpuUSec");
        delay = run_delay_ms(argv[5]);
        start = now_usec();
        g_usleep(G_USEC_PER_SEC / 2);
        met = measure(attack->name, atof(argv[4]));
        printf("%-46s %8.0f a second\n", attack->silent ? "calls sent" : "calls answered",
               (double)*n_answers * 1e6 / (now_usec() - start));
        printf("%-46s %8.0f %%\n", "CPU time of idled meanwhile",
               (double)(read_u64("CpuUSec") - cpu) * 100 / (now_usec() - start));
        printf("%-46s %8.0f ms\n", "in which idled waited for a CPU",
               run_delay_ms(argv[5]) - delay);
        printf("%-46s %8u\n", "ticks meanwhile", (unsigned)(read_u64("Ticks") - ticks));
        if (seteuid(0) < 0)
                fail("seteuid", -errno, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (seteuid(victim) < 0)
                fail("seteuid", -errno, NULL);
        return met;
}

int main(int argc, char **argv)
{
        uid_t hostile = argc == 6 ? (uid_t)atoi(argv[2]) : 0,
              victim = argc == 6 ? (uid_t)atoi(argv[3]) : 0;
        const char *only = getenv("ATTACK");
        uint64_t late;
        bool met = true;

        setvbuf(stdout, NULL, _IOLBF, 0);
        if (hostile == 0 || victim == 0)
                return EXIT_FAILURE;
        n_answers = mmap(NULL, sizeof(*n_answers), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        printf("%-46s %8s %8s %8s\n", "us", "p50", "p99", "max");
        /* The saved user stays root's, to begin and to end attacks with. */
        if (setresgid(victim, victim, victim) < 0 || setresuid(victim, victim, 0) < 0)
                fail("setresuid", -errno, NULL);
        bus = connect_to(argv[1]);
        measure("before", 0);
        printf("%-46s %8.1f ms\n", "the latest tick before was late by",
               (double)read_u64("LateUSec") / 1e3);
        for (size_t i = 0; i < G_N_ELEMENTS(attacks); i++)
                if (!only || g_str_has_prefix(attacks[i].name, only))
                        met &= measure_attack(&attacks[i], argv, hostile, victim);
        late = read_u64("LateUSec");
        printf("%-46s %8.1f ms   at most 50: %s\n", "the latest tick of all was late by",
               (double)late / 1e3, late <= 50000 ? "met" : "MISSED");
        sd_bus_flush_close_unref(bus);
        return met && late <= 50000 ? EXIT_SUCCESS : EXIT_FAILURE;
}
