/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_reuse.h"

#include "common/clock.h"
#include "common/path.h"
#include "common/strings.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BOOT_BYTES 64u

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) /* FNV-1a */
        hash = (hash ^ at[i]) * 1099511628211u;
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return mix(hash, text ? text : "\1", text ? strlen(text) + 1 : 1);
}

/* Files that nobody has synced are whole until the machine is started again. */
static uint64_t mix_boot(uint64_t hash)
{
    struct wp_buffer boot = {0};
    wp_file_read("/proc/sys/kernel/random/boot_id", BOOT_BYTES, &boot, NULL);
    hash = mix(hash, boot.data, boot.size);
    wp_buffer_fini(&boot);
    return hash;
}

/* Of the program and all that was asked of it. Another build may write other pages: its file says which one it is, on
 * every machine that has the same package. */
uint64_t wp_site_reuse_key(const struct wp_site_options *options)
{
    struct stat st;
    uint64_t hash = 14695981039346656037u;
    if (!stat("/proc/self/exe", &st)) {
        hash = mix(hash, &st.st_size, sizeof(st.st_size));
        hash = mix(hash, &st.st_mtim, sizeof(st.st_mtim));
    }
    const struct wp_compare_options *compare = &options->compare;
    hash = mix_text(mix_text(hash, options->release), options->aggregate);
    hash = mix_text(hash, options->canary);
    hash = mix_text(mix_text(hash, options->order.git), options->order.against);
    for (size_t i = 0; i < options->source.map_count; i++)
        hash = mix_text(hash, options->source.maps[i]);
    hash = mix(hash, &options->source.map_count, sizeof(options->source.map_count));
    for (size_t i = 0; i < options->source.disk_count; i++)
        hash = mix_text(hash, options->source.disks[i]);
    hash = mix(hash, &options->source.no_disk, sizeof(options->source.no_disk));
    hash = mix_text(hash, options->selection.shard);
    hash = mix_text(hash, options->selection.hosts);
    hash = mix(hash, &options->selection.since_s, sizeof(options->selection.since_s));
    hash = mix(hash, &options->selection.until_s, sizeof(options->selection.until_s));
    hash = mix(hash, compare, sizeof(*compare)); /* plain numbers; padding may only cost a run */
    hash = mix(hash, &options->is_gzipped, sizeof(options->is_gzipped));
    hash = mix(hash, &options->has_own_pages, sizeof(options->has_own_pages));
    if (options->is_unsynced)
        hash = mix_boot(hash);
    hash = mix_text(hash, options->system_window);
    if (options->system_window && !stat(options->system_window, &st)) {
        hash = mix(hash, &st.st_mtim, sizeof(st.st_mtim));
        hash = mix(hash, &st.st_size, sizeof(st.st_size));
    }
    return mix(hash, &options->store_count, sizeof(options->store_count));
}

int wp_site_reuse_begin(struct wp_site_reuse *reuse, const struct wp_site_options *options,
    const struct wp_stores *stores, struct wp_site_tree *tree, struct wp_error *err)
{
    memset(reuse, 0, sizeof(*reuse));
    reuse->key = wp_site_reuse_key(options);
    reuse->began_ns = wp_clock_of_ns(CLOCK_REALTIME);
    reuse->stores = stores;
    wp_site_state_begin(&reuse->next, reuse->key);
    int rc = wp_site_state_read(&reuse->before, tree->out, reuse->key, err);
    size_t bytes = (reuse->before.count + 1) * sizeof(*reuse->inputs);
    reuse->inputs = rc ? NULL : wp_pool_alloc(&reuse->pool, bytes);
    if (reuse->inputs)
        memset(reuse->inputs, 0, bytes);
    bool is_past = reuse->before.began_ns <= reuse->began_ns; /* of a clock that was ahead no folder's time tells */
    tree->settled_ns = rc || !is_past ? 0 : wp_site_state_settled_ns(&reuse->before);
    return rc || reuse->inputs ? rc : wp_error_set(err, -ENOMEM, "out of memory for the state of the site");
}

void wp_site_reuse_end(struct wp_site_reuse *reuse)
{
    wp_site_state_fini(&reuse->before);
    wp_buffer_fini(&reuse->next);
    wp_pool_fini(&reuse->pool);
    memset(reuse, 0, sizeof(*reuse));
}

