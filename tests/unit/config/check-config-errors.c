/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The configuration's errors: every kind of mistake with its exact message. */
#include <linux/capability.h>
#include <sys/syscall.h>

#include "config-tree.h"

#define ALL                                                                                        \
        "alpha, beta, wrong-abi, wrong-align, wrong-bounds, wrong-check, wrong-choices, "          \
        "wrong-decide, wrong-default, wrong-end, wrong-help, wrong-key, wrong-name, "              \
        "wrong-offset, wrong-section, wrong-size, wrong-symbol, wrong-twice, wrong-type"

/* Errors about the default policies, none of which is among these modules. */
#define DEFAULTS                                                                                   \
        "(default): Policies: found \"userspace\", expected policies in MODULES: " ALL             \
        "\n(default): Policies: found \"latency\", expected policies in MODULES: " ALL             \
        "\n(default): Policies: found \"ondemand\", expected policies in MODULES: " ALL            \
        "\n(default): Policies: found \"cpufreq\", expected policies in MODULES: " ALL             \
        "\n(default): Policies: found \"cstates\", expected policies in MODULES: " ALL

#define PROFILES "/etc/idled/profiles"
#define KEYS     "Period, MinCores, MaxCores, Share, Order, Cpus, Text, Words, Eager"

static const struct {
        const char *name;
        File files[N_FILES];
        const char *errors;
} bad[] = {
        { "bad value",
          { USE, { ALPHA, "[Policy]\n\nPeriod = 1o0ms \n" } },
          AT_ALPHA ":3: Period: found \"1o0ms\", expected a duration from 10ms to 10s, such as "
                   "250ms" },
        { "out of range",
          { USE, { ALPHA, "[Policy]\nPeriod=11s\n" } },
          AT_ALPHA ":2: Period: found \"11s\", expected a duration from 10ms to 10s, such as "
                   "250ms" },
        { "value with a comment behind it",
          { USE, { ALPHA, "[Policy]\nMinCores=1 # one\n" } },
          AT_ALPHA ":2: MinCores: found \"1 # one\", expected a whole number from 1 to 8192, such "
                   "as 1" },
        { "quoted value",
          { USE, { ALPHA, "[Policy]\nPeriod=\"250ms\"\n" } },
          AT_ALPHA ":2: Period: found \"\"250ms\"\", expected a duration from 10ms to 10s, such "
                   "as 250ms" },
        { "unknown choice",
          { { IDLED, "[Daemon]\nPolicies=alpha\nLogLevel=verbose\n" } },
          AT_IDLED ":3: LogLevel: found \"verbose\", expected one of emerg, alert, crit, err, "
                   "warning, notice, info or debug" },
        { "unknown key",
          { USE, { ALPHA, "[Policy]\nPeriot=1s\n" } },
          AT_ALPHA ":2: Periot: found an unknown key, expected one of [Policy] (did you mean "
                   "Period?)" },
        { "unknown key like no other",
          { USE, { ALPHA, "[Policy]\nTemperature=1\n" } },
          AT_ALPHA ":2: Temperature: found an unknown key, expected one of [Policy]: " KEYS },
        { "case counts",
          { USE, { ALPHA, "[Policy]\nperiod=1s\n" } },
          AT_ALPHA ":2: period: found an unknown key, expected one of [Policy] (did you mean "
                   "Period?)" },
        { "translated key",
          { USE, { ALPHA, "[Policy]\nText[de]=Hallo\n" } },
          AT_ALPHA ":2: Text[de]: found an unknown key, expected one of [Policy]: " KEYS },
        { "key of another section",
          { { IDLED, "[Park]\nPolicies=alpha\n[Daemon]\nPolicies=alpha\n" } },
          AT_IDLED ":2: Policies: found in [Park], expected in [Daemon]" },
        { "unknown section, its keys not mentioned",
          { USE, { IDLED, "[Deamon]\nPolicies=alpha\nFoo=1\n[Daemon]\nPolicies=alpha\n" } },
          AT_IDLED ":1: found section [Deamon], expected [Daemon], [Park], [Recording], "
                   "[Frequency], [IdleStates], [Latency], [Evaluate], [Interrupts] or "
                   "[Housekeeping] in this file (did you mean Daemon?)" },
        { "policy's section in idled.conf",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Policy]\nPeriod=1s\n" } },
          AT_IDLED ":3: found section [Policy], expected [Daemon], [Park], [Recording], "
                   "[Frequency], [IdleStates], [Latency], [Evaluate], [Interrupts] or "
                   "[Housekeeping] in this file" },
        { "daemon's section in a policy's file",
          { USE, { ALPHA, "[Daemon]\nLogLevel=info\n" } },
          AT_ALPHA ":1: found section [Daemon], expected [Policy] in this file" },
        { "no section",
          { USE, { ALPHA, "# comment\nPeriod=1s\n[Policy]\n" } },
          AT_ALPHA ":2: Period: found outside of a section, expected [Section] above it" },
        { "key twice",
          { USE, { ALPHA, "[Policy]\nPeriod=1s\nMinCores=2\nPeriod=1s\n" } },
          AT_ALPHA ":4: Period: found a second time, first in line 2, expected once" },
        { "key twice in a section that comes twice",
          { USE, { ALPHA, "[Policy]\nPeriod=1s\n[Policy]\nPeriod=\n" } },
          AT_ALPHA ":4: Period: found a second time, first in line 2, expected once" },
        { "no equals sign",
          { USE, { ALPHA, "[Policy]\nPeriod 1s\n" } },
          AT_ALPHA ":2: found \"Period 1s\", expected Key=value, [Section] or a comment that "
                   "begins with #" },
        { "no key",
          { USE, { ALPHA, "[Policy]\n = 1s\n" } },
          AT_ALPHA ":2: found \"= 1s\", expected Key=value, [Section] or a comment that begins "
                   "with #" },
        { "section without end",
          { USE, { ALPHA, "[Policy\nPeriod=1s\n" } },
          AT_ALPHA ":1: found \"[Policy\", expected a section such as [Section]" },
        { "section without name",
          { USE, { ALPHA, "[]\n" } },
          AT_ALPHA ":1: found \"[]\", expected a section such as [Section]" },
        { "section with something behind",
          { USE, { ALPHA, "[Policy] # here\n" } },
          AT_ALPHA ":1: found \"[Policy] # here\", expected a section such as [Section]" },
        { "just a bracket",
          { USE, { ALPHA, "[\n" } },
          AT_ALPHA ":1: found \"[\", expected a section such as [Section]" },
        { "not UTF-8",
          { USE, { ALPHA, "[Policy]\nText=\xff\nPeriod=1\n" } },
          AT_ALPHA ":2: found bytes that are not UTF-8, expected text\n" AT_ALPHA
                   ":3: Period: found \"1\", expected a duration from 10ms to 10s, such as 250ms" },
        { "NUL",
          { USE, { ALPHA, "[Policy]\nText=a\001b\n" } },
          AT_ALPHA ":2: found a NUL byte, expected text" },
        { "byte order mark",
          { USE, { ALPHA, "\xef\xbb\xbf[Policy]\n" } },
          AT_ALPHA ":1: found \"\\xef\\xbb\\xbf[Policy]\", expected Key=value, [Section] or a "
                   "comment that begins with #" },
        { "control character",
          { USE, { ALPHA, "[Policy]\nMin\033Cores=1\n" } },
          AT_ALPHA ":2: Min\\x1bCores: found an unknown key, expected one of [Policy] (did you "
                   "mean MinCores?)" },
        { "all errors of all files, in their order",
          { { IDLED, "[Daemon]\nPolicies=alpha beta\nMaxStretch=0\n" },
            { "etc/idled/idled.conf.d/10-a.conf", "[Daemon]\nLogLevel=loud\nX=1\n" },
            { ALPHA, "[Policy]\nShare=80\n" },
            { "usr/lib/idled/policies/beta.conf", "[Policy]\n\n\nOrder=none\nCpus=x" } },
          AT_IDLED
          ":3: MaxStretch: found \"0\", expected a whole number from 1 to 64, such as 12\n"
          "/etc/idled/idled.conf.d/10-a.conf:2: LogLevel: found \"loud\", expected one of emerg, "
          "alert, crit, err, warning, notice, info or debug\n"
          "/etc/idled/idled.conf.d/10-a.conf:3: X: found an unknown key, expected one of "
          "[Daemon]: Policies, LogLevel, MaxStretch, ProfileAC, ProfileBattery, "
          "PowerProfilesNames, LogDecisions\n" AT_ALPHA
          ":2: Share: found \"80\", expected a percentage from 1% to 100%, such as 80%\n"
          "/usr/lib/idled/policies/beta.conf:4: Order: found \"none\", expected one of "
          "efficiency, performance or package\n"
          "/usr/lib/idled/policies/beta.conf:5: Cpus: found \"x\", expected a list of CPUs, such "
          "as 2-5,9" },
        { "policy that is not there",
          { { IDLED, "[Daemon]\nPolicies=alhpa beta\n" } },
          AT_IDLED ":2: Policies: found \"alhpa\", expected policies in MODULES: " ALL
                   " (did you mean alpha?)" },
        { "default policies that are not there", { { NULL } }, DEFAULTS },
        { "policy twice",
          { { IDLED, "[Daemon]\nPolicies=alpha beta alpha\n" } },
          AT_IDLED ":2: Policies: found \"alpha\" more than once, expected it once" },
        { "three times",
          { { IDLED, "[Daemon]\nPolicies=alpha alpha beta alpha\n" } },
          AT_IDLED ":2: Policies: found \"alpha\" more than once, expected it once" },
        { "the file of a policy whose name is misspelt",
          { { IDLED, "[Daemon]\nPolicies=alhpa\n" }, { ALPHA, "[Policy]\nMinCores=0\n" } },
          AT_IDLED ":2: Policies: found \"alhpa\", expected policies in MODULES: " ALL
                   " (did you mean alpha?)\n" AT_ALPHA
                   ":2: MinCores: found \"0\", expected a whole number from 1 to 8192, such "
                   "as 1" },
        { "the file of a policy when Policies is",
          { { IDLED, "[Daemon]\nPolices=alpha\n" }, { ALPHA, "[Policy]\nMinCores=0\n" } },
          AT_IDLED ":2: Polices: found an unknown key, expected one of [Daemon] (did you mean "
                   "Policies?)\n" DEFAULTS "\n" AT_ALPHA
                   ":2: MinCores: found \"0\", expected a whole number from 1 to 8192, such as 1" },
        { "policy by path",
          { { IDLED, "[Daemon]\nPolicies=../alpha\n" } },
          AT_IDLED ":2: Policies: found \"../alpha\", expected a policy's name: lower-case "
                   "letters, digits, - and _" },
        { "policy that is none",
          { { IDLED, "[Daemon]\nPolicies=wrong-symbol\n" } },
          AT_IDLED ":2: Policies: MODULES/wrong-symbol.so: found no idled_policy in it, expected a "
                   "policy" },
        { "options that contradict each other",
          { USE, { ALPHA, "[Policy]\nMaxCores=4\nMinCores=5\n" } },
          AT_ALPHA ":3: MinCores: found \"5\", which is greater than MaxCores" },
        { "option that contradicts a default",
          { USE, { "etc/idled/policies/alpha.conf.d/x.conf", "[Policy]\nMinCores=9\n" } },
          "/etc/idled/policies/alpha.conf.d/x.conf:2: MinCores: found \"9\", which is greater "
          "than MaxCores" },
        { "power table that is not there",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=mine\n" } },
          AT_IDLED ":4: PowerTable: found \"mine\", expected the name of a table in power/: there "
                   "is none" },
        { "power table that is misspelt",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=corridle\n" },
            { "usr/lib/idled/power/coreidle.conf", "[States]\nC0=1\n" } },
          AT_IDLED ":4: PowerTable: found \"corridle\", expected the name of a table in power/: "
                   "coreidle (did you mean coreidle?)" },
        { "power table by path",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=/etc/idled/power/x.conf\n" },
            { "etc/idled/power/x.conf", "[States]\nC0=1\n" } },
          AT_IDLED
          ":4: PowerTable: found \"/etc/idled/power/x.conf\", expected the name of a table "
          "in power/: x" },
        { "power table above its directory",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=..\n" } },
          AT_IDLED ":4: PowerTable: found \"..\", expected the name of a table in power/: there is "
                   "none" },
        { "power table that is wrong, and its drop-in",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=x\n" },
            { "etc/idled/power/x.conf", "[States]\nC0=much\n" },
            { "etc/idled/power/x.conf.d/a.conf", "[State]\nC0=1\n" } },
          "/etc/idled/power/x.conf:2: C0: found \"much\", expected a number of watts from 0 to "
          "100000, such as 12.5\n"
          "/etc/idled/power/x.conf.d/a.conf:1: found the section [State], expected [Power] or "
          "[States]" },
        { "power table without states",
          { { IDLED, "[Daemon]\nPolicies=alpha\n[Evaluate]\nPowerTable=x\n" },
            { "etc/idled/power/x.conf", "[Power]\nDescription=none\n" } },
          "/etc/idled/power/x.conf: found no state, expected lines such as C1=12.5 in [States]" },
        { "enough is enough",
          { USE, { ALPHA, "a\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\na\n" } },
          NULL },
};

