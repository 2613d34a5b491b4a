/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One answer over HTTP. Both directions have a deadline, so a client that sends or reads slowly
 * holds its process for ten seconds at most; systemd's limit on the unit is the second line.
 *
 * The owner of a web page can let its domain lead to the loopback address, and a browser on this
 * machine then lets the page read what that address serves (DNS rebinding). Such a request has the
 * domain in Host. So a connection to the loopback address must name localhost or an IP address.
 */
#include "metrics-http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How long an answer waits for the client to close, so that it is not lost with what was not
 * read. */
#define LINGER_USEC (500u * 1000)

static const struct {
        int status;
        const char *reason;
} reasons[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 421, "Misdirected Request" },
        { 431, "Request Header Fields Too Large" },
        { 505, "HTTP Version Not Supported" },
};

static const char *reason_of(int status)
{
        for (size_t i = 0; i < G_N_ELEMENTS(reasons); i++)
                if (reasons[i].status == status)
                        return reasons[i].reason;
        return "";
}

static const char *media_type(MetricsFormat format)
{
        return format == FORMAT_OPENMETRICS
                       ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                       : "text/plain; version=0.0.4; charset=utf-8";
}

/* The weight of one member of Accept, "type/subtype;version=1.0.0;q=0.5", 0 to 1; negative if it
 * asks for another version than this one, or the other one that is compatible. */
static double weight_of(char **parameters, const char *version, const char *other)
{
        double weight = 1;

        for (; *parameters; parameters++) {
                const char *parameter = g_strstrip(*parameters);

                if (g_ascii_strncasecmp(parameter, "q=", 2) == 0)
                        weight = CLAMP(g_ascii_strtod(parameter + 2, NULL), 0, 1);
                else if (g_ascii_strncasecmp(parameter, "version=", 8) == 0 &&
                         !g_str_equal(parameter + 8, version) && !g_str_equal(parameter + 8, other))
                        return -1;
        }
        return weight;
}

/* Chooses by the value of Accept. */
static MetricsFormat negotiate(const char *accept)
{
        g_auto(GStrv) members = g_strsplit(accept, ",", 64);
        double openmetrics = 0, prometheus = 0;

        for (char **member = members; *member; member++) {
                g_auto(GStrv) parts = g_strsplit(*member, ";", 16);
                const char *type = parts[0] ? g_strstrip(parts[0]) : "";

                if (g_ascii_strcasecmp(type, "application/openmetrics-text") == 0)
                        openmetrics = MAX(openmetrics, weight_of(parts + 1, "1.0.0", "0.0.1"));
                else if (g_ascii_strcasecmp(type, "text/plain") == 0)
                        prometheus = MAX(prometheus, weight_of(parts + 1, "0.0.4", "0.0.4"));
        }
        return openmetrics > 0 && openmetrics >= prometheus ? FORMAT_OPENMETRICS
                                                            : FORMAT_PROMETHEUS;
}

/* The status of "GET /metrics HTTP/1.1". */
static int parse_first_line(const char *line, bool *ret_head)
{
        g_auto(GStrv) words = g_strsplit(line, " ", 4);
        g_autofree char *path = NULL;

        if (g_strv_length(words) != 3 || !*words[0] || (*words[1] != '/' && *words[1] != '*') ||
            !g_str_has_prefix(words[2], "HTTP/"))
                return 400;
        if (!g_str_equal(words[2], "HTTP/1.0") && !g_str_equal(words[2], "HTTP/1.1"))
                return 505;
        path = g_strndup(words[1], strcspn(words[1], "?"));
        if (!g_str_equal(path, "/metrics"))
                return 404;
        *ret_head = g_str_equal(words[0], "HEAD");
        return *ret_head || g_str_equal(words[0], "GET") ? 200 : 405;
}

/* True if the value of Host is a domain that its owner can let lead here. */
static bool is_domain(const char *value)
{
        g_autofree char *host = g_strstrip(g_strdup(value));
        bool bracket = *host == '[';
        char *end = host + strcspn(host, bracket ? "]" : ":");
        struct in6_addr address;

        *end = '\0';
        if (bracket)
                return inet_pton(AF_INET6, host + 1, &address) != 1;
        return g_ascii_strcasecmp(host, "localhost") != 0 &&
               inet_pton(AF_INET, host, &address) != 1;
}

void http_request_parse(const char *text, gsize length, HttpRequest *ret_request)
{
        HttpRequest request = { .status = 400, .format = FORMAT_PROMETHEUS };
        g_autofree char *copy = g_strndup(text, length);
        g_auto(GStrv) lines = NULL;
        g_autoptr(GString) accept = g_string_new(NULL);

        *ret_request = request;
        if (length == 0 || strlen(copy) != length) /* a NUL is nowhere allowed */
                return;
        lines = g_strsplit(copy, "\n", -1);
        for (char **line = lines; *line; line++)
                g_strchomp(*line);
        request.status = parse_first_line(lines[0], &request.head);
        for (char **line = lines + 1; *line && **line; line++) {
                const char *colon = strchr(*line, ':');

                if (!colon || colon == *line || g_ascii_isspace(**line))
                        return;
                if (g_ascii_strncasecmp(*line, "accept:", 7) == 0)
                        g_string_append_printf(accept, ",%s", colon + 1);
                else if (g_ascii_strncasecmp(*line, "host:", 5) == 0)
                        request.domain |= is_domain(colon + 1);
        }
        request.format = negotiate(accept->str);
        *ret_request = request;
}

/* Milliseconds until the time, for poll(); 0 if it is over. */
static int remaining_ms(gint64 deadline_usec)
{
        return (int)(MAX(deadline_usec - g_get_monotonic_time(), 0) + 999) / 1000;
}

