/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/names.h"

#include "common/syscall_table.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define EPHEMERAL 32768u /* net.ipv4.ip_local_port_range begins there, if nobody changed it */

void wp_name_process(const struct wp_timeline *timeline, uint32_t identity, char *name, size_t room)
{
    const char *comm = wp_timeline_comm(timeline, identity);
    snprintf(name, room, "[%s]", *comm ? comm : identity ? "?" : "idle");
}

/* Bytes of a name before the last of the marks that compilers put behind the copies of a function that they make. */
static size_t before_mark(const char *name, size_t size)
{
    static const char *const marks[] = {"constprop", "isra", "part", "cold", "lto_priv", "llvm", "localalias", "clone"};
    size_t end = size;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    end = end < size && end && name[end - 1] == '.' ? end - 1 : size;
    for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
        size_t mark = strlen(marks[i]);
        if (end == size && strcmp(marks[i], "cold") && strcmp(marks[i], "localalias"))
            continue; /* only these two stand without a number */
        if (end > mark + 1 && name[end - mark - 1] == '.' && !memcmp(name + end - mark, marks[i], mark))
            return end - mark - 1;
    }
    return size;
}

/* "compute.constprop.0.isra.0" as "compute". */
static void put_function(const char *function, char *name, size_t room)
{
    size_t size = strlen(function), shorter = before_mark(function, size);
    for (; shorter < size; shorter = before_mark(function, size))
        size = shorter;
    snprintf(name, room, "%.*s", (int)size, function);
}

enum wp_frame_style wp_name_frame(
    const struct wp_dictionary *dictionary, uint32_t id, char *name, size_t room, const char **object)
{
    const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, id);
    *object = "";
    if (!frame) {
        snprintf(name, room, "[unknown]");
        return WP_STYLE_USER;
    }
    const struct wp_object_entry *file = wp_dictionary_object(dictionary, frame->object);
    if (file)
        *object = wp_dictionary_string(dictionary, file->path);
    const char *function = wp_dictionary_string(dictionary, frame->function);
    if (*function) {
        put_function(function, name, room);
    } else {
        const char *slash = strrchr(*object, '/');
        const char *base = slash ? slash + 1 : *object;
        if (*base == '[')
            snprintf(name, room, "%s", base);
        else
            snprintf(name, room, "[%s]", *base ? base : "unknown");
    }
    return frame->is_kernel ? WP_STYLE_KERNEL : WP_STYLE_USER;
}

void wp_name_sleep(const struct wp_slice *slice, bool is_kernel, const char *wait, char *name, size_t room)
{
    if (slice->state == WP_STATE_STOPPED || slice->state == WP_STATE_TRACED) {
        snprintf(name, room, slice->state == WP_STATE_STOPPED ? "sleep:stopped" : "sleep:traced");
        return;
    }
    if (!slice->syscall) {
        snprintf(name, room, is_kernel ? "sleep:kernel" : *wait ? "sleep:fault %s" : "sleep:fault", wait);
        return;
    }
    const char *syscall = wp_syscall_name(slice->syscall - 1u);
    if (syscall)
        snprintf(name, room, *wait ? "sleep:%s %s" : "sleep:%s", syscall, wait);
    else
        snprintf(name, room, *wait ? "sleep:syscall %u %s" : "sleep:syscall %u", slice->syscall - 1u, wait);
}

#define MEMORY_FRAMES 32u /* of a stack, the innermost ones */

