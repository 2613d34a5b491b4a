/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file of frames. A ring of at most N bytes is copied when the next frame would make it exceed
 * 2/3 N, and keeps 1/3 N: so file and copy never exceed N together, and in the long run each byte
 * is written twice.
 */
#include "recording/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "recording/read.h"

#define SUFFIX ".new"

struct RecordingFile {
        int dir, fd;
        char *path;
        RecordingLimits limits;
        bool regular;
        uint64_t size, frames;
        uint64_t oldest_usec; /* time of the first frame; 0: not known */
        GString *text;
        GByteArray *frame;
};

/* All bytes or an error. */
static int write_all(int fd, const uint8_t *data, size_t size)
{
        while (size > 0) {
                ssize_t n = write(fd, data, size);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                data += n;
                size -= (size_t)n;
        }
        return 0;
}

static void file_free(RecordingFile *file)
{
        fd_close(&file->fd);
        g_free(file->path);
        g_string_free(file->text, TRUE);
        g_byte_array_unref(file->frame);
        g_free(file);
}

/* A reader of the file. */
static int open_reader(const RecordingFile *file, RecordingReader **ret_reader)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", file->fd);
        return recording_reader_open(AT_FDCWD, path, ret_reader);
}

/* Goes from head to head to the end, and finds the time of the first frame. What a crash left of a
 * last one goes. -EBADMSG: something else stands there, which stays. */
static int find_end(RecordingFile *file)
{
        uint8_t data[FRAME_HEAD_SIZE];
        uint64_t end = 0;
        FrameHead head;

        while (end < file->size) {
                ssize_t n = pread(file->fd, data, sizeof(data), (off_t)end);
                int r = n < (ssize_t)sizeof(data) ? -EAGAIN : frame_head_parse(data, &head);

                if (n < 0)
                        return -errno;
                if (r == -EAGAIN && !frame_head_begins(data, (size_t)n))
                        return -EBADMSG;
                if (r < 0 && r != -EAGAIN)
                        return r;
                if (r < 0 || FRAME_HEAD_SIZE + head.stored > file->size - end)
                        break;
                if (end == 0)
                        file->oldest_usec = head.last_usec;
                end += FRAME_HEAD_SIZE + head.stored;
        }
        if (end < file->size && ftruncate(file->fd, (off_t)end) < 0)
                return -errno;
        file->size = end;
        return 0;
}

