/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

/* libzmq takes a port of any size, and the lower sixteen bits of it. `*` is any free one. */
static int check_port(const char *endpoint, struct wp_error *err)
{
    const char *colon = strrchr(endpoint + 6, ':');
    char *end = NULL;
    if (colon && !strcmp(colon, ":*"))
        return 0;
    bool is_number = colon && isdigit((unsigned char)colon[1]);
    unsigned long port = is_number ? strtoul(colon + 1, &end, 10) : 0;
    if (!is_number || *end || port > UINT16_MAX)
        return wp_error_set(err, -EINVAL,
            "'%s' is not an endpoint: its last colon must precede a port, a number up to 65535", endpoint);
    return 0;
}

int wp_endpoint_is_network(const char *endpoint, bool *is_network, struct wp_error *err)
{
    *is_network = !strncmp(endpoint, "tcp://", 6);
    if (!strncmp(endpoint, "ipc://@", 7))
        return wp_error_set(
            err, -EACCES, "'%s' has no file whose mode could say who may connect; use ipc:///path", endpoint);
    if (!*is_network && strncmp(endpoint, "ipc://", 6))
        return wp_error_set(
            err, -EINVAL, "'%s' is not an endpoint (they are ipc:///path or tcp://address:port)", endpoint);
    return *is_network ? check_port(endpoint, err) : 0;
}

int wp_endpoint_check_keys(
    const char *endpoint, bool is_listening, unsigned keys, bool is_insecure, struct wp_error *err)
{
    bool is_network;
    int rc = wp_endpoint_is_network(endpoint, &is_network, err);
    if (rc || !is_network || keys == 2 || (!keys && is_insecure))
        return rc;
    if (is_listening)
        return wp_error_set(err, -EACCES,
            "'%s' would be open to everybody: give --key and --allow (`wakepath keygen` makes keys), or --insecure "
            "if that is meant",
            endpoint);
    return wp_error_set(err, -EACCES,
        "'%s' would send plaintext to whoever answers: give --key and --server-key (`wakepath keygen` makes keys), or "
        "--insecure if that is meant",
        endpoint);
}

/* Does anybody listen at an ipc endpoint? The file of a server that died is removed, any other file is left alone. */
static bool is_taken(const char *endpoint)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    if (strncmp(endpoint, "ipc://", 6) || strlen(endpoint + 6) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, endpoint + 6);
    if (lstat(address.sun_path, &status))
        return false;
    int fd = S_ISSOCK(status.st_mode) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    bool is_stale = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return !is_stale || unlink(address.sun_path);
}

/* What to do about it. */
static const char *advice(int code)
{
    switch (code) {
    case ENOENT:
        return "make the folder of that socket first";
    case EACCES:
        return "this user may not make a socket there: choose another folder, or change whose it is";
    case ENAMETOOLONG:
        return "a socket's path has 107 characters at most";
    case EADDRNOTAVAIL:
    case ENODEV:
        return "this host has no such address; tcp://0.0.0.0:PORT is all that it has";
    default:
        return "endpoints are ipc:///path or tcp://address:port";
    }
}

int wp_endpoint_bind(void *socket, const char *endpoint, struct wp_error *err)
{
    if (is_taken(endpoint))
        return wp_error_set(
            err, -EADDRINUSE, "'%s' is in use: another aggregator listens there; stop it or choose another", endpoint);
    mode_t before = umask(0177); /* an ipc file is for its owner alone, */
    if (!(before & 060))
        umask(0117); /* or for its group too, where the umask leaves files to that: a service's UMask=0007 */
    int rc = zmq_bind(socket, endpoint);
    int code = zmq_errno();
    umask(before);
    if (!rc)
        return 0;
    if (code == EADDRINUSE)
        return wp_error_set(
            err, -EADDRINUSE, "'%s' is in use: another program listens there; stop it or choose another", endpoint);
    return wp_error_set(err, -code, "cannot listen at '%s': %s (%s)", endpoint, zmq_strerror(code), advice(code));
}
