/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a fuzz target as an ordinary test, with files and all files of directories:
 *
 *      fuzz-NAME PATH...
 */
#include "fuzz.h"

static guint n_found, n_run; /* inputs, and those that the target has returned from */

/* At exit, also if a target calls it: one that runs no input, or not all of them, tests nothing. */
static void check_run(void)
{
        if (n_run == n_found && n_run > 0)
                return;
        fprintf(stderr, "%u of %u inputs were run\n", n_run, n_found);
        _exit(EXIT_FAILURE);
}

/* The input is given in a block of just its size, so that a sanitizer sees a read behind it. */
static void run(const char *path)
{
        g_autofree char *text = NULL;
        g_autofree uint8_t *data = NULL;
        gsize size;

        g_assert(g_file_get_contents(path, &text, &size, NULL));
        data = g_memdup2(text, size);
        fprintf(stderr, "%s\n", path); /* the last one is the one that failed */
        n_found++;
        LLVMFuzzerTestOneInput(data ? data : (const uint8_t *)"", size);
        n_run++;
}

static void run_all(const char *path)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        if (!dir)
                run(path);
        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *file = g_build_filename(path, name, NULL);

                run(file);
        }
}

int main(int argc, char **argv)
{
        atexit(check_run);
        for (int i = 1; i < argc; i++)
                run_all(argv[i]);
        return EXIT_SUCCESS;
}