static int take_regular(RecordingFile *file, const struct stat *st, bool append)
{
        file->regular = true;
        file->size = (uint64_t)st->st_size;
        if (file->size > 0 && !append)
                return -EEXIST;
        if (flock(file->fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        return find_end(file);
}

int recording_file_open(int dir, const char *path, const RecordingLimits *limits, bool append,
                        RecordingFile **ret_file)
{
        RecordingFile *file = g_new0(RecordingFile, 1);
        struct stat st;
        int r = 0;

        *file = (RecordingFile){ .dir = dir, .path = g_strdup(path), .limits = *limits };
        file->text = g_string_new(NULL);
        file->frame = g_byte_array_new();
        file->fd = strcmp(path, "-") == 0
                           ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                           : openat(dir, path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY,
                                    0600);
        if (file->fd < 0 || fstat(file->fd, &st) < 0)
                r = -errno;
        else if (S_ISREG(st.st_mode) && strcmp(path, "-") != 0)
                r = take_regular(file, &st, append);
        else if (limits->max_bytes || limits->max_age_usec)
                r = -EINVAL;
        if (r < 0)
                file_free(file);
        else
                *ret_file = file;
        return r;
}

/* True if a frame that begins `left` bytes before the end stays in the ring. */
static bool is_kept(const RecordingFile *file, uint64_t left, uint64_t last_usec, uint64_t now_usec)
{
        const RecordingLimits *limits = &file->limits;

        return (limits->max_bytes == 0 || left <= limits->max_bytes / 3) &&
               (limits->max_age_usec == 0 || last_usec > now_usec ||
                now_usec - last_usec <= limits->max_age_usec);
}

/* Copies the frames that stay. */
static int copy_kept(RecordingFile *file, int to, uint64_t now_usec)
{
        g_autoptr(RecordingReader) reader = NULL;
        uint64_t left = file->size, size = 0, oldest = 0;
        const uint8_t *data;
        FrameHead head;
        int r = open_reader(file, &reader);

        if (r < 0)
                return r;
        while ((r = recording_read_raw(reader, &head, &data)) > 0) {
                uint64_t length = FRAME_HEAD_SIZE + head.stored;
                bool kept = size > 0 || is_kept(file, left, head.last_usec, now_usec);

                left -= length;
                if (!kept)
                        continue;
                r = write_all(to, data, length);
                if (r < 0)
                        return r;
                if (size == 0)
                        oldest = head.last_usec;
                size += length;
        }
        if (r < 0)
                return r;
        file->size = size;
        file->oldest_usec = oldest;
        return 0;
}

/* Puts a new file with the newest frames in the place of the old one. */
static int shrink(RecordingFile *file, uint64_t now_usec)
{
        g_autofree char *path = g_strconcat(file->path, SUFFIX, NULL);
        uint64_t size = file->size, oldest = file->oldest_usec;
        struct stat st;
        int r = 0, fd;

        if (unlinkat(file->dir, path, 0) < 0 && errno != ENOENT) /* a crash may have left one */
                return -errno;
        fd = openat(file->dir, path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        if (fstat(file->fd, &st) < 0 || fchmod(fd, st.st_mode & 07777) < 0 ||
            flock(fd, LOCK_EX | LOCK_NB) < 0)
                r = -errno;
        if (r == 0)
                r = copy_kept(file, fd, now_usec);
        if (r == 0 && fdatasync(fd) < 0) /* else a power cut could leave an empty file behind */
                r = -errno;
        if (r == 0 && renameat(file->dir, path, file->dir, file->path) < 0)
                r = -errno;
        if (r < 0) {
                file->size = size;
                file->oldest_usec = oldest;
                unlinkat(file->dir, path, 0);
                fd_close(&fd);
                return r;
        }
        fd_close(&file->fd);
        file->fd = fd;
        return 0;
}

bool recording_file_is_due(const RecordingFile *file, const RecordingBatch *batch)
{
        uint64_t most = RECORDING_BATCH_FULL;

        if (file->limits.max_bytes)
                most = MIN(most, file->limits.max_bytes / 12);
        return recording_batch_size(batch) >= most;
}

static bool is_too_old(const RecordingFile *file, uint64_t now_usec)
{
        uint64_t most = file->limits.max_age_usec;

        return most > 0 && file->oldest_usec > 0 && now_usec > file->oldest_usec &&
               now_usec - file->oldest_usec > most + most / 4;
}

/* Makes room in the ring for the frame. */
static int make_room(RecordingFile *file, uint64_t now_usec)
{
        uint64_t most = file->limits.max_bytes;

        if (most == 0 || file->size + file->frame->len <= most / 3 * 2)
                return 0;
        if (file->frame->len > most / 3 * 2)
                return -E2BIG;
        return shrink(file, now_usec);
}

/* A part of a frame does not stay; if it cannot be removed the next opening does. */
static int append_frame(RecordingFile *file)
{
        int r = write_all(file->fd, file->frame->data, file->frame->len);

        if (r < 0 && file->regular)
                (void)!ftruncate(file->fd, (off_t)file->size);
        if (r < 0)
                return r;
        file->size += file->frame->len;
        file->frames++;
        return 0;
}

int recording_file_put(RecordingFile *file, const GString *text, uint64_t last_usec)
{
        int r;

        g_byte_array_set_size(file->frame, 0);
        r = frame_pack(text, last_usec, file->frame);
        if (r == 0)
                r = make_room(file, last_usec);
        if (r == 0)
                r = append_frame(file);
        if (r < 0)
                return r;
        if (file->oldest_usec == 0)
                file->oldest_usec = last_usec;
        return is_too_old(file, last_usec) ? shrink(file, last_usec) : 0;
}

int recording_file_write(RecordingFile *file, RecordingBatch *batch, uint64_t last_usec)
{
        if (!recording_batch_has_rows(batch))
                return 0;
        recording_batch_take(batch, file->text);
        return recording_file_put(file, file->text, last_usec);
}

uint64_t recording_file_size(const RecordingFile *file)
{
        return file->size;
}

uint64_t recording_file_frames(const RecordingFile *file)
{
        return file->frames;
}

int recording_file_close(RecordingFile *file)
{
        int r = 0;

        if (!file)
                return 0;
        if (file->regular && fdatasync(file->fd) < 0)
                r = -errno;
        file_free(file);
        return r;
}
