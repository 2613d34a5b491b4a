/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration's errors: every kind of mistake, with its place, what was found and what is
 * valid. */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "config-tree.h"

/* Errors about the default policies, none of which is among these modules; six lines. */
#define DEFAULTS                                                                                   \
        "(default): "                                                                              \
        "Policies:|\"userspace\"|\"latency\"|\"contract\"|\"ondemand\"|\"cpufreq\"|"               \
        "\"cstates\"|" ALL

#define PROFILES "/etc/idled/profiles"
#define KEYS     "Period, MinCores, MaxCores, Share, Order, Cpus, Text, Words, Eager"

static const struct {
        const char *name;
        const char *errors; /* for says(): where, the option, what was found, what is valid */
        const char *files;  /* for put_all() */
        unsigned lines;     /* 0: one */
} bad[] = {
        { "bad value", AT_ALPHA ":3: Period:|\"1o0ms\"|10ms|10s|250ms",
          POLICY("\nPeriod = 1o0ms \n") },
        { "out of range", AT_ALPHA ":2: Period:|\"11s\"|10ms|10s|250ms", POLICY("Period=11s\n") },
        { "value with a comment behind it", AT_ALPHA ":2: MinCores:|\"1 # one\"|1|8192",
          POLICY("MinCores=1 # one\n") },
        { "quoted value", AT_ALPHA ":2: Period:|\"\"250ms\"\"|10ms|10s|250ms",
          POLICY("Period=\"250ms\"\n") },
        { "unknown choice", AT_IDLED ":3: LogLevel:|\"verbose\"|emerg",
          DAEMON("LogLevel=verbose\n") },
        { "unknown key", AT_ALPHA ":2: Periot:|Policy|Period", POLICY("Periot=1s\n") },
        { "unknown key like no other", AT_ALPHA ":2: Temperature:|Policy|" KEYS,
          POLICY("Temperature=1\n") },
        { "case counts", AT_ALPHA ":2: period:|Policy|Period", POLICY("period=1s\n") },
        { "translated key", AT_ALPHA ":2: Text[de]:|Policy|" KEYS, POLICY("Text[de]=Hallo\n") },
        { "key of another section", AT_IDLED ":2: Policies:|Park|Daemon",
          PUT(IDLED, "[Park]\nPolicies=alpha\n[Daemon]\nPolicies=alpha\n") },
        { "unknown section, its keys not mentioned",
          AT_IDLED ":1:|Deamon|Daemon|Park|Recording|Frequency|IdleStates|Latency|Evaluate|"
                   "Interrupts|Housekeeping",
          USE PUT(IDLED, "[Deamon]\nPolicies=alpha\nFoo=1\n[Daemon]\nPolicies=alpha\n") },
        { "policy's section in idled.conf",
          AT_IDLED ":3:|Policy|Daemon|Park|Recording|Frequency|IdleStates|Latency|Evaluate|"
                   "Interrupts|Housekeeping",
          DAEMON("[Policy]\nPeriod=1s\n") },
        { "daemon's section in a policy's file", AT_ALPHA ":1:|Daemon|Policy",
          USE PUT(ALPHA, "[Daemon]\nLogLevel=info\n") },
        { "no section", AT_ALPHA ":2: Period:|Section",
          USE PUT(ALPHA, "# comment\nPeriod=1s\n[Policy]\n") },
        { "key twice", AT_ALPHA ":4: Period:|once", POLICY("Period=1s\nMinCores=2\nPeriod=1s\n") },
        { "key twice in a section that comes twice", AT_ALPHA ":4: Period:|once",
          POLICY("Period=1s\n[Policy]\nPeriod=\n") },
        { "no equals sign", AT_ALPHA ":2:|\"Period 1s\"|Section", POLICY("Period 1s\n") },
        { "no key", AT_ALPHA ":2:|\"= 1s\"|Section", POLICY(" = 1s\n") },
        { "section without end", AT_ALPHA ":1:|\"[Policy\"|Section",
          USE PUT(ALPHA, "[Policy\nPeriod=1s\n") },
        { "section without name", AT_ALPHA ":1:|\"[]\"|Section", USE PUT(ALPHA, "[]\n") },
        { "section with something behind", AT_ALPHA ":1:|\"[Policy] # here\"|Section",
          USE PUT(ALPHA, "[Policy] # here\n") },
        { "just a bracket", AT_ALPHA ":1:|\"[\"|Section", USE PUT(ALPHA, "[\n") },
        { "not UTF-8", AT_ALPHA ":2:|UTF-8|" AT_ALPHA ":3: Period:|\"1\"|10ms|10s|250ms",
          POLICY("Text=\xff\nPeriod=1\n"), 2 },
        { "NUL", AT_ALPHA ":2:|NUL", POLICY("Text=a\001b\n") },
        { "byte order mark", AT_ALPHA ":1:|byte order mark|without BOM|" AT_ALPHA ":2: Period:",
          USE PUT(ALPHA, "\xef\xbb\xbf[Policy]\nPeriod=x\n"), 2 },
        { "control character", AT_ALPHA ":2: Min\\x1bCores:|Policy|MinCores",
          POLICY("Min\033Cores=1\n") },
        { "all errors of all files, in their order",
          AT_IDLED
          ":3: LogDecisions:|\"2\"|yes|no|/etc/idled/idled.conf.d/10-a.conf:2: "
          "LogLevel:|\"loud\"|emerg|/etc/idled/idled.conf.d/10-a.conf:3: "
          "X:|Daemon|LogDecisions|" AT_ALPHA
          ":2: Share:|\"80\"|1%|100%|80%|/usr/lib/idled/policies/beta.conf:4: "
          "Order:|\"none\"|efficiency|/usr/lib/idled/policies/beta.conf:5: Cpus:|\"x\"|2-5|9",
          PUT(IDLED, "[Daemon]\nPolicies=alpha beta\nLogDecisions=2\n")
                  PUT("etc/idled/idled.conf.d/10-a.conf", "[Daemon]\nLogLevel=loud\nX=1\n") PUT(
                          ALPHA, "[Policy]\nShare=80\n") PUT("usr/lib/idled/policies/beta.conf",
                                                             "[Policy]\n\n\nOrder=none\nCpus=x"),
          6 },
        { "policy that is not there", AT_IDLED ":2: Policies:|\"alhpa\"|alpha|" ALL,
          PUT(IDLED, "[Daemon]\nPolicies=alhpa beta\n") },
        { "default policies that are not there", DEFAULTS, "", 6 },
        { "policy twice", AT_IDLED ":2: Policies:|\"alpha\"|once",
          PUT(IDLED, "[Daemon]\nPolicies=alpha beta alpha\n") },
        { "three times", AT_IDLED ":2: Policies:|\"alpha\"|once",
          PUT(IDLED, "[Daemon]\nPolicies=alpha alpha beta alpha\n") },
        { "the file of a policy whose name is misspelt",
          AT_IDLED ":2: Policies:|\"alhpa\"|alpha|" ALL "|" AT_ALPHA ":2: MinCores:|\"0\"|1|8192",
          PUT(IDLED, "[Daemon]\nPolicies=alhpa\n") PUT(ALPHA, "[Policy]\nMinCores=0\n"), 2 },
        { "the file of a policy when Policies is",
          AT_IDLED ":2: Polices:|Daemon|Policies|" DEFAULTS "|" AT_ALPHA
                   ":2: MinCores:|\"0\"|1|8192",
          PUT(IDLED, "[Daemon]\nPolices=alpha\n") PUT(ALPHA, "[Policy]\nMinCores=0\n"), 8 },
        { "policy by path", AT_IDLED ":2: Policies:|\"../alpha\"|lower-case",
          PUT(IDLED, "[Daemon]\nPolicies=../alpha\n") },
        { "policy that is none", AT_IDLED ":2: Policies: MODULES/wrong-symbol.so:|idled_policy",
          PUT(IDLED, "[Daemon]\nPolicies=wrong-symbol\n") },
        { "options that contradict each other",
          AT_ALPHA ":3: MinCores:|\"5\"|MaxCores|\"4\"|" AT_ALPHA ":2",
          POLICY("MaxCores=4\nMinCores=5\n") },
        { "options of two drop-ins that contradict each other",
          AT_ALPHA ".d/a.conf:2: MinCores:|\"5\"|MaxCores|\"2\"|" AT_ALPHA ".d/b.conf:3",
          USE PUT(ALPHA ".d/a.conf", "[Policy]\nMinCores=5\n")
                  PUT(ALPHA ".d/b.conf", "[Policy]\n\nMaxCores=2\n") },
        { "option that contradicts a default",
          "/etc/idled/policies/alpha.conf.d/x.conf:2: MinCores:|\"9\"|MaxCores|\"8\"|default",
          USE PUT("etc/idled/policies/alpha.conf.d/x.conf", "[Policy]\nMinCores=9\n") },
        { "power table that is not there", AT_IDLED ":4: PowerTable:|\"mine\"|power/",
          DAEMON("[Evaluate]\nPowerTable=mine\n") },
        { "power table that is misspelt", AT_IDLED ":4: PowerTable:|\"corridle\"|power/|coreidle",
          DAEMON("[Evaluate]\nPowerTable=corridle\n")
                  PUT("usr/lib/idled/power/coreidle.conf", "[States]\nC0=1\n") },
        { "power table by path", AT_IDLED ":4: PowerTable:|\"/etc/idled/power/x.conf\"|power/",
          DAEMON("[Evaluate]\nPowerTable=/etc/idled/power/"
                 "x.conf\n") PUT("etc/idled/power/x.conf", "[States]\nC0=1\n") },
        { "power table above its directory", AT_IDLED ":4: PowerTable:|\"..\"|power/",
          DAEMON("[Evaluate]\nPowerTable=..\n") },
        { "power table that is wrong, and its drop-in",
          "/etc/idled/power/x.conf:2: "
          "C0:|\"much\"|0|100000|12.5|/etc/idled/power/x.conf.d/a.conf:1:|State|Power|States",
          DAEMON("[Evaluate]\nPowerTable=x\n") PUT("etc/idled/power/x.conf", "[States]\nC0=much\n")
                  PUT("etc/idled/power/x.conf.d/a.conf", "[State]\nC0=1\n"),
          2 },
        { "power table without states", "/etc/idled/power/x.conf:|States",
          DAEMON("[Evaluate]\nPowerTable=x\n")
                  PUT("etc/idled/power/x.conf", "[Power]\nDescription=none\n") },
        { "enough is enough", NULL,
          USE PUT(ALPHA, "a\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\n") },
};

