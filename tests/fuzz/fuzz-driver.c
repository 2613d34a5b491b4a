/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Runs a fuzz target as an ordinary test: with every file of its corpus, then with mutations of
 * them. Mutation N is the same in every run, so a failure can be reproduced:
 *
 *      fuzz-NAME CORPUS             all of the corpus, then MUTATIONS mutations
 *      fuzz-NAME CORPUS N           mutation N only
 *      fuzz-NAME CORPUS N -         writes mutation N to standard output
 */
#include <signal.h>

#include "fuzz.h"

#define MUTATIONS 10000
#define SIZE_MAX_ (64u << 10)

static GPtrArray *corpus; /* of GByteArray */
static volatile int running;
static guint n_run, n_expected; /* inputs that the target has returned from */

/* Only what may be called in a signal handler. */
static void say_which(int signal_number)
{
        char text[] = "the input that failed: 00000\n";

        for (int i = (int)sizeof(text) - 3, n = running; n > 0; n /= 10)
                text[i--] = (char)('0' + n % 10);
        if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
                _exit(2);
        signal(signal_number, SIG_DFL);
        raise(signal_number);
}

/* At exit, also if a target calls it: one that runs no input, or not all of them, tests nothing. */
static void check_run(void)
{
        if (n_run == n_expected)
                return;
        fprintf(stderr, "%u of %u inputs were run\n", n_run, n_expected);
        _exit(EXIT_FAILURE);
}

static int compare_names(gconstpointer a, gconstpointer b)
{
        return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_corpus(const char *path)
{
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        const char *name;

        g_assert(dir);
        while ((name = g_dir_read_name(dir)))
                g_ptr_array_add(names, g_build_filename(path, name, NULL));
        g_ptr_array_sort(names, compare_names);
        for (guint i = 0; i < names->len; i++) {
                char *data;
                gsize size;

                g_assert(g_file_get_contents(g_ptr_array_index(names, i), &data, &size, NULL));
                g_ptr_array_add(corpus, g_byte_array_new_take((guint8 *)data, size));
        }
        g_assert(corpus->len > 0);
}

static guint below(GRand *rand, guint limit)
{
        return limit > 0 ? (guint)g_rand_int_range(rand, 0, (gint32)limit) : 0;
}

/* Puts a part of `from` into `input` at `at`. */
static void insert_part(GRand *rand, GByteArray *input, guint at, const GByteArray *from)
{
        guint start = below(rand, from->len), length = below(rand, from->len - start + 1);
        g_autofree guint8 *part = NULL;
        guint rest = input->len - at;

        if (length == 0) /* of an empty file the data is NULL, to which nothing may be added */
                return;
        part = g_memdup2(from->data + start, length);
        g_byte_array_set_size(input, input->len + length);
        memmove(input->data + at + length, input->data + at, rest);
        memcpy(input->data + at, part, length);
}

static void mutate_once(GRand *rand, GByteArray *input)
{
        static const char bytes[] = "\0\n\t =[]#;,-.%0189zZ\x7f\x80\xff";
        guint at = below(rand, input->len);
        guint8 byte = (guint8)bytes[below(rand, sizeof(bytes) - 1)];

        switch (below(rand, 7)) {
        case 0:
                if (input->len > 0)
                        input->data[at] ^= (guint8)(1u << below(rand, 8));
                break;
        case 1:
                if (input->len > 0)
                        input->data[at] = byte;
                break;
        case 2:
                insert_part(rand, input, at, &(GByteArray){ &byte, 1 });
                break;
        case 3:
                insert_part(rand, input, at, input);
                break;
        case 4:
                insert_part(rand, input, at, g_ptr_array_index(corpus, below(rand, corpus->len)));
                break;
        case 5:
                if (input->len > 0)
                        g_byte_array_remove_range(input, at, below(rand, input->len - at) / 4 + 1);
                break;
        case 6:
                if (below(rand, 4) == 0)
                        g_byte_array_set_size(input, at);
                break;
        }
}

static GByteArray *mutation(int number)
{
        g_autoptr(GRand) rand = g_rand_new_with_seed((guint32)number);
        const GByteArray *seed = g_ptr_array_index(corpus, below(rand, corpus->len));
        GByteArray *input = g_byte_array_new();

        g_byte_array_append(input, seed->data, seed->len);
        for (guint n = below(rand, 8) + 1; n > 0; n--)
                mutate_once(rand, input);
        if (input->len > SIZE_MAX_)
                g_byte_array_set_size(input, SIZE_MAX_);
        return input;
}

/* The input is given in a block of just its size, so that a sanitizer sees a read behind it. */
static void run(const GByteArray *input)
{
        g_autofree guint8 *data = g_memdup2(input->data, input->len);

        LLVMFuzzerTestOneInput(data ? data : (const guint8 *)"", input->len);
        n_run++;
}

static void run_all(void)
{
        n_expected = corpus->len + MUTATIONS;
        for (guint i = 0; i < corpus->len; i++)
                run(g_ptr_array_index(corpus, i));
        for (running = 1; running <= MUTATIONS; running++) {
                g_autoptr(GByteArray) input = mutation(running);

                run(input);
        }
        printf("%u files and %d mutations of them: fine\n", corpus->len, MUTATIONS);
}

int main(int argc, char **argv)
{
        static const int fatal[] = { SIGABRT, SIGSEGV, SIGILL, SIGTRAP };

        if (argc < 2 || argc > 4) {
                fprintf(stderr, "usage: %s CORPUS [N [-]]\n", argv[0]);
                return EXIT_FAILURE;
        }
        for (size_t i = 0; i < G_N_ELEMENTS(fatal); i++)
                signal(fatal[i], say_which);
        atexit(check_run);
        n_expected = argc < 4;
        corpus = g_ptr_array_new_with_free_func((GDestroyNotify)g_byte_array_unref);
        read_corpus(argv[1]);
        if (argc == 2) {
                run_all();
        } else {
                g_autoptr(GByteArray) input = mutation(atoi(argv[2]));

                if (argc == 3)
                        run(input);
                else
                        fwrite(input->data, 1, input->len, stdout);
        }
        g_ptr_array_unref(corpus);
        return EXIT_SUCCESS;
}