static const struct wp_state_row *same_row(struct wp_site_reuse *reuse, const char *release, const char **inputs)
{
    const struct wp_state_row *row = wp_site_state_find(&reuse->before, release);
    struct wp_reuse_inputs now = {0}, *known = row ? &reuse->inputs[row - reuse->before.rows] : &now;
    if (!known->inputs)
        known->inputs = wp_site_inputs(&reuse->pool, reuse->stores, release, &known->changed_ns);
    *inputs = known->inputs;
    return wp_site_state_is_same(&reuse->before, row, *inputs, known->changed_ns) ? row : NULL;
}

/* Folders, not releases: to know that one of them holds nothing it would have to be opened. Such a one is no reuse. */
static bool is_same_store(struct wp_site_reuse *reuse, struct wp_store *store, bool *seen)
{
    char **folders = NULL;
    const char *inputs;
    size_t count = 0;
    bool is_same = !wp_store_folders(store, &folders, &count, NULL);
    for (size_t i = 0; i < count && is_same; i++) {
        const struct wp_state_row *row = same_row(reuse, folders[i], &inputs);
        is_same = row != NULL;
        if (row)
            seen[row - reuse->before.rows] = true;
    }
    wp_strings_free(folders, count);
    return is_same;
}

bool wp_site_reuse_all(struct wp_site_reuse *reuse, const struct wp_site_options *options,
    const struct wp_site_tree *tree, struct wp_site_result *result)
{
    bool *seen = wp_pool_alloc(&reuse->pool, (reuse->before.count + 1) * sizeof(*seen));
    /* A repository may have grown; one release alone is asked for when a recording has just been added. */
    bool is_same = seen && reuse->before.count && !options->order.git && !options->release;
    for (size_t i = 0; i < reuse->stores->count && is_same; i++)
        is_same = is_same_store(reuse, reuse->stores->stores[i], seen);
    memset(result, 0, sizeof(*result));
    for (size_t i = 0; i < reuse->before.count && is_same; i++) {
        is_same = seen[i];
        result->aggregates += reuse->before.rows[i].aggregate_count;
        result->damaged += reuse->before.rows[i].damaged;
    }
    result->releases = reuse->before.count;
    return is_same && wp_tree_is_whole(tree, &result->kept);
}

const struct wp_state_row *wp_site_reuse_find(
    struct wp_site_reuse *reuse, const char *release, const char *baseline, const char *overlaps, const char **inputs)
{
    const char *other;
    const struct wp_state_row *row = same_row(reuse, release, inputs);
    if (!row || strcmp(row->overlaps, overlaps) || strcmp(row->baseline, baseline ? baseline : "") ||
        (baseline && !same_row(reuse, baseline, &other)))
        return NULL;
    return row;
}

bool wp_site_reuse_time(void *context, const char *release, uint64_t *first_ns, uint64_t *last_ns)
{
    const char *inputs;
    const struct wp_state_row *row = same_row(context, release, &inputs);
    if (row) {
        *first_ns = row->first_ns;
        *last_ns = row->last_ns;
    }
    return row != NULL;
}

void wp_site_reuse_put(struct wp_site_reuse *reuse, const struct wp_release_summary *release, const char *inputs,
    const struct wp_release_row *order)
{
    if (!release->is_damaged && !release->has_failed) /* it is tried again each time */
        wp_site_state_put(&reuse->next, release, inputs, order->first_ns, order->last_ns);
}

const struct wp_buffer *wp_site_reuse_state(struct wp_site_reuse *reuse)
{
    wp_site_state_finish(&reuse->next, reuse->key);
    return &reuse->next;
}

void wp_site_reuse_stamp(const struct wp_site_reuse *reuse, const char *out)
{
    char path[PATH_MAX];
    struct timespec began = {(time_t)(reuse->began_ns / WP_NS_PER_S), (long)(reuse->began_ns % WP_NS_PER_S)};
    const struct timespec times[2] = {began, began};
    if ((size_t)snprintf(path, sizeof(path), "%s/" WP_SITE_STATE, out) < sizeof(path))
        (void)!utimensat(AT_FDCWD, path, times, 0); /* without it the next run builds more than it must */
}