TEST_EACH(peer_defect_8_refused, bad)
{
        g_autofree char *errors = NULL;

        put_all(c->files);
        errors = load();
        ck_case(c->name, errors, "was accepted");
        if (c->errors)
                ck_case(c->name, says_lines(errors, c->errors, c->lines), "says\n%s\nexpected\n%s",
                        errors, c->errors);
        else
                ck_case(c->name,
                        strstr(errors, AT_ALPHA ":21: too many errors") &&
                                !strstr(errors, AT_ALPHA ":22"),
                        "says\n%s", errors);
}

static void make_directory(const char *path)
{
        ck_assert_int_eq(mkdir(path, 0755), 0);
}

static void make_dangling(const char *path)
{
        ck_assert_int_eq(symlink("nothing", path), 0);
}

static void make_loop(const char *path)
{
        const char *name = strrchr(path, '/') + 1;

        ck_assert_int_eq(symlink(name, path), 0);
}

static void make_pipe(const char *path)
{
        ck_assert_int_eq(mkfifo(path, 0600), 0);
}

static void make_huge(const char *path)
{
        g_autofree char *text = g_strnfill((1 << 20) + 1, '\n');

        ck_assert(g_file_set_contents(path, text, -1, NULL));
}

static void make_unreadable(const char *path)
{
        ck_assert(g_file_set_contents(path, "", 0, NULL));
        ck_assert_int_eq(chmod(path, 0), 0);
}