/* Waits; 1, or 0 if the time is over. */
static int wait_for(int fd, short events, gint64 deadline_usec)
{
        struct pollfd waiting = { .fd = fd, .events = events };
        int ms, r;

        do {
                ms = remaining_ms(deadline_usec);
                r = poll(&waiting, 1, ms);
        } while ((r < 0 && errno == EINTR) || (r == 0 && remaining_ms(deadline_usec) > 0));
        return r < 0 ? -errno : r;
}

/* Where the empty line ends that ends the head; 0: not there yet. */
static gsize head_end(const char *text, gsize length)
{
        const char *plain = memmem(text, length, "\n\n", 2);
        const char *dos = memmem(text, length, "\n\r\n", 3);

        if (plain && (!dos || plain < dos))
                return (gsize)(plain - text) + 2;
        return dos ? (gsize)(dos - text) + 3 : 0;
}

/* Reads up to the end of the head. Returns the status of the refusal, 200 if the request is
 * there, 0 if the client left without one. */
static int read_request(int fd, char buffer[HTTP_REQUEST_MAX], gsize *ret_length)
{
        gint64 deadline = g_get_monotonic_time() + HTTP_REQUEST_USEC;
        gsize length = 0;

        while (!head_end(buffer, length)) {
                ssize_t n;
                int r;

                if (length == HTTP_REQUEST_MAX)
                        return 431;
                r = wait_for(fd, POLLIN, deadline);
                if (r <= 0)
                        return r == 0 ? 408 : r;
                n = read(fd, buffer + length, HTTP_REQUEST_MAX - length);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return errno == ECONNRESET ? 0 : -errno;
                if (n == 0)
                        return length ? 400 : 0;
                length += (gsize)n;
        }
        *ret_length = head_end(buffer, length);
        return 200;
}

/* Writes without blocking: what is no socket takes a page when poll() says that it is writable. */
static ssize_t write_some(int fd, const char *text, gsize length)
{
        ssize_t n = send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == ENOTSOCK)
                n = write(fd, text, MIN(length, 4096));
        return n;
}

/* True if all of it was taken in time. */
static bool write_all(int fd, const char *text, gsize length, gint64 deadline_usec)
{
        while (length > 0) {
                ssize_t n;

                if (wait_for(fd, POLLOUT, deadline_usec) <= 0)
                        return false;
                n = write_some(fd, text, length);
                if (n < 0 && (errno == EINTR || errno == EAGAIN))
                        continue;
                if (n < 0)
                        return false;
                text += n;
                length -= (gsize)n;
        }
        return true;
}

/* Closing a socket with something unread resets it, and the answer may be lost. */
static void linger(int in, int out)
{
        gint64 deadline = g_get_monotonic_time() + LINGER_USEC;
        char buffer[4096];

        if (shutdown(out, SHUT_WR) < 0)
                return;
        while (wait_for(in, POLLIN, deadline) > 0 && read(in, buffer, sizeof(buffer)) > 0)
                ;
}

/* True if the client connected to the loopback address. */
static bool is_loopback(int fd)
{
        union {
                struct sockaddr any;
                struct sockaddr_in v4;
                struct sockaddr_in6 v6;
        } local = { 0 };
        socklen_t length = sizeof(local);
        const uint8_t *mapped = local.v6.sin6_addr.s6_addr + 12;

        if (getsockname(fd, &local.any, &length) < 0)
                return false;
        if (local.any.sa_family == AF_INET)
                return *(const uint8_t *)&local.v4.sin_addr == IN_LOOPBACKNET;
        return local.any.sa_family == AF_INET6 &&
               (IN6_IS_ADDR_LOOPBACK(&local.v6.sin6_addr) ||
                (IN6_IS_ADDR_V4MAPPED(&local.v6.sin6_addr) && *mapped == IN_LOOPBACKNET));
}

static void send_answer(int in, int out, const HttpRequest *request, const char *body, gsize length)
{
        gint64 deadline = g_get_monotonic_time() + HTTP_ANSWER_USEC;
        bool fine = request->status == 200;
        g_autofree char *head = g_strdup_printf(
                "HTTP/1.1 %d %s\r\n"
                "Content-Type: %s\r\n"
                "Content-Length: %" G_GSIZE_FORMAT "\r\n"
                "%s%s"
                "Connection: close\r\n\r\n",
                request->status, reason_of(request->status),
                fine ? media_type(request->format) : "text/plain; charset=utf-8", length,
                request->status == 405 ? "Allow: GET, HEAD\r\n" : "",
                fine ? "Vary: Accept\r\n" : "");

        if (write_all(out, head, strlen(head), deadline) &&
            (request->head || write_all(out, body, length, deadline)))
                linger(in, out);
}

int http_serve(int in, int out, HttpMake make, void *userdata)
{
        HttpRequest request = { 0 };
        char buffer[HTTP_REQUEST_MAX];
        g_autofree char *body = NULL;
        gsize length = 0;
        int status = read_request(in, buffer, &length);

        if (status <= 0)
                return status;
        request.status = status;
        if (status == 200)
                http_request_parse(buffer, length, &request);
        if (request.status == 200 && request.domain && is_loopback(in))
                request.status = 421;
        if (request.status == 200) {
                body = make(request.format, &length, userdata);
        } else {
                body = g_strdup_printf("%s%s\n", reason_of(request.status),
                                       request.status == 404   ? "; expected GET /metrics"
                                       : request.status == 421 ? "; expected localhost or an IP "
                                                                 "address in Host"
                                                               : "");
                length = strlen(body);
        }
        send_answer(in, out, &request, body, length);
        return 0;
}
