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
#include "recording/frame.h"

#define SUFFIX ".new"
#define CHUNK  (64u << 10)

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

static void file_free(RecordingFile *file)
{
        fd_close(&file->fd);
        g_free(file->path);
        g_string_free(file->text, TRUE);
        g_byte_array_unref(file->frame);
        g_free(file);
}

/* The head of the frame that begins there. 1: the whole frame follows; 0: the file ends before.
 * -EBADMSG: something else stands there. */
static int head_at(const RecordingFile *file, uint64_t at, FrameHead *ret_head)
{
        uint8_t data[FRAME_HEAD_SIZE];
        ssize_t n = pread(file->fd, data, sizeof(data), (off_t)at);
        int r;

        if (n < 0)
                return -errno;
        r = frame_head_parse(data, (size_t)n, ret_head);
        return r <= 0 ? r : FRAME_HEAD_SIZE + ret_head->stored <= file->size - at;
}

/* Goes from head to head to the end, and finds the time of the first frame. What a crash left of a
 * last one goes; something else stays. */
static int find_end(RecordingFile *file)
{
        uint64_t end = 0;
        FrameHead head;
        int r;

        while ((r = head_at(file, end, &head)) > 0) {
                if (end == 0)
                        file->oldest_usec = head.last_usec;
                end += FRAME_HEAD_SIZE + head.stored;
        }
        if (r == 0 && end < file->size && ftruncate(file->fd, (off_t)end) < 0)
                return -errno;
        file->size = end;
        return r;
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

/* Copies the frames that stay: all from the first of them on. */
static int copy_kept(RecordingFile *file, int to, uint64_t now_usec)
{
        g_autofree uint8_t *data = g_malloc(CHUNK);
        FrameHead head = { 0 };
        uint64_t begin = 0, at;
        ssize_t n = 0;
        int r;

        while ((r = head_at(file, begin, &head)) > 0 &&
               !is_kept(file, file->size - begin, head.last_usec, now_usec))
                begin += FRAME_HEAD_SIZE + head.stored;
        for (at = begin; r >= 0 && at < file->size; at += (uint64_t)n) {
                n = pread(file->fd, data, MIN(CHUNK, file->size - at), (off_t)at);
                if (n <= 0)
                        break;
                r = fd_write_full(to, data, (size_t)n);
        }
        if (r < 0 || n < 0)
                return r < 0 ? r : -errno;
        file->oldest_usec = at > begin ? head.last_usec : 0;
        file->size = at - begin;
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
        int r = fd_write_full(file->fd, file->frame->data, file->frame->len);

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
        if (recording_batch_size(batch) == 0)
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