static const struct {
        const char *path;
        void (*make)(const char *path);
        const char *errors;
} unreadable[] = {
        { IDLED, make_directory, AT_IDLED ": found a directory, expected a file" },
        { IDLED, make_dangling, AT_IDLED ": cannot be read: No such file or directory" },
        { IDLED, make_loop, AT_IDLED ": cannot be read: Too many levels of symbolic links" },
        { IDLED, make_pipe, AT_IDLED ": found a device, pipe or socket, expected a file" },
        { IDLED, make_huge, AT_IDLED ": found more than 1 MiB, expected a configuration" },
        { IDLED, make_unreadable, AT_IDLED ": cannot be read: Permission denied" },
        { ALPHA ".d/a.conf", make_directory,
          AT_ALPHA ".d/a.conf: found a directory, expected a file" },
        { ALPHA ".d/a.conf", make_dangling,
          AT_ALPHA ".d/a.conf: cannot be read: No such file or directory" },
        { ALPHA ".d", make_pipe, AT_ALPHA ".d: cannot be read: Not a directory" },
        { ALPHA ".d", make_dangling, AT_ALPHA ".d: cannot be read: No such file or directory" },
        { "etc/idled", make_huge,
          AT_IDLED ": cannot be read: Not a directory\n" AT_IDLED
                   ".d: cannot be read: Not a directory\n" AT_ALPHA
                   ": cannot be read: Not a directory\n" AT_ALPHA
                   ".d: cannot be read: Not a directory\n" PROFILES
                   ": cannot be read: Not a directory\n" PROFILES
                   "/balanced.conf: cannot be read: Not a directory\n" PROFILES
                   "/balanced.conf.d: cannot be read: Not a directory\n"
                   "/etc/idled/apps: cannot be read: Not a directory" },
};

