/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The CPUs that irqbalance keeps interrupts off.
 *
 * irqbalance listens on a stream socket in /run/irqbalance, or in the abstract name space if it
 * cannot make one there, and takes one command per connection, with the credentials of root.
 * "setup" is answered with "SLEEP n IRQ ... BANNED mask"; "settings cpus LIST" replaces the CPUs
 * that its environment and isolated CPUs exclude, and "settings cpus NULL" ends that.
 *
 * A command takes effect at the next scan of interrupts, every 10 s. A scan may take as long, and
 * no question is answered meanwhile. Version 1.9.2 dies of SIGPIPE if the client is gone when it
 * answers. So idled asks only for the original, once, and keeps the connection until the answer is
 * there. From then on the knob counts as having the value last written: idled does not notice if
 * another program sets another one. (It also crashes on "settings cpus " without a list,
 * which is never sent.)
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "act/tune/quiet.h"
#include "base/cpuset-text.h"
#include "base/file.h"

#define DIRECTORY   "run/irqbalance"
#define NONE        "none"
#define UNKNOWN     "unknown" /* not asked for */
#define PATIENCE_MS 200       /* for an answer, each time */
#define FAREWELL_MS 15000     /* the last time: longer than it sleeps by default */
#define ANSWER_MAX  (1u << 20)

/* Fills the address of the socket. Abstract ones are those of the running system. */
static int address_of(const ActContext *context, const char *name, struct sockaddr_un *ret_address,
                      socklen_t *ret_length)
{
        size_t room = sizeof(ret_address->sun_path);
        bool abstract = *name == '@';
        int n;

        if (strchr(name, '/') || (abstract && !context->live))
                return -ENOENT;
        *ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
        n = abstract ? snprintf(ret_address->sun_path, room, "%s", name)
                     : snprintf(ret_address->sun_path, room, "/proc/self/fd/%d/" DIRECTORY "/%s",
                                context->root, name);
        if (n < 0 || (size_t)n >= room)
                return -ENOENT;
        if (abstract)
                ret_address->sun_path[0] = '\0';
        *ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n + !abstract);
        return 0;
}

/* -ENOENT: no process listens; -EBUSY: too many wait already. */
static int connect_to(const ActContext *context, const char *name)
{
        const struct timeval patience = { .tv_usec = PATIENCE_MS * 1000 };
        struct sockaddr_un address;
        socklen_t length;
        _fd_ int fd = -1;
        int r = address_of(context, name, &address, &length);

        if (r < 0)
                return r;
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
            setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
                return -errno;
        if (connect(fd, (const struct sockaddr *)&address, length) < 0)
                return errno == ECONNREFUSED ? -ENOENT : errno == EAGAIN ? -EBUSY : -errno;
        r = fd;
        fd = -1;
        return r;
}

/* Sends the command with credentials, which the other side may ask for too late to get them
 * otherwise. */
static int send_command(int fd, const char *command)
{
        struct ucred ucred = { getpid(), getuid(), getgid() };
        struct iovec data = { (void *)command, strlen(command) };
        union {
                struct cmsghdr header;
                char room[CMSG_SPACE(sizeof(struct ucred))];
        } control = { 0 };
        struct msghdr message = { .msg_iov = &data,
                                  .msg_iovlen = 1,
                                  .msg_control = &control,
                                  .msg_controllen = sizeof(control) };
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);

        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_CREDENTIALS;
        header->cmsg_len = CMSG_LEN(sizeof(ucred));
        memcpy(CMSG_DATA(header), &ucred, sizeof(ucred));
        return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Waits for the answer, and reads all of it. */
static int receive(int fd, int patience_ms, GString *answer)
{
        struct pollfd waiting = { .fd = fd, .events = POLLIN };
        char buffer[4096];
        ssize_t n;

        if (poll(&waiting, 1, patience_ms) <= 0)
                return -EBUSY;
        while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0 && answer->len < ANSWER_MAX)
                g_string_append_len(answer, buffer, n);
        return n < 0 ? -errno : 0;
}

static int parse_answer(const char *answer, char **ret_banned)
{
        const char *mask = strstr(answer, "BANNED ");
        CpuSet cpus;

        if (!mask || cpuset_parse_mask(mask + strlen("BANNED "), &cpus) < 0)
                return -EBADMSG;
        *ret_banned = cpuset_is_empty(&cpus) ? g_strdup(NONE) : cpuset_format(&cpus);
        return 0;
}

