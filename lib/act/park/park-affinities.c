/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether this kernel keeps the affinities of tasks when a cpuset shrinks and grows.
 *
 * Linux does since 6.2, and some older kernels have the change, too. So it is tried:
 *  1. A cgroup of idled's own, idled.probe, gets two CPUs. Only where top-level cgroups have
 *     cpusets already: to enable the controller resets affinities on the kernels in question.
 *  2. A child begins there, pins itself to the second CPU, takes it from the cgroup, adds it
 *     again, and compares.
 *  3. The child is killed if that takes longer than 20 ms, and the cgroup removed. A child that is
 *     stuck in the kernel then is left to init after another half second. If idled is
 *     killed meanwhile, the kernel kills the child; the next start or --restore removes the cgroup.
 *
 * sched_setaffinity(2) is not among the system calls of idled.service. There `idled --probe` runs
 * before the daemon and leaves the result in a file, which the daemon reads once.
 */
#include "act/park/park-affinities.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "act/park/park-common.h"
#include "base/cpuset-text.h"
#include "base/file.h"

#define GROUP    PARK_UNIFIED "/idled.probe"
#define NOTE     "affinities"
#define TRIAL_MS 20
#define KILL_MS  500

/* The two CPUs, and both. */
typedef struct Pair {
        CpuSet first, second, both;
        char *first_text, *both_text;
} Pair;

static void pair_done(Pair *pair)
{
        g_free(pair->first_text);
        g_free(pair->both_text);
}

/* CPUs of partitions are not among the root's. */
static bool pair_choose(int root, Pair *ret_pair)
{
        g_autofree char *text = NULL;
        Pair pair = { 0 };
        CpuSet all;
        int first, second;

        if (file_read(root, PARK_UNIFIED "/cpuset.cpus.effective", &text) < 0 ||
            cpuset_parse(text, &all) < 0)
                return false;
        first = cpuset_next(&all, -1);
        second = cpuset_next(&all, first);
        if (second < 0)
                return false;
        cpuset_add(&pair.first, first);
        cpuset_add(&pair.second, second);
        pair.both = pair.first;
        cpuset_or(&pair.both, &pair.second);
        pair.first_text = cpuset_format(&pair.first);
        pair.both_text = cpuset_format(&pair.both);
        *ret_pair = pair;
        return true;
}

/* What the child does. 0: the affinity was kept; 1: it was not; 2: it could not try. */
static int pin_and_compare(int root, const Pair *pair, pid_t parent)
{
        CpuSet now = { 0 };

        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent ||
            sched_setaffinity(0, sizeof(pair->second), (const cpu_set_t *)&pair->second) < 0 ||
            file_write(root, GROUP "/cpuset.cpus", pair->first_text) < 0 ||
            file_write(root, GROUP "/cpuset.cpus", pair->both_text) < 0 ||
            sched_getaffinity(0, sizeof(now), (cpu_set_t *)&now) < 0)
                return 2;
        return cpuset_equal(&now, &pair->second) ? 0 : 1;
}

/* The child's exit status; negative errno. It begins in the cgroup because to move a process there
 * may wait for all CPUs. */
static int run_child(int root, const Pair *pair)
{
        _fd_ int group = openat(root, GROUP, O_RDONLY | O_DIRECTORY | O_CLOEXEC), child = -1;
        struct clone_args clone = {
                .flags = CLONE_INTO_CGROUP | CLONE_PIDFD,
                .pidfd = (uintptr_t)&child,
                .exit_signal = SIGCHLD,
                .cgroup = (uint64_t)group,
        };
        struct pollfd ended = { .events = POLLIN };
        pid_t parent = getpid();
        siginfo_t info = { 0 };
        long pid;

        if (group < 0)
                return -errno;
        pid = syscall(SYS_clone3, &clone, sizeof(clone));
        if (pid < 0)
                return -errno;
        if (pid == 0)
                _exit(pin_and_compare(root, pair, parent));
        ended.fd = child;
        if (poll(&ended, 1, TRIAL_MS) <= 0) {
                kill((pid_t)pid, SIGKILL);
                poll(&ended, 1, KILL_MS);
        }
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG) < 0)
                return -errno;
        return info.si_code == CLD_EXITED ? info.si_status : -ETIMEDOUT;
}

