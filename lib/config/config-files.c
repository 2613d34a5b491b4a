/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of a configuration.
 *
 * An absent file is normal. Everything else that prevents reading a file is an error: a dangling
 * link, a directory, missing permission. The administrator intended that file to be read.
 */
#include "config/config-files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/file.h"

ConfigError *config_error_add(GPtrArray *errors, const char *file, int line, const char *format,
                              ...)
{
        ConfigError *error = g_new0(ConfigError, 1);
        va_list arguments;

        va_start(arguments, format);
        error->file = file;
        error->line = line;
        error->message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        g_ptr_array_add(errors, error);
        return error;
}

/* What the system refuses to read. */
static void add_unread(GPtrArray *errors, const char *shown, int error)
{
        config_error_add(errors, shown, 0, "cannot be read: %s", g_strerror(error))->error = -error;
}

GPtrArray *config_errors_new(void)
{
        return g_ptr_array_new_with_free_func((GDestroyNotify)config_error_free);
}

void config_error_free(ConfigError *error)
{
        g_free(error->message);
        g_free(error);
}

char *config_error_format(const ConfigError *error)
{
        if (error->line == 0)
                return g_strdup_printf("%s: %s", error->file, error->message);
        return g_strdup_printf("%s:%d: %s", error->file, error->line, error->message);
}

static void config_file_free(ConfigFile *file)
{
        g_free(file->text);
        g_free(file);
}

/* The path as people know it; one that is absolute is not below the root. */
static const char *display_path(const ConfigPaths *paths, const char *path)
{
        const char *root = paths->root_path ? paths->root_path : "/";
        g_autofree char *full = path[0] == '/' ? g_strdup(path)
                                               : g_build_filename(root, path, NULL);

        return g_intern_string(full);
}

const char *config_admin_path(const ConfigPaths *paths, const char *name)
{
        g_autofree char *path = g_build_filename(paths->admin_dir, name, NULL);

        return display_path(paths, path);
}

/* Reads at most CONFIG_SIZE_MAX bytes; -EFBIG if there are more. */
static int read_text(int fd, GString *text)
{
        char buffer[4096];

        for (;;) {
                ssize_t n = read(fd, buffer, sizeof(buffer));

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : 0;
                if (text->len + (size_t)n > CONFIG_SIZE_MAX)
                        return -EFBIG;
                g_string_append_len(text, buffer, n);
        }
}

/* Whether the file is one to read, and if not, what it is. */
static bool check_type(const struct stat *st, const char **ret_found)
{
        if (S_ISREG(st->st_mode) ||
            (S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3))) /* /dev/null */
                return true;
        *ret_found = S_ISDIR(st->st_mode) ? "a directory" : "a device, pipe or socket";
        return false;
}

/* True if there is nothing by that name, not even a link to nothing. `error` is errno of opening
 * it, and becomes that of the check if this fails. */