/* Asks what is banned, by the connection of an earlier question if there is one. -EBUSY: there is
 * no answer yet, and the connection is kept for the next time. */
static int ask(const ActContext *context, const char *name, int *question, char **ret_banned)
{
        g_autoptr(GString) answer = g_string_new(NULL);
        int r = 0;

        if (*question < 0) {
                *question = connect_to(context, name);
                r = *question < 0 ? *question : send_command(*question, "setup");
        }
        if (r == 0)
                r = receive(*question, PATIENCE_MS, answer);
        if (r == -EBUSY && *question >= 0)
                return r;
        fd_close(question);
        *question = -1;
        return r < 0 ? r : parse_answer(answer->str, ret_banned);
}

void irqbalance_done(int *question)
{
        g_autoptr(GString) answer = g_string_new(NULL);

        if (*question >= 0)
                receive(*question, FAREWELL_MS, answer);
        fd_close(question);
        *question = -1;
}

/* True if the process whose number is in the name of its socket is there. */
static bool is_running(const ActContext *context, const char *name)
{
        char path[32];
        int pid;

        if (sscanf(name + (*name == '@'), "irqbalance%d.sock", &pid) != 1)
                return false;
        snprintf(path, sizeof(path), "proc/%d", pid);
        return faccessat(context->root, path, F_OK, 0) == 0;
}

static int irqbalance_read(const ActContext *context, const char *name, char **ret_value)
{
        if (!is_running(context, name))
                return -ENOENT;
        *ret_value = g_strdup(UNKNOWN);
        return 0;
}

static int irqbalance_write(const ActContext *context, const char *name, const char *value)
{
        g_autofree char *command = g_strconcat("settings cpus ",
                                               g_str_equal(value, NONE) ? "NULL" : value, NULL);
        _fd_ int fd = -1;
        CpuSet cpus;

        if (!g_str_equal(value, NONE) && (cpuset_parse(value, &cpus) < 0 || cpuset_is_empty(&cpus)))
                return -EINVAL;
        fd = connect_to(context, name);
        return fd < 0 ? fd : send_command(fd, command);
}

/* It will have the value after its next scan. */
static bool irqbalance_held(const ActContext *context, const char *name, const char *wanted,
                            const char *now)
{
        return true;
}

const KnobKind irqbalance_kind = {
        .name = "irqbalance",
        .read = irqbalance_read,
        .write = irqbalance_write,
        .identity = quiet_identity,
        .held = irqbalance_held,
        .blind = true,
};

/* The name of a socket in the directory whose process runs. */
static char *find_file(const ActContext *context)
{
        _dir_ DIR *dir = dir_open(context->root, DIRECTORY);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (is_running(context, entry->d_name))
                        return g_strdup(entry->d_name);
        return NULL;
}

static char *find_abstract(const ActContext *context)
{
        g_autofree char *sockets = NULL;
        const char *name;

        if (!context->live || file_read(context->root, "proc/net/unix", &sockets) < 0)
                return NULL;
        name = strstr(sockets, " @irqbalance");
        return name ? g_strndup(name + 1, strcspn(name + 1, "\n")) : NULL;
}

char *irqbalance_find(const ActContext *context)
{
        return find_file(context) ?: find_abstract(context);
}

int irqbalance_ban(Knobs *knobs, const ActContext *context, const char *name, const CpuSet *cpus,
                   int *question)
{
        const Knob *knob = knob_find(knobs, &irqbalance_kind, name);
        g_autofree char *original = NULL, *value = NULL;
        KnobChange change = { .kind = &irqbalance_kind, .name = name };
        CpuSet banned = { 0 };
        int r = 0;

        if (knob && knob_is_on_record(knob))
                original = g_strdup(knob->original);
        else
                r = ask(context, name, question, &original);
        if (r < 0)
                return r;
        if (!g_str_equal(original, NONE) && cpuset_parse(original, &banned) < 0)
                return -EBADMSG;
        if (!knob && cpuset_is_subset(cpus, &banned))
                return 0;
        cpuset_or(&banned, cpus);
        value = cpuset_format(&banned);
        change.value = value;
        change.found = original;
        knobs_set(knobs, &change, 1);
        return change.result;
}