int affinities_clean(int root)
{
        for (int i = 0; unlinkat(root, GROUP, AT_REMOVEDIR) < 0; i++) {
                if (errno != EBUSY || i >= TRIAL_MS)
                        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
                g_usleep(1000);
        }
        return 0;
}

static int try_in_group(int root, const Pair *pair)
{
        int r = affinities_clean(root);

        if (r < 0)
                return r;
        if (mkdirat(root, GROUP, 0755) < 0)
                return -errno;
        r = file_write(root, GROUP "/cpuset.cpus", pair->both_text);
        if (r >= 0)
                r = run_child(root, pair);
        affinities_clean(root);
        return r == 0 ? 1 : r == 1 ? 0 : r < 0 ? r : -EPERM;
}

int affinities_try(int root, const char **ret_why)
{
        Pair pair;
        int r;

        if (file_has_word(root, PARK_UNIFIED "/cgroup.subtree_control", PARK_CONTROLLER) <= 0) {
                *ret_why = faccessat(root, PARK_UNIFIED "/cgroup.controllers", F_OK, 0) < 0
                                   ? "cgroup v2 is not mounted"
                                   : "no cgroup has a cpuset yet";
                return -EOPNOTSUPP;
        }
        if (!pair_choose(root, &pair)) {
                *ret_why = "it needs two CPUs";
                return -EOPNOTSUPP;
        }
        r = try_in_group(root, &pair);
        pair_done(&pair);
        if (r < 0)
                *ret_why = g_strerror(-r);
        return r;
}

int affinities_note(int run, bool kept)
{
        _fd_ int fd = openat(run, NOTE, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                             0644);

        if (fd < 0)
                return -errno;
        return write(fd, kept ? "1\n" : "0\n", 2) == 2 ? 0 : -EIO;
}

static int take_note(int run)
{
        uint64_t kept;
        int r = file_read_u64(run, NOTE, &kept);

        unlinkat(run, NOTE, 0);
        return r < 0 ? r : kept > 0;
}

/* The option isolcpus= as it was given, if CPUs are isolated by it. It is nothing but the affinity
 * with which the first task starts: a task whose cpuset changes may run on these CPUs, too, and the
 * scheduler does not move it away. The list of sysfs may include CPUs of partitions. */
static char *find_isolcpus(int root)
{
        g_autofree char *isolated = NULL;
        g_auto(GStrv) words = NULL;

        if (file_read(root, "sys/devices/system/cpu/isolated", &isolated) < 0 ||
            !*g_strstrip(isolated) || file_read_words(root, "proc/cmdline", &words) < 0)
                return NULL;
        for (char **word = words; *word; word++)
                if (g_str_has_prefix(*word, "isolcpus="))
                        return g_strdup(*word);
        return NULL;
}

bool affinities_kept(int root, int run, char **ret_about)
{
        const char *why = "a dry run or another root";
        char release[128], *isolcpus = find_isolcpus(root);
        int r = -EOPNOTSUPP;

        if (run >= 0)
                r = take_note(run);
        if (isolcpus) {
                *ret_about = isolcpus;
                return false;
        }
        if (run >= 0 && r < 0)
                r = affinities_try(root, &why);
        if (file_read_value(root, "proc/sys/kernel/osrelease", release, sizeof(release)) < 0)
                g_strlcpy(release, "of unknown version", sizeof(release));
        *ret_about = r >= 0 ? g_strdup_printf("Linux %s, tried", release)
                            : g_strdup_printf("Linux %s, not tried: %s", release, why);
        return r >= 0 ? r > 0 : park_kernel_is(root, 6, 2);
}
