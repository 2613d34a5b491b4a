/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Any bytes are read as a request of the metrics socket; each gets an answer that begins with its
 * status, or none because the client left without one.
 */
#include <sys/mman.h>

#include "ctl/verbs/metrics-http.h"
#include "fuzz.h"

static char *make(MetricsFormat format, gsize *ret_length, void *userdata)
{
        *ret_length = 5;
        return g_strdup("x 1.0");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char answer[1024];
        HttpRequest request;
        ssize_t n;
        int in = memfd_create("request", MFD_CLOEXEC), out = memfd_create("answer", MFD_CLOEXEC);

        http_request_parse((const char *)data, size, &request);
        g_assert(request.status >= 200 && request.status <= 505);
        g_assert(request.format == FORMAT_OPENMETRICS || request.format == FORMAT_PROMETHEUS);
        g_assert(in >= 0 && out >= 0 && write(in, data, size) == (ssize_t)size);
        g_assert(lseek(in, 0, SEEK_SET) == 0);
        http_serve(in, out, make, NULL);
        n = pread(out, answer, sizeof(answer) - 1, 0);
        g_assert(n == 0 || (n > 12 && memcmp(answer, "HTTP/1.1 ", 9) == 0));
        close(in);
        close(out);
        return 0;
}
