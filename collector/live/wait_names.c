/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/live/wait_names.h"

#include "collector/bpf/ring_record.h"
#include "collector/live/file_paths.h"
#include "common/lock_call.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <linux/magic.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define PIPE_MAGIC                                                                                                     \
    0x50495045u /* PIPEFS_MAGIC, PID_FS_MAGIC of include/uapi/linux/magic.h, which older headers do not have */
#define PIDFD_MAGIC 0x50494446u

/* Documentation/admin-guide/devices.txt of Linux: consoles, serial lines, both ends of pseudo terminals. */
static int is_terminal(uint32_t device)
{
    unsigned major = device >> 20;
    return major == 4 || major == 5 || (major >= 128 && major <= 143) || major == 2 || major == 3 || major == 229;
}

/* "[eventfd]", "inotify": as the kernel calls it. */
static void kind_name(const struct wp_record_path *record, char *name, size_t room)
{
    const char *kind = record->count ? record->names[0] : "";
    size_t size = record->count ? strnlen(kind, WP_RECORD_NAME - 1) : 0;
    if (size > 2 && *kind == '[' && kind[size - 1] == ']') {
        kind++;
        size -= 2;
    }
    snprintf(name, room, "%.*s", (int)size, size ? kind : "anonymous");
}

void wp_wait_name_file(
    const struct wp_record_path *record, uint32_t mode, uint64_t magic, const char *path, char *name, size_t room)
{
    if (magic == PIPE_MAGIC)
        snprintf(name, room, "pipe");
    else if (magic == PIDFD_MAGIC)
        snprintf(name, room, "pidfd");
    else if (magic == ANON_INODE_FS_MAGIC)
        kind_name(record, name, room);
    else if (S_ISFIFO(mode))
        snprintf(name, room, "pipe %s", path);
    else if (S_ISCHR(mode) && is_terminal(record->special))
        snprintf(name, room, "tty");
    else
        snprintf(name, room, "%s", path);
}

static void inet_name(const struct wp_record_wait *r, char *name, size_t room)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct wp_record_socket *s = &r->socket;
    char text[INET6_ADDRSTRLEN] = "?", other[16];
    snprintf(other, sizeof(other), "ip%u", s->protocol);
    const char *protocol = s->protocol == IPPROTO_UDP                  ? "udp"
        : s->protocol == IPPROTO_TCP                                   ? "tcp"
        : s->protocol == IPPROTO_ICMP || s->protocol == IPPROTO_ICMPV6 ? "icmp"
        : s->protocol == IPPROTO_SCTP                                  ? "sctp"
                                                                       : other;
    if (!s->remote_port) {
        snprintf(name, room, s->local_port ? "%s :%u" : "%s", protocol, s->local_port);
        return;
    }
    if (s->family == AF_INET || !memcmp(s->remote, mapped, sizeof(mapped)))
        inet_ntop(AF_INET, s->family == AF_INET ? s->remote : s->remote + 12, text, sizeof(text));
    else
        inet_ntop(AF_INET6, s->remote, text, sizeof(text));
    snprintf(name, room, strchr(text, ':') ? "%s [%s]:%u" : "%s %s:%u", protocol, text, s->remote_port);
}

/* Abstract names begin with a NUL and are written with an "@", as in /proc/net/unix. Those that the kernel made up are
 * numbers. */
static void unix_name(const struct wp_record_wait *r, char *name, size_t room)
{
    char path[sizeof(r->path) + 1];
    memcpy(path, r->path, sizeof(r->path));
    path[sizeof(r->path)] = 0;
    if (!path[0] && path[1] && strspn(path + 1, "0123456789abcdef") != strlen(path + 1))
        path[0] = '@';
    for (char *at = path; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    wp_file_path_generalize(path);
    snprintf(name, room, *path ? "unix %s" : "unix", path);
}

void wp_wait_name_socket(const struct wp_record_wait *r, char *name, size_t room)
{
    switch (r->socket.family) {
    case AF_INET:
    case AF_INET6:
        inet_name(r, name, room);
        break;
    case AF_UNIX:
        unix_name(r, name, room);
        break;
    case AF_NETLINK:
        snprintf(name, room, "netlink");
        break;
    case AF_PACKET:
        snprintf(name, room, "packet socket");
        break;
    case AF_VSOCK:
        snprintf(name, room, "vsock");
        break;
    default:
        snprintf(name, room, "socket of family %u", r->socket.family);
    }
}

void wp_wait_name_kernel_lock(const struct wp_record_wait *r, char *name, size_t room)
{
    static const char *const kinds[] = {[WP_LOCK_MUTEX] = "mutex",
        [WP_LOCK_RWSEM] = "rwsem",
        [WP_LOCK_MMAP] = "mmap_lock",
        [WP_LOCK_INODE] = "inode",
        [WP_LOCK_PERCPU] = "percpu rwsem",
        [WP_LOCK_RT] = "rtmutex",
        [WP_LOCK_SEMAPHORE] = "semaphore"};
    bool is_known = r->type < sizeof(kinds) / sizeof(kinds[0]) && kinds[r->type];
    bool has_mode = r->type >= WP_LOCK_RWSEM && r->type <= WP_LOCK_PERCPU;
    char path[sizeof(r->path) + 1];
    memcpy(path, r->path, sizeof(r->path));
    path[sizeof(r->path)] = 0;
    for (char *at = path; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
    wp_file_path_generalize(path);
    snprintf(name, room, WP_KERNEL_LOCK "%s%s%s%s)", is_known ? kinds[r->type] : "?", *path ? " " : "", path,
        !has_mode          ? ""
            : r->is_shared ? ", read"
                           : ", write");
}

/* "/a/b/c" of the names c, b and a, which are so many bytes with their NULs. */
static void join_names(const char *names, size_t size, char *text, size_t room)
{
    size_t used = 0;
    for (size_t end = size; end && used < room;) {
        size_t start = end - 1; /* its NUL */
        while (start && names[start - 1])
            start--;
        used += (size_t)snprintf(text + used, room - used, "/%.*s", (int)(end - start), names + start);
        end = start;
    }
}

void wp_wait_name_group(const struct wp_record_group *r, char *name, size_t room)
{
    size_t size = r->size < sizeof(r->names) ? r->size : sizeof(r->names);
    size_t used = (size_t)snprintf(name, room, "%s", r->is_cut ? "/..." : "");
    if (used < room)
        join_names(r->names, size, name + used, room - used);
    for (char *at = name; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
}

void wp_wait_name_interrupt(const struct wp_record_wait *r, char *name, size_t room)
{
    static const char *const vectors[] = {/* include/linux/interrupt.h */
        "hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"};
    bool is_soft = r->type == WP_WAIT_SOFT_INTERRUPT;
    if (is_soft && r->address < sizeof(vectors) / sizeof(vectors[0]))
        snprintf(name, room, "%s", vectors[r->address]);
    else if (is_soft || !r->path[0])
        snprintf(name, room, "%llu", (unsigned long long)r->address);
    else
        snprintf(name, room, "%.*s", (int)sizeof(r->path), r->path);
    for (char *at = name; *at; at++)
        if (iscntrl((unsigned char)*at))
            *at = '?';
}
