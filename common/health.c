/* SPDX-License-Identifier: Apache-2.0 */
#include "common/health.h"

#include "common/clock.h"
#include "common/config.h"
#include "common/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS 256u /* at a time ... */
#define ROOM 32u         /* ... but so many are kept free: the oldest goes for a new one */
#define BACKLOG 128
#define CONNECTION_BYTES 8192u
#define CONNECTION_S 10u /* from its beginning to the end of its answer, however much it sends meanwhile */
#define STACK_BYTES (256u << 10)
#define ROUND_MS 1000 /* connections are looked at */
#define STALE_NS (30 * WP_NS_PER_S)

struct client {
    int fd;                /* the daemon's; only while is_open */
    bool is_open, is_shut; /* is_shut: told to go */
    uint64_t since_ns;
};

struct wp_health {
    struct MHD_Daemon *daemon;
    pthread_t thread;
    bool has_thread;
    struct client clients[CONNECTIONS]; /* the thread's */
    int epoll, stop;                    /* the daemon's, and an eventfd that ends the thread, owned; -1 none */
    pthread_mutex_t lock;               /* of what follows */
    char *metrics;                      /* owned */
    size_t size;
    bool is_well;
    char trouble[512];
    uint64_t published_ns;
};

/* --- where --- */

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static int parse(const char *text, union address *address, struct wp_error *err)
{
    char host[64] = "127.0.0.1", *end;
    const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text;
    bool is_v6 = *text == '[';
    size_t size = colon ? (size_t)(colon - text) : 0;
    if (is_v6 && (size < 3 || colon[-1] != ']'))
        return wp_error_set(err, -EINVAL, "'%.100s' is not ADDRESS:PORT", text);
    if (colon)
        snprintf(host, sizeof(host), "%.*s", (int)(size - 2 * is_v6), text + is_v6);
    unsigned long number = strtoul(port, &end, 10);
    if (*port < '0' || *port > '9' || *end || number > 65535)
        return wp_error_set(err, -EINVAL, "'%.100s' is not ADDRESS:PORT: a port is a number up to 65535", text);
    *address = (union address){0};
    if (is_v6) {
        address->v6 = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number)};
        if (inet_pton(AF_INET6, host, &address->v6.sin6_addr) == 1)
            return 0;
    } else {
        address->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
        if (inet_pton(AF_INET, strcmp(host, "localhost") ? host : "127.0.0.1", &address->v4.sin_addr) == 1)
            return 0;
    }
    return wp_error_set(err, -EINVAL,
        "'%.100s' is not ADDRESS:PORT: addresses are numbers, such as 127.0.0.1:9469 or [::1]:9469", text);
}

int wp_health_check(const char *listen, struct wp_error *err)
{
    union address address;
    return parse(listen, &address, err);
}

static bool is_loopback(const union address *address)
{
    return address->any.sa_family == AF_INET ? ntohl(address->v4.sin_addr.s_addr) >> 24 == 127
                                             : IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static int open_socket(union address *address)
{
    int one = 1;
    socklen_t size = address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, &address->any, size) || listen(fd, BACKLOG) || getsockname(fd, &address->any, &size)) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

static void say_where(const struct wp_logger *logger, const union address *address)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool is_v6 = address->any.sa_family == AF_INET6;
    inet_ntop(address->any.sa_family,
        is_v6 ? (const void *)&address->v6.sin6_addr : (const void *)&address->v4.sin_addr, text, sizeof(text));
    wp_log(logger, WP_LOG_INFO, "serving metrics address=%s%s%s:%u", is_v6 ? "[" : "", text, is_v6 ? "]" : "",
        ntohs(is_v6 ? address->v6.sin6_port : address->v4.sin_port));
    if (!is_loopback(address))
        wp_log(logger, WP_LOG_WARN,
            "metrics are served without encryption or authentication to everybody who reaches that address");
}

/* --- answers --- */

static enum MHD_Result answer(
    struct MHD_Connection *connection, unsigned status, const char *type, char *text, size_t size)
{
    struct MHD_Response *response = text ? MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE) : NULL;
    if (!response) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(
        response, MHD_HTTP_HEADER_CONNECTION, "close"); /* a request each: who holds one holds no other's place */
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *text)
{
    char *line = NULL;
    int size = asprintf(&line, "%s\n", text);
    return answer(connection, status, "text/plain; charset=utf-8", size < 0 ? NULL : line, size < 0 ? 0 : (size_t)size);
}

