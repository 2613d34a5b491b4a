/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The record of changes that a daemon left which was killed. verify lists it; status and doctor
 * count it.
 */
#include "left.h"

#include <errno.h>
#include <fcntl.h>

#include "base/file.h"
#include "cli/client.h"

/* The directory of the record, a new string. */
static char *run_path(const Ctl *ctl)
{
        return ctl->run_path ? g_strdup(ctl->run_path)
                             : g_build_filename(ctl->root_path ?: "/", RUN_DIR, NULL);
}

int left_read(const Ctl *ctl, UndoEntries *entries, int *ret_skipped)
{
        g_autofree char *path = run_path(ctl), *boot_id = NULL, *header = NULL;
        _fd_ int run = root_open(path), fd = -1;
        UndoLoad load = { 0 };
        int r;

        *ret_skipped = 0;
        if (run < 0)
                return run == -ENOENT ? 0 : run;
        r = undo_boot_id(ctl->root, &boot_id);
        if (r < 0)
                return r;
        header = g_strconcat(UNDO_MAGIC, boot_id, NULL);
        fd = openat(run, "undo", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        r = undo_load(fd, header, entries, &load);
        if (r < 0)
                return r;
        *ret_skipped = load.other ? 0 : load.skipped;
        return 0;
}

char *left_damaged(const Ctl *ctl)
{
        g_autofree char *run = run_path(ctl);
        g_autofree char *path = g_build_filename(run, UNDO_DAMAGED, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

int left_count(const Ctl *ctl)
{
        UndoEntries entries;
        int skipped, count = 0;

        if (client_manager(ctl->client))
                return 0;
        undo_entries_init(&entries);
        count = left_read(ctl, &entries, &skipped) < 0 ? -1 : (int)entries.list.length;
        undo_entries_done(&entries);
        return count;
}

char *left_text(int count)
{
        return g_strdup_printf("%d knob%s still as idled set %s before it died", count,
                               count == 1 ? " is" : "s are", count == 1 ? "it" : "them");
}
