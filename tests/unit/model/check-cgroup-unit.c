/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Units of cgroups: services, containers, users' managers, groups that no systemd made. */
#include "model/cgroup-unit.h"

#include "table.h"

#define NAMES(text) text, sizeof(text)

static const struct {
        const char *name, *names;
        size_t size;
        bool whole;
        const char *path;
} path_cases[] = {
        { "root", NAMES(""), true, "/" },
        { "one", NAMES("init.scope\0"), true, "/init.scope" },
        { "two", NAMES("b.service\0a.slice\0"), true, "/a.slice/b.service" },
        { "too deep", NAMES("b.service\0a.slice"), false, "?/a.slice/b.service" },
        { "nothing read", "", 0, false, "?" },
};

TEST_EACH(path, path_cases)
{
        g_autofree char *found = cgroup_path_of_names(c->names, c->size, c->whole);

        ck_case(c->name, g_str_equal(found, c->path), "%s, expected %s", found, c->path);
}

#define USER    "/user.slice/user-1000.slice"
#define MANAGER USER "/user@1000.service"

static const struct {
        const char *name, *path, *unit, *title;
} unit_cases[] = {
        { "root", "/", "/", "/" },
        { "service", "/system.slice/a.service", "/system.slice/a.service", "a.service" },
        { "group of a service", "/system.slice/a.service/x.slice/b.service",
          "/system.slice/a.service", "a.service" },
        { "container with a systemd", "/machine.slice/c.scope/payload/system.slice/ssh.service",
          "/machine.slice/c.scope", "c.scope" },
        { "session", USER "/session-3.scope", USER "/session-3.scope", "session-3.scope" },
        { "user's unit", MANAGER "/app.slice/b.service", MANAGER "/app.slice/b.service",
          "b.service" },
        { "user's manager", MANAGER, MANAGER, "user@1000.service" },
        { "its own scope", MANAGER "/init.scope", MANAGER "/init.scope", "init.scope" },
        { "a second manager is a unit of the first", MANAGER "/user@0.service/a.scope",
          MANAGER "/user@0.service", "user@0.service" },
        { "not of systemd", "/docker/0123/x", "/docker/0123/x", "/docker/0123/x" },
        { "named like a unit below", "/lxc/x/a.service", "/lxc/x/a.service", "/lxc/x/a.service" },
        { "slice", "/system.slice", "/system.slice", "/system.slice" },
        { "only a suffix", "/.service", "/.service", "/.service" },
        { "cut", "?/a.service", "?/a.service", "?/a.service" },
};

TEST_EACH(unit, unit_cases)
{
        g_autofree char *found = cgroup_unit_path(c->path), *title = cgroup_unit_name(found);

        ck_case(c->name, g_str_equal(found, c->unit), "%s, expected %s", found, c->unit);
        ck_case(c->name, g_str_equal(title, c->title), "named %s, expected %s", title, c->title);
}

static const struct {
        const char *path;
        uint32_t uid;
        bool own;
} user_cases[] = {
        { MANAGER "/a.scope", 1000, true },
        { USER "/session-3.scope", 1000, true },
        { USER "/session-3.scope", 100, false },
        { "/user.slice/user-10000.slice/session-3.scope", 1000, false },
        { "/system.slice/a.service" USER "/a.scope", 1000, false },
        { "?" USER "/a.scope", 1000, false },
        { "/", 0, false },
};

TEST_EACH(user, user_cases)
{
        ck_case(c->path, cgroup_is_of_user(c->path, c->uid) == c->own, "expected %d", c->own);
}

UNIT("cgroup-unit")
