/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_disks.h"

#include "reporter/display/humanize.h"
#include "reporter/causes/sync_calls.h"

#include <string.h>

#define LEAST_SYNCS 20u
#define NAME_BYTES 80u

static bool is_call(const struct wp_cause_case *of, const char *name)
{
    return of->call_size == strlen(name) && !strncmp(of->call, name, of->call_size);
}

/* A call of a large file sleeps many times: where calls are not known, that looks the same. */
static bool is_sync_each(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    if (of->cause->kind != WP_CAUSE_KIND_DISK || of->count < LEAST_SYNCS || !wp_sync_call_is(of->call, of->call_size))
        return false;
    pattern->sure = of->is_calls ? WP_SURETY_LIKELY : WP_SURETY_POSSIBLE;
    pattern->evidence = wp_pool_printf(pool, "%s %s `%.*s`, %s on average", wp_human_count(pool, of->count),
        of->is_calls ? "calls of" : "sleeps in", (int)of->call_size, of->call, wp_human_duration(pool, of->mean_ns));
    return true;
}

/* Pages that the kernel has given up for others of the same cgroup: more memory mends it, a second run does not. */
static bool is_read_again(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    struct wp_pool *pool = &of->facts->pool;
    uint64_t ns;
    const char *group = wp_cause_read_again(of->causes, of->facts, of->row, &ns);
    if (!group || ns < of->cause->ns / 2)
        return false;
    pattern->sure = WP_SURETY_CERTAIN;
    pattern->evidence =
        wp_pool_printf(pool, "memory is short (limit of %s), and for %s pages are read that had been in memory before",
            wp_pool_clip(pool, group, NAME_BYTES), wp_human_duration(pool, ns));
    return true;
}

/* Pages of the program and its libraries, which a second run finds in memory. */
static bool is_cold_start(const struct wp_cause_case *of, struct wp_pattern *pattern)
{
    const char *what = of->call + of->call_size;
    bool is_library = strstr(what, ".so") || strstr(what, ".pyc") || strstr(what, ".jar") || strstr(what, ".class");
    if (of->cause->kind != WP_CAUSE_KIND_DISK || (!is_call(of, "fault") && !is_call(of, "execve") && !is_library))
        return false;
    pattern->sure = WP_SURETY_LIKELY;
    pattern->evidence = is_library ? "it reads libraries that were not in memory"
        : is_call(of, "execve")    ? "the program that it starts was not in memory"
                                   : "pages that it touches were not in memory";
    return true;
}

const struct wp_pattern_rule wp_pattern_disks[] = {
    {"fsync_per_item", "fsync for each item", is_sync_each},
    {"read_again", "Pages read again", is_read_again},
    {"cold_start", "Cold start", is_cold_start},
    {NULL, NULL, NULL},
};
