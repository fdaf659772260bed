/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/view_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CONNECTIONS 32u
#define CONNECTION_S 30u
#define CONNECTION_BYTES 16384u
#define SECRET_BYTES 16u
#define OWN "~own/"
#define MADE "~made/"
#define SERVED "~view.js"

struct wp_view_server {
    const struct wp_view_server_options *options; /* borrowed */
    struct MHD_Daemon *daemon;
    int folder, made, epoll;
    char secret[2 * SECRET_BYTES + 1];
    char hosts[2][32]; /* that a request may name: who rebinds a name to this address names another */
    char address[96];
};

/* --- answers --- */

static enum MHD_Result queue(
    struct MHD_Connection *connection, unsigned status, const char *type, struct MHD_Response *response)
{
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
    MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
    MHD_add_response_header(response, "X-Frame-Options", "DENY");
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_text(
    struct MHD_Connection *connection, unsigned status, const char *type, const char *text)
{
    return queue(connection, status, type,
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY));
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer_text(connection, status, "text/plain; charset=utf-8", text);
}

static enum MHD_Result redirect(const struct wp_view_server *server, struct MHD_Connection *connection, const char *to)
{
    char location[256];
    struct MHD_Response *response = MHD_create_response_from_buffer(0, (void *)(uintptr_t) "", MHD_RESPMEM_PERSISTENT);
    snprintf(location, sizeof(location), "/%s/%s", server->secret, to);
    if (response)
        MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, location);
    return queue(connection, MHD_HTTP_FOUND, "text/plain", response);
}

static const char *type_of(const char *path)
{
    static const char *const types[][2] = {{".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"}, {".css", "text/css; charset=utf-8"}, {".json", "application/json"},
        {".svg", "image/svg+xml"}, {".txt", "text/plain; charset=utf-8"}};
    size_t size = strlen(path);
    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        size_t end = strlen(types[i][0]);
        if (size > end && !strcmp(path + size - end, types[i][0]))
            return types[i][1];
    }
    return NULL;
}

/* Pages alone: the store and the capture that lie beside them are no business of a browser. */
static enum MHD_Result answer_file(int folder, struct MHD_Connection *connection, const char *path)
{
    const struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    const char *type = type_of(path);
    struct stat st;
    int fd = type ? (int)syscall(SYS_openat2, folder, path, &how, sizeof(how)) : -1;
    if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    if (fd < 0)
        return refuse(connection, MHD_HTTP_NOT_FOUND, "There is no such page.\n");
    struct MHD_Response *response = MHD_create_response_from_fd64((uint64_t)st.st_size, fd);
    if (!response)
        close(fd);
    return queue(connection, MHD_HTTP_OK, type, response);
}

static const char *argument(struct MHD_Connection *connection, const char *key)
{
    const char *value = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
    return value ? value : "";
}

static enum MHD_Result answer_own(
    const struct wp_view_server *server, struct MHD_Connection *connection, const char *path)
{
    struct wp_view_answer answer = {.status = MHD_HTTP_OK};
    const struct wp_view_request request = {
        path, argument(connection, "name"), argument(connection, "page"), argument(connection, "selector")};
    server->options->own(server->options->context, &request, &answer);
    wp_buffer_putc(&answer.html, 0);
    enum MHD_Result result = *answer.location ? redirect(server, connection, answer.location)
        : answer.html.failed
        ? refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "Out of memory.\n")
        : answer_text(connection, answer.status, "text/html; charset=utf-8", (const char *)answer.html.data);
    wp_buffer_fini(&answer.html);
    return result;
}

/* --- requests --- */

/* As long for a wrong one as for the right one. */
static bool is_secret(const struct wp_view_server *server, const char *text)
{
    unsigned differs = strlen(text) < 2 * SECRET_BYTES;
    for (size_t i = 0; !differs && i < 2 * SECRET_BYTES; i++)
        differs |= (unsigned)(text[i] ^ server->secret[i]) << 8;
    return !differs;
}

static bool is_here(const struct wp_view_server *server, struct MHD_Connection *connection)
{
    const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    return host && (!strcmp(host, server->hosts[0]) || !strcmp(host, server->hosts[1]));
}