static enum MHD_Result answer_metrics(struct wp_health *health, struct MHD_Connection *connection)
{
    struct wp_buffer text = {0};
    pthread_mutex_lock(&health->lock);
    wp_buffer_append(&text, health->metrics, health->size);
    double age_s = (double)(wp_clock_ns() - health->published_ns) / 1e9;
    pthread_mutex_unlock(&health->lock);
    wp_metric_put(
        &text, "wakepath_snapshot_age_seconds", WP_GAUGE, "Since the daemon's loop published these figures.", age_s);
    if (text.failed) {
        wp_buffer_fini(&text);
        return respond(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory");
    }
    return answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", (char *)text.data, text.size);
}

/* Of life only whether the loop goes round is asked: who restarts it cannot mend the rest. */
static enum MHD_Result answer_health(struct wp_health *health, struct MHD_Connection *connection, bool is_of_life)
{
    char trouble[sizeof(health->trouble)];
    pthread_mutex_lock(&health->lock);
    uint64_t age_ns = wp_clock_ns() - health->published_ns;
    bool is_stale = age_ns > STALE_NS, is_well = (health->is_well || is_of_life) && !is_stale;
    if (is_stale)
        snprintf(trouble, sizeof(trouble), "the daemon's loop has stood still for %llu s",
            (unsigned long long)(age_ns / WP_NS_PER_S));
    else
        memcpy(trouble, health->trouble, sizeof(trouble));
    pthread_mutex_unlock(&health->lock);
    return is_well ? respond(connection, MHD_HTTP_OK, "ok")
                   : respond(connection, MHD_HTTP_SERVICE_UNAVAILABLE, trouble);
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **state)
{
    (void)version, (void)upload, (void)upload_size, (void)state;
    if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        return respond(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, please");
    if (!strcmp(url, "/metrics"))
        return answer_metrics(context, connection);
    if (!strcmp(url, "/healthz"))
        return answer_health(context, connection, false);
    if (!strcmp(url, "/livez"))
        return answer_health(context, connection, true);
    return respond(connection, MHD_HTTP_NOT_FOUND, "there are /metrics, /healthz and /livez");
}

/* --- who is there --- */

static void note_client(
    void *context, struct MHD_Connection *connection, void **slot, enum MHD_ConnectionNotificationCode code)
{
    struct wp_health *health = context;
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code == MHD_CONNECTION_NOTIFY_CLOSED && *slot) {
        ((struct client *)*slot)->is_open = false;
        *slot = NULL;
    }
    if (code != MHD_CONNECTION_NOTIFY_STARTED || !info)
        return;
    for (size_t i = 0; i < CONNECTIONS && !*slot; i++)
        if (!health->clients[i].is_open) {
            health->clients[i] = (struct client){.fd = info->connect_fd, .is_open = true, .since_ns = wp_clock_ns()};
            *slot = &health->clients[i];
        }
}

static void shut(struct client *client)
{
    shutdown(client->fd, SHUT_RDWR); /* the daemon sees its end, and closes it */
    client->is_shut = true;
}

/* Who takes too long goes, and where there is no room the oldest: a crowd that says nothing, or a byte now and then,
 * keeps nobody out. */
static void look_at_clients(struct wp_health *health)
{
    uint64_t now_ns = wp_clock_ns();
    size_t count = 0;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct client *client = &health->clients[i];
        if (client->is_open && !client->is_shut && now_ns - client->since_ns > CONNECTION_S * WP_NS_PER_S)
            shut(client);
        count += client->is_open && !client->is_shut;
    }
    for (; count > CONNECTIONS - ROOM; count--) {
        struct client *oldest = NULL;
        for (size_t i = 0; i < CONNECTIONS; i++) {
            struct client *client = &health->clients[i];
            if (client->is_open && !client->is_shut && (!oldest || client->since_ns < oldest->since_ns))
                oldest = client;
        }
        shut(oldest);
    }
}

