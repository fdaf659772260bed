/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/http_get.h"

#include "common/clock.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_BYTES ((size_t)16 << 20)

static int split(const char *address, char *host, size_t host_room, const char **port, struct wp_error *err)
{
    const char *colon = strrchr(address, ':');
    bool is_v6 = *address == '[';
    *port = colon ? colon + 1 : address;
    size_t size = colon ? (size_t)(colon - address) : 0;
    char *end;
    unsigned long number = strtoul(*port, &end, 10);
    if (**port < '0' || **port > '9' || *end || number > 65535 || size >= host_room ||
        (is_v6 && (size < 3 || colon[-1] != ']')))
        return wp_error_set(err, -EINVAL, "'%.100s' is not ADDRESS:PORT", address);
    snprintf(host, host_room, "%.*s", (int)(is_v6 ? size - 2 : size), is_v6 ? address + 1 : address);
    return 0;
}

bool wp_http_address_valid(const char *address)
{
    char host[256];
    const char *port;
    return !split(address, host, sizeof(host), &port, NULL);
}

/* 0 when `events` has come, -ETIMEDOUT. */
static int await(int fd, short events, uint64_t deadline_ms)
{
    for (;;) {
        uint64_t now = wp_clock_ms();
        struct pollfd one = {.fd = fd, .events = events};
        int rc = now < deadline_ms ? poll(&one, 1, (int)(deadline_ms - now)) : 0;
        if (rc > 0)
            return 0;
        if (!rc)
            return -ETIMEDOUT;
        if (errno != EINTR)
            return -errno;
    }
}

static int dial_one(const struct addrinfo *to, uint64_t deadline_ms)
{
    int error = 0, fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof(error);
    if (fd < 0)
        return -errno;
    int rc = connect(fd, to->ai_addr, to->ai_addrlen) ? -errno : 0;
    if (rc == -EINPROGRESS)
        rc = await(fd, POLLOUT, deadline_ms);
    if (!rc && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
        rc = -error;
    if (!rc)
        return fd;
    close(fd);
    return rc;
}

int wp_http_dial(const char *address, unsigned timeout_ms, struct wp_error *err)
{
    char host[256];
    const char *port;
    struct addrinfo *all = NULL, hints = {.ai_socktype = SOCK_STREAM};
    int rc = split(address, host, sizeof(host), &port, err);
    if (rc)
        return rc;
    int unknown = getaddrinfo(*host ? host : "127.0.0.1", port, &hints, &all);
    if (unknown)
        return wp_error_set(err, -EHOSTUNREACH, "'%.100s': %s", address, gai_strerror(unknown));
    uint64_t deadline_ms = wp_clock_ms() + timeout_ms;
    rc = -EHOSTUNREACH;
    for (const struct addrinfo *to = all; to && rc < 0; to = to->ai_next)
        rc = dial_one(to, deadline_ms);
    freeaddrinfo(all);
    return rc < 0 ? wp_error_errno(err, rc, "cannot connect to %.100s", address) : rc;
}

static int exchange(int fd, const char *request, uint64_t deadline_ms, struct wp_buffer *answer)
{
    size_t size = strlen(request);
    if (send(fd, request, size, MSG_NOSIGNAL) != (ssize_t)size) /* it fits an empty socket's buffer */
        return -EPIPE;
    for (;;) {
        char part[65536];
        int rc = await(fd, POLLIN, deadline_ms);
        ssize_t got = rc ? 0 : read(fd, part, sizeof(part));
        if (rc || got < 0)
            return rc ? rc : -errno;
        if (!got)
            return 0;
        if (answer->size + (size_t)got > ANSWER_BYTES)
            return -EFBIG;
        if (wp_buffer_append(answer, part, (size_t)got))
            return -ENOMEM;
    }
}

/* The status of a whole answer, and where its body begins. */
static int read_head(struct wp_buffer *answer, size_t *body)
{
    unsigned status;
    wp_buffer_putc(answer, 0);
    if (answer->failed)
        return -ENOMEM;
    const char *text = (const char *)answer->data, *end = strstr(text, "\r\n\r\n");
    if (!end || sscanf(text, "HTTP/1.%*1[01] %3u", &status) != 1 || status < 100)
        return -EPROTO;
    *body = (size_t)(end + 4 - text);
    answer->size--;
    return (int)status;
}

int wp_http_get(
    const char *address, const char *path, unsigned timeout_ms, struct wp_buffer *body, struct wp_error *err)
{
    struct wp_buffer answer = {0};
    char request[512];
    size_t start = 0;
    int fd = wp_http_dial(address, timeout_ms, err);
    if (fd < 0)
        return fd;
    snprintf(request, sizeof(request), "GET %s HTTP/1.0\r\nHost: %.200s\r\n\r\n", path, address);
    int rc = exchange(fd, request, wp_clock_ms() + timeout_ms, &answer);
    close(fd);
    if (!rc)
        rc = read_head(&answer, &start);
    if (rc > 0 && wp_buffer_append(body, answer.data + start, answer.size - start))
        rc = -ENOMEM;
    wp_buffer_putc(body, 0);
    if (body->size)
        body->size--;
    wp_buffer_fini(&answer);
    return rc < 0
        ? wp_error_set(err, rc,
              rc == -EPROTO ? "what answers at %.100s does not speak HTTP" : "no good answer from %.100s", address)
        : rc;
}