static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *url, const char *method,
    const char *version, const char *upload, size_t *upload_size, void **state)
{
    const struct wp_view_server *server = context;
    (void)version, (void)upload, (void)upload_size, (void)state;
    if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
        return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET, please.\n");
    if (!is_here(server, connection))
        return refuse(connection, MHD_HTTP_FORBIDDEN, "This server is asked by its own address only.\n");
    if (*url != '/' || !is_secret(server, url + 1) || url[1 + 2 * SECRET_BYTES] != '/')
        return refuse(connection, MHD_HTTP_NOT_FOUND, "The address that wakepath view printed has a key in it.\n");
    const char *path = url + 2 + 2 * SECRET_BYTES;
    if (!*path)
        return answer_file(server->folder, connection, "index.html");
    if (!strcmp(path, SERVED))
        return answer_text(
            connection, MHD_HTTP_OK, "text/javascript; charset=utf-8", "window.wakepath.payloads.served = true;\n");
    if (!strncmp(path, OWN, strlen(OWN)))
        return answer_own(server, connection, path + strlen(OWN));
    if (!strncmp(path, MADE, strlen(MADE)))
        return answer_file(server->made, connection, path + strlen(MADE));
    return answer_file(server->folder, connection, path);
}

/* --- the server --- */

static int make_secret(struct wp_view_server *server, struct wp_error *err)
{
    uint8_t bytes[SECRET_BYTES];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return wp_error_errno(err, -errno, "cannot make a key for the address");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(server->secret + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

static int listen_at(unsigned port, unsigned *bound, struct wp_error *err)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 16) ||
        getsockname(fd, (struct sockaddr *)&address, &size)) {
        int rc = wp_error_errno(err, -errno, "cannot listen at 127.0.0.1:%u", port);
        if (fd >= 0)
            close(fd);
        return rc;
    }
    *bound = ntohs(address.sin_port);
    return fd;
}

static int start(struct wp_view_server *server, struct wp_error *err)
{
    unsigned port = 0;
    int fd = listen_at(server->options->port, &port, err);
    if (fd < 0)
        return fd;
    server->daemon = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, handle, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (!server->daemon) {
        close(fd);
        return wp_error_set(err, -ENOMEM, "cannot start the server");
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    server->epoll = info ? info->epoll_fd : -1;
    snprintf(server->hosts[0], sizeof(server->hosts[0]), "127.0.0.1:%u", port);
    snprintf(server->hosts[1], sizeof(server->hosts[1]), "localhost:%u", port);
    snprintf(server->address, sizeof(server->address), "http://%s/%s/", server->hosts[0], server->secret);
    return 0;
}

int wp_view_server_open(
    struct wp_view_server **made, const struct wp_view_server_options *options, struct wp_error *err)
{
    struct wp_view_server *server = calloc(1, sizeof(*server));
    if (!server)
        return wp_error_set(err, -ENOMEM, "out of memory for the server");
    server->options = options;
    server->made = -1;
    server->folder = open(options->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int rc = server->folder < 0 ? wp_error_errno(err, -errno, "cannot open '%s'", options->folder) : 0;
    if (!rc && (server->made = open(options->made, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        rc = wp_error_errno(err, -errno, "cannot open '%s'", options->made);
    if (!rc)
        rc = make_secret(server, err);
    if (!rc)
        rc = start(server, err);
    if (rc) {
        wp_view_server_close(server);
        return rc;
    }
    *made = server;
    return 0;
}

const char *wp_view_server_address(const struct wp_view_server *server)
{
    return server->address;
}

int wp_view_server_fd(const struct wp_view_server *server)
{
    return server->epoll;
}

unsigned wp_view_server_due_ms(const struct wp_view_server *server, unsigned most)
{
    MHD_UNSIGNED_LONG_LONG due = most;
    return MHD_get_timeout(server->daemon, &due) != MHD_YES || due > most ? most : (unsigned)due;
}

void wp_view_server_round(struct wp_view_server *server)
{
    MHD_run(server->daemon);
}

void wp_view_server_close(struct wp_view_server *server)
{
    if (!server)
        return;
    if (server->daemon)
        MHD_stop_daemon(server->daemon);
    if (server->folder >= 0)
        close(server->folder);
    if (server->made >= 0)
        close(server->made);
    free(server);
}