/* --- life --- */

/*
 * The thread is ours and not the library's, so that it has ended when the daemon is stopped: libmicrohttpd 0.9.75
 * follows a null pointer when a request must be answered with an error (one that is too long) while MHD_stop_daemon
 * waits for its thread.
 */
static void *serve(void *context)
{
    struct wp_health *health = context;
    struct pollfd wait[] = {{.fd = health->epoll, .events = POLLIN}, {.fd = health->stop, .events = POLLIN}};
    while (!wait[1].revents) {
        MHD_UNSIGNED_LONG_LONG timeout_ms = ROUND_MS;
        bool has_timeout = MHD_get_timeout(health->daemon, &timeout_ms) == MHD_YES && timeout_ms < ROUND_MS;
        if (poll(wait, 2, has_timeout ? (int)timeout_ms : ROUND_MS) < 0)
            wait[1].revents = 0; /* interrupted */
        else if (!wait[1].revents)
            MHD_run(health->daemon);
        look_at_clients(health);
    }
    return NULL;
}

static int start_thread(struct wp_health *health)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are the loop's; threads inherit the mask */
    int rc = -pthread_create(&health->thread, &attributes, serve, health);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    health->has_thread = !rc;
    return rc;
}

static int start(struct wp_health *health, int fd)
{
    health->stop = eventfd(0, EFD_CLOEXEC);
    health->daemon = health->stop < 0
        ? NULL
        : MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, health, MHD_OPTION_LISTEN_SOCKET, fd,
              MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S,
              MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_client,
              health, MHD_OPTION_END);
    if (!health->daemon) {
        close(fd);
        return -ENOMEM;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(health->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    health->epoll = info ? info->epoll_fd : -1;
    return health->epoll < 0 ? -ENOMEM : start_thread(health);
}

int wp_health_open(struct wp_health **out, const char *listen, const struct wp_logger *logger, struct wp_error *err)
{
    union address address;
    int rc = parse(listen, &address, err);
    if (rc)
        return rc;
    int fd = open_socket(&address);
    if (fd < 0)
        return wp_error_errno(err, fd, "cannot serve metrics at %s", listen);
    struct wp_health *health = calloc(1, sizeof(*health));
    if (!health) {
        close(fd);
        return wp_error_set(err, -ENOMEM, "out of memory");
    }
    pthread_mutex_init(&health->lock, NULL);
    health->published_ns = wp_clock_ns();
    strcpy(health->trouble, "starting");
    health->stop = health->epoll = -1;
    if (start(health, fd)) {
        wp_health_close(health);
        return wp_error_set(err, -ENOMEM, "cannot start the thread that serves metrics");
    }
    say_where(logger, &address);
    *out = health;
    return 0;
}

void wp_health_close(struct wp_health *health)
{
    if (!health)
        return;
    if (health->has_thread) {
        eventfd_write(health->stop, 1);
        pthread_join(health->thread, NULL);
    }
    if (health->daemon)
        MHD_stop_daemon(health->daemon);
    if (health->stop >= 0)
        close(health->stop);
    pthread_mutex_destroy(&health->lock);
    free(health->metrics);
    free(health);
}

void wp_health_publish(struct wp_health *health, const struct wp_buffer *metrics, const char *trouble)
{
    char *copy = metrics->failed || !metrics->size ? NULL : malloc(metrics->size), *old = copy;
    if (copy)
        memcpy(copy, metrics->data, metrics->size);
    pthread_mutex_lock(&health->lock);
    if (copy) { /* without memory the last ones stay */
        old = health->metrics;
        health->metrics = copy;
        health->size = metrics->size;
    }
    health->is_well = !trouble;
    wp_metric_clean(trouble ? trouble : "", health->trouble, sizeof(health->trouble));
    health->published_ns = wp_clock_ns();
    pthread_mutex_unlock(&health->lock);
    free(old);
}

const char *wp_health_option(const struct argp_state *state, const char *text)
{
    struct wp_error err = {0};
    if (!strcmp(text, "none"))
        return NULL;
    if (wp_health_check(text, &err))
        wp_config_refuse(state, "--metrics: %s", err.text);
    return text;
}