static bool is_absent(int dir, const char *path, int *error)
{
        struct stat st;

        if (*error != ENOENT || fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
                return false;
        *error = errno;
        return errno == ENOENT;
}

static void add_text(GPtrArray *files, const char *shown, char *text, size_t length)
{
        ConfigFile *file = g_new0(ConfigFile, 1);

        file->path = shown;
        file->length = length;
        file->text = text;
        g_ptr_array_add(files, file);
}

/* Appends the file to `files` if it is there, an error if it cannot be read. Returns true if it is
 * there, readable or not. */
static bool read_file(const ConfigPaths *paths, const char *path, GPtrArray *files,
                      GPtrArray *errors)
{
        const char *shown = display_path(paths, path), *found;
        /* Does not block on a pipe without writer. */
        _fd_ int fd = openat(paths->root, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        int open_error = errno;
        g_autoptr(GString) text = g_string_new(NULL);
        struct stat st;
        int r;

        if (fd < 0 && is_absent(paths->root, path, &open_error))
                return false;
        if (fd < 0 || fstat(fd, &st) < 0) {
                add_unread(errors, shown, fd < 0 ? open_error : errno);
                return true;
        }
        if (!check_type(&st, &found)) {
                config_error_add(errors, shown, 0, "found %s, expected a file", found);
                return true;
        }
        r = read_text(fd, text);
        if (r == -EFBIG) {
                config_error_add(errors, shown, 0,
                                 "found more than 1 MiB, expected a configuration");
        } else if (r < 0) {
                add_unread(errors, shown, -r);
        } else {
                size_t length = text->len;

                add_text(files, shown, g_string_free(g_steal_pointer(&text), FALSE), length);
        }
        return true;
}

/* Puts the files NAME.conf of directory `path` into `names`: name -> path, replacing what is there.
 */
static void list_files(const ConfigPaths *paths, const char *path, GTree *names, GPtrArray *errors)
{
        _dir_ DIR *dir = dir_open(paths->root, path);
        int open_error = errno;
        struct dirent *entry;

        if (!dir) {
                if (!is_absent(paths->root, path, &open_error))
                        add_unread(errors, display_path(paths, path), open_error);
                return;
        }
        while ((errno = 0, entry = readdir(dir)))
                if (entry->d_name[0] != '.' && g_str_has_suffix(entry->d_name, ".conf"))
                        g_tree_insert(names, g_strdup(entry->d_name),
                                      g_build_filename(path, entry->d_name, NULL));
        if (errno > 0)
                add_unread(errors, display_path(paths, path), errno);
}

static int compare_names(gconstpointer a, gconstpointer b, gpointer userdata)
{
        return strcmp(a, b);
}

static gboolean take_name(gpointer key, gpointer value, gpointer userdata)
{
        const char *name = key;

        g_ptr_array_add(userdata, g_strndup(name, strlen(name) - strlen(".conf")));
        return FALSE;
}

char **config_files_list(const ConfigPaths *paths, const char *name, GPtrArray *errors)
{
        const char *const dirs[] = { paths->vendor_dir, paths->admin_dir };
        g_autoptr(GTree) files = g_tree_new_full(compare_names, NULL, g_free, g_free);
        GPtrArray *names = g_ptr_array_new();

        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
                g_autofree char *path = g_build_filename(dirs[i], name, NULL);

                list_files(paths, path, files, errors);
        }
        g_tree_foreach(files, take_name, names);
        g_ptr_array_add(names, NULL);
        return (char **)g_ptr_array_free(names, FALSE);
}

static bool is_trial(const ConfigPaths *paths, const char *path)
{
        return paths->trial_path && g_str_equal(paths->trial_path, path);
}

/* Puts the drop-in to try into `names` if it belongs into the directory. */
static void list_trial(const ConfigPaths *paths, const char *path, GTree *names)
{
        g_autofree char *dir = paths->trial_path ? g_path_get_dirname(paths->trial_path) : NULL;

        if (dir && g_str_equal(dir, path))
                g_tree_insert(names, g_path_get_basename(paths->trial_path),
                              g_strdup(paths->trial_path));
}

GPtrArray *config_files_read(const ConfigPaths *paths, const char *name, GPtrArray *errors)
{
        /* The later directory wins. */
        const char *const dirs[] = { paths->vendor_dir, paths->admin_dir };
        GPtrArray *files = g_ptr_array_new_with_free_func((GDestroyNotify)config_file_free);
        g_autoptr(GTree) names = g_tree_new_full(compare_names, NULL, g_free, g_free);
        bool there = false;

        for (size_t i = G_N_ELEMENTS(dirs); i-- > 0 && !there;) {
                g_autofree char *path = g_build_filename(dirs[i], name, NULL);

                there = read_file(paths, path, files, errors);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(dirs); i++) {
                g_autofree char *path = g_strdup_printf("%s/%s.d", dirs[i], name);

                list_files(paths, path, names, errors);
                list_trial(paths, path, names);
        }
        for (GTreeNode *node = g_tree_node_first(names); node; node = g_tree_node_next(node)) {
                const char *path = g_tree_node_value(node);

                if (is_trial(paths, path))
                        add_text(files, display_path(paths, path), g_strdup(paths->trial_text),
                                 strlen(paths->trial_text));
                else if (!paths->trial_without || !g_str_equal(paths->trial_without, path))
                        read_file(paths, path, files, errors);
        }
        return files;
}
