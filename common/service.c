/* SPDX-License-Identifier: Apache-2.0 */
#include "common/service.h"

#include "common/clock.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* An absolute path, or "@name" of the abstract namespace. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t size = strlen(path);
    if ((*path != '/' && *path != '@') || size >= sizeof(address.sun_path))
        return -1;
    memcpy(address.sun_path, path, size);
    if (*path == '@')
        address.sun_path[0] = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size + (*path == '/'));
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, length)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static uint64_t watchdog_of(const char *usec, const char *pid)
{
    char *end;
    if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
        return 0;
    unsigned long long value = strtoull(usec, &end, 10);
    return *end || end == usec || value > UINT64_MAX / 1000 ? 0 : value * 1000 / 4; /* four signs in each period */
}

void wp_service_init(struct wp_service *service)
{
    const char *path = getenv("NOTIFY_SOCKET");
    service->fd = path && *path ? connect_to(path) : -1;
    service->is_open = true;
    service->watchdog_ns = service->fd < 0 ? 0 : watchdog_of(getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

/* A supervisor that does not listen is not worth failing for. */
static void notify(const struct wp_service *service, const char *text)
{
    if (!service || !service->is_open || service->fd < 0)
        return;
    ssize_t done = send(service->fd, text, strlen(text), MSG_NOSIGNAL);
    (void)done;
}

void wp_service_ready(struct wp_service *service)
{
    notify(service, "READY=1");
}

static void reload(struct wp_service *service)
{
    char text[80];
    *service->reload = 0;
    /* Type=notify-reload (systemd 253) wants the time; older ones pass over it */
    snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)wp_clock_ns() / 1000);
    notify(service, text);
    service->on_reload(service->context);
    notify(service, "READY=1");
}

void wp_service_tick(struct wp_service *service)
{
    if (!service)
        return;
    if (service->reload && *service->reload && service->on_reload)
        reload(service);
    uint64_t now = service->watchdog_ns ? wp_clock_ns() : 0;
    if (now - service->alive_ns < service->watchdog_ns || !service->watchdog_ns)
        return;
    service->alive_ns = now;
    notify(service, "WATCHDOG=1");
}

void wp_service_stopping(struct wp_service *service)
{
    if (!service || service->is_stopping)
        return;
    service->is_stopping = true;
    notify(service, "STOPPING=1");
}

void wp_service_fini(struct wp_service *service)
{
    wp_service_stopping(service);
    if (!service || !service->is_open)
        return;
    if (service->fd >= 0)
        close(service->fd);
    service->is_open = false;
}
