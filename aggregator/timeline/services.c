/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/services.h"

#include "common/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool ends_with(const char *text, size_t size, const char *end)
{
    size_t length = strlen(end);
    return size >= length && !memcmp(text + size - length, end, length);
}

/* The last part of the path that is a unit, else its last part; false for the root and for what user sessions leave
 * behind. */
static bool from_cgroup(const char *cgroup, char *name, size_t room)
{
    const char *best = NULL, *last = NULL;
    size_t best_size = 0, last_size = 0;
    for (const char *part = strchr(cgroup, '/'); part; part = strchr(part + 1, '/')) {
        size_t size = strcspn(part + 1, "/");
        if (!size)
            continue;
        last = part + 1;
        last_size = size;
        if (ends_with(last, size, ".service") || ends_with(last, size, ".scope")) {
            best = last;
            best_size = size;
        }
    }
    if (!best) {
        best = last;
        best_size = last_size;
    }
    if (!best || ends_with(best, best_size, ".slice"))
        return false;
    char text[256];
    snprintf(text, sizeof(text), "%.*s", (int)(best_size < 255 ? best_size : 255), best);
    wp_id_from(text, name, room);
    return true;
}

/* All pods of a namespace that run a container of one name are one service. */
static bool from_workload(const char *workload, char *name, size_t room)
{
    const char *pod = strchr(workload, '/'), *container = pod ? strchr(pod + 1, '/') : NULL;
    char text[512];
    if (!*workload || (container && !container[1]))
        return false;
    if (container && pod == workload) /* Podman's pods are in no namespace */
        snprintf(text, sizeof(text), "%.253s", container + 1);
    else if (container)
        snprintf(text, sizeof(text), "%.*s-%.253s", (int)(pod - workload < 253 ? pod - workload : 253), workload,
            container + 1);
    else
        snprintf(text, sizeof(text), "%.253s", workload);
    wp_id_from(text, name, room);
    return true;
}

bool wp_service_name(const struct wp_timeline *timeline, uint32_t index, char *name, size_t room)
{
    const struct wp_identity *identity = &timeline->identities[index];
    const struct wp_thread_entry *entry = wp_dictionary_thread(timeline->dictionary, identity->entry);
    if (!entry || entry->flags & (WP_THREAD_KERNEL | WP_THREAD_SELF | WP_THREAD_IDLE))
        return false;
    if (from_workload(wp_dictionary_string(timeline->dictionary, entry->workload), name, room))
        return true;
    if (from_cgroup(wp_dictionary_string(timeline->dictionary, entry->cgroup), name, room))
        return true;
    const char *comm = wp_dictionary_string(timeline->dictionary, timeline->processes[identity->process].comm);
    if (!*comm)
        return false;
    wp_id_from(comm, name, room);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct wp_host_service *)a)->name, ((const struct wp_host_service *)b)->name);
}

static int compare_busy(const void *a, const void *b)
{
    const struct wp_host_service *x = a, *y = b;
    if (x->running_ns != y->running_ns)
        return x->running_ns > y->running_ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

uint32_t wp_services_busiest(const struct wp_timeline *timeline, uint32_t limit, struct wp_host_service **services)
{
    struct wp_host_service *rows = calloc(timeline->identity_count + 1, sizeof(*rows));
    uint8_t *is_counted = calloc(timeline->process_count + 1, 1);
    uint32_t count = 0, merged = 0;
    *services = rows;
    if (!rows || !is_counted) {
        free(is_counted);
        return 0;
    }
    for (uint32_t i = 1; i < timeline->identity_count; i++) {
        if (!wp_service_name(timeline, i, rows[count].name, sizeof(rows[count].name)))
            continue;
        uint32_t process = timeline->identities[i].process;
        rows[count].running_ns = is_counted[process] ? 0 : timeline->processes[process].running_ns;
        is_counted[process] = 1;
        count++;
    }
    free(is_counted);
    qsort(rows, count, sizeof(*rows), compare_names);
    for (uint32_t i = 0; i < count; i++) {
        if (merged && !strcmp(rows[merged - 1].name, rows[i].name))
            rows[merged - 1].running_ns += rows[i].running_ns;
        else
            rows[merged++] = rows[i];
    }
    qsort(rows, merged, sizeof(*rows), compare_busy);
    while (merged && !rows[merged - 1].running_ns)
        merged--;
    return merged < limit ? merged : limit;
}