/* Whether root may read everything, as it may; if not, files' modes hold for it as for others. Not
 * another user: that one might not reach the modules. */
static void root_read_all(bool may)
{
        const uint32_t all = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
        struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
        struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

        ck_assert_int_eq(syscall(SYS_capget, &header, sets), 0);
        if (may)
                sets[0].effective |= sets[0].permitted & all;
        else
                sets[0].effective &= ~all;
        ck_assert_int_eq(syscall(SYS_capset, &header, sets), 0);
}

TEST_EACH(unreadable_file, unreadable)
{
        g_autofree char *full = scratch_path(c->path), *errors = NULL;

        put_all(USE);
        /* The file of the administrator hides the vendor's even if it cannot be read. */
        put("usr/lib/idled/idled.conf.d/use.conf", USE_TEXT);
        c->make(full);
        root_read_all(false);
        errors = load();
        root_read_all(true);
        ck_assert_str_eq(errors ? errors : "accepted", c->errors);
}

static const struct {
        const char *path, *error;
} unread[] = {
        { "policies/alpha.conf", NULL },
        { "policies/beta.conf", NULL }, /* there, though not in Policies= */
        { "policies/alhpa.conf", "policy|MODULES|alpha.conf?" },
        { "policies/alhpa.conf.d/x.conf", "policy|MODULES|alpha.conf.d?" },
        { "policies/nothing-like-it.conf", "policy|MODULES" },
        { "policies/alpha", ".conf" },
        { "policies/alpha.conf.d/x", ".conf" },
        { "policies/alpha.conf.d/x.conf", NULL },
        { "policies/alpha.conf.d/x.conf~", NULL },
        { "policies/alpha.conf.d/x.conf.dpkg-old", NULL },
        { "policies/alpha.conf.d/README", NULL },
        { "policies/alpha.conf.d/readme.txt", NULL },
        { "policies/alpha.conf~", NULL },
        { "idled.conf", NULL },
        { "idled.conf.d/10-mine", ".conf" },
        { "idle.conf", "idled.conf?" },
        { "ildled.conf.d/x.conf", "idled.conf.d?" },
        { "notes", NULL },
        { "profile/x.conf", "policies|apps|power|profiles?" },
        { "other/x", "policies|profiles|apps|power" },
};

TEST_EACH(file_that_is_never_read, unread)
{
        g_autofree char *path = g_build_filename("etc/idled", c->path, NULL), *text = NULL;
        g_autoptr(GPtrArray) errors = config_errors_new();
        g_auto(GStrv) parts = NULL;

        put(path, "");
        config_find_unread(&paths, errors);
        ck_case(c->path, errors->len == !!c->error, "%u errors", errors->len);
        if (!c->error)
                return;
        text = config_error_format(errors->pdata[0]);
        parts = g_strsplit(text, paths.policy_dir, -1);
        g_free(text);
        text = g_strjoinv("MODULES", parts);
        ck_case(c->path, g_str_has_prefix(text, "/etc/idled/") && says(text, c->error), "says %s",
                text);
}

UNIT("config-errors", .setup = set_up, .teardown = tear_down)