START_TEST(peer_defect_8_refused)
{
        typeof(bad[0]) *c = &bad[_i];
        g_autofree char *errors = NULL;
        Config *config;

        put_all(c->files);
        errors = load(&config);
        ck_case(c->name, errors, "was accepted");
        if (c->errors)
                ck_case(c->name, g_str_equal(errors, c->errors), "says\n%s\nexpected\n%s", errors,
                        c->errors);
        else
                ck_case(c->name,
                        strstr(errors, AT_ALPHA ":21: too many errors") &&
                                !strstr(errors, AT_ALPHA ":22"),
                        "says\n%s", errors);
}
END_TEST

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

START_TEST(unreadable_file)
{
        typeof(unreadable[0]) *c = &unreadable[_i];
        const File use = USE;
        g_autofree char *full = below(c->path), *errors = NULL;
        Config *config;

        put(use.path, use.text);
        /* The file of the administrator hides the vendor's even if it cannot be read. */
        put("usr/lib/idled/idled.conf.d/use.conf", use.text);
        c->make(full);
        root_read_all(false);
        errors = load(&config);
        root_read_all(true);
        ck_assert_str_eq(errors ? errors : "accepted", c->errors);
}
END_TEST

static const struct {
        const char *path, *error;
} unread[] = {
        { "policies/alpha.conf", NULL },
        { "policies/beta.conf", NULL }, /* there, though not in Policies= */
        { "policies/alhpa.conf",
          "is never read, expected the name of a policy in MODULES (did you mean alpha.conf?)" },
        { "policies/alhpa.conf.d/x.conf",
          "is never read, expected the name of a policy in MODULES (did you mean alpha.conf.d?)" },
        { "policies/nothing-like-it.conf",
          "is never read, expected the name of a policy in MODULES" },
        { "policies/alpha", "is never read, expected a name that ends in .conf" },
        { "policies/alpha.conf.d/x", "is never read, expected a name that ends in .conf" },
        { "policies/alpha.conf.d/x.conf", NULL },
        { "policies/alpha.conf.d/x.conf~", NULL },
        { "policies/alpha.conf.d/x.conf.dpkg-old", NULL },
        { "policies/alpha.conf.d/README", NULL },
        { "policies/alpha.conf.d/readme.txt", NULL },
        { "policies/alpha.conf~", NULL },
        { "idled.conf", NULL },
        { "idled.conf.d/10-mine", "is never read, expected a name that ends in .conf" },
        { "idle.conf", "is never read, expected idled.conf (did you mean idled.conf?)" },
        { "ildled.conf.d/x.conf",
          "is never read, expected idled.conf (did you mean idled.conf.d?)" },
        { "notes", NULL },
        { "profile/x.conf",
          "is never read, expected policies, profiles, apps or power (did you mean profiles?)" },
        { "other/x", "is never read, expected policies, profiles, apps or power" },
};

START_TEST(file_that_is_never_read)
{
        typeof(unread[0]) *c = &unread[_i];
        g_autofree char *path = g_build_filename("etc/idled", c->path, NULL), *text = NULL;
        g_autoptr(GPtrArray)
                errors = g_ptr_array_new_with_free_func((GDestroyNotify)config_error_free);
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
        ck_case(c->path, g_str_has_prefix(text, "/etc/idled/") && strstr(text, c->error), "says %s",
                text);
}
END_TEST

int main(void)
{
        Suite *suite = suite_create("config-errors");
        TCase *tcase = tcase_create("config-errors");

        tcase_add_checked_fixture(tcase, set_up, tear_down);
        tcase_add_loop_test(tcase, peer_defect_8_refused, 0, G_N_ELEMENTS(bad));
        tcase_add_loop_test(tcase, unreadable_file, 0, G_N_ELEMENTS(unreadable));
        tcase_add_loop_test(tcase, file_that_is_never_read, 0, G_N_ELEMENTS(unread));
        suite_add_tcase(suite, tcase);
        return suite_run(suite);
}