/* By functions of Linux 5.18 to 6.18, which may be followed by a compiler's marks; of memory but for the last one. */
static const char *memory_kind(const char *function, bool is_fault)
{
    static const struct {
        const char *function, *kind;
        bool is_fault; /* says something of a sleep in no call only */
    } rows[] = {{"mem_cgroup_handle_over_high", "memory.high", false},
        {"__mem_cgroup_handle_over_high", "memory.high", false},
        {"try_to_free_mem_cgroup_pages", "reclaim of its cgroup", false},
        {"balance_dirty_pages", "writeback throttling", false},
        {"balance_dirty_pages_ratelimited", "writeback throttling", false},
        {"balance_dirty_pages_ratelimited_flags", "writeback throttling", false},
        {"try_to_free_pages", "direct reclaim", false}, {"__alloc_pages_direct_compact", "compaction", false},
        {"handle_userfault", "userfaultfd", true}, {"do_swap_page", "swap", true}, {"do_numa_page", "NUMA", true},
        {"migrate_misplaced_page", "NUMA", true}, {"migrate_misplaced_folio", "NUMA", true},
        {"migration_entry_wait", "page migration", false}, {"migration_entry_wait_on_locked", "page migration", false},
        {"do_wp_page", "copy on write", true}, {"do_cow_fault", "copy on write", true},
        {"do_anonymous_page", "new page", true}, {"shmem_fault", "shared memory", true},
        {"filemap_fault", "file", true}, {"__break_lease", "lease", false}};
    size_t size = strcspn(function, ".");
    for (size_t i = 0; size && i < sizeof(rows) / sizeof(rows[0]); i++)
        if ((is_fault || !rows[i].is_fault) && !strncmp(rows[i].function, function, size) && !rows[i].function[size])
            return rows[i].kind;
    return NULL;
}

const char *wp_name_memory(const struct wp_dictionary *dictionary, const struct wp_slice *slice)
{
    uint32_t at = slice->stack;
    for (unsigned i = 0; at && i < MEMORY_FRAMES; i++) {
        const struct wp_stack_entry *entry = wp_dictionary_stack(dictionary, at);
        const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(dictionary, entry->frame) : NULL;
        if (!frame || !frame->is_kernel)
            break;
        const char *kind = memory_kind(wp_dictionary_string(dictionary, frame->function), !slice->syscall);
        if (kind)
            return kind;
        at = entry->parent;
    }
    return "";
}

void wp_name_io(const struct wp_dictionary *dictionary, const struct wp_blockop *op, char *name, size_t room)
{
    const char *kind = op->flags & WP_BLOCK_FLUSH ? "flush"
        : op->flags & WP_BLOCK_DISCARD            ? "discard"
        : op->flags & WP_BLOCK_WRITE              ? "write"
                                                  : "read";
    const char *device = wp_dictionary_device(dictionary, op->device);
    const char *file = op->file ? wp_dictionary_string(dictionary, op->file) : "";
    char number[32];
    snprintf(number, sizeof(number), "%u:%u", op->device >> 20, op->device & 0xfffff);
    snprintf(name, room, "io:%s %s%s%s", device && *device ? device : number, kind, *file ? " " : "", file);
}

/* The other end's port was given to it by its kernel, and ours was not. */
static bool is_ephemeral(const struct wp_socket_entry *entry, enum wp_opener opener)
{
    if (opener != WP_OPENER_UNKNOWN)
        return opener == WP_OPENER_THERE;
    return entry->remote_port >= EPHEMERAL && entry->local_port < entry->remote_port;
}

void wp_name_socket(const struct wp_socket_entry *entry, enum wp_opener opener, char *name, size_t room)
{
    const char *protocol = entry && entry->protocol == IPPROTO_UDP ? "udp" : "tcp";
    if (!entry || !entry->remote_port) {
        if (entry && entry->local_port)
            snprintf(name, room, "%s:*:%u", protocol, entry->local_port);
        else
            snprintf(name, room, "%s:unknown", protocol);
        return;
    }
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    char address[INET6_ADDRSTRLEN] = "?";
    if (entry->family == AF_INET)
        inet_ntop(AF_INET, entry->remote, address, sizeof(address));
    else if (!memcmp(entry->remote, mapped, sizeof(mapped)))
        inet_ntop(AF_INET, entry->remote + 12, address, sizeof(address));
    else
        inet_ntop(AF_INET6, entry->remote, address, sizeof(address));
    char port[8] = "*"; /* of a client that comes and goes: each connection has another one, and they are one peer */
    if (!is_ephemeral(entry, opener))
        snprintf(port, sizeof(port), "%u", entry->remote_port);
    snprintf(name, room, strchr(address, ':') ? "%s:[%s]:%s" : "%s:%s:%s", protocol, address, port);
}
