/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/sync_calls.h"

#include "common/intmap.h"
#include "reporter/evidence/cause_lock.h"

#include <stdlib.h>
#include <string.h>

bool wp_sync_call_is(const char *call, size_t size)
{
    static const char *const calls[] = {"fsync", "fdatasync", "msync", "sync_file_range"};
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (size == strlen(calls[i]) && !strncmp(call, calls[i], size))
            return true;
    return false;
}

/* Functions of the kernel that wait for one page, extent or buffer of the file after the other (mm/filemap.c,
 * mm/page-writeback.c, fs/buffer.c, fs/btrfs/ordered-data.c). A flush and the commit of a journal are no such. */
static bool is_loop(const char *function)
{
    static const char *const parts[] = {
        "filemap_fdata", "write_and_wait_range", "do_writepages", "fsync_buffers_list", "_ordered_"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (strstr(function, parts[i]))
            return true;
    return false;
}

/* Which wait of the call it is, by the kernel's functions around it; 0: not known, or one of a loop. */
static uint64_t wait_of(const struct wp_facts *facts, uint32_t sleep)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint64_t wait = 0;
    for (uint32_t at = nodes[sleep].parent; at && wp_facts_frame_style(facts, nodes[at].frame) == WP_STYLE_KERNEL;
         at = nodes[at].parent) {
        if (is_loop(wp_facts_frame_name(facts, nodes[at].frame)))
            return 0;
        wait = (wait ^ nodes[at].frame) * 0x9e3779b97f4a7c15u + 1;
    }
    return wait;
}

/* By node: the sleeps of that call which the cause is about. */
static bool *sleeps_of(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    bool *is_its = calloc(flame->count + 1u, sizeof(*is_its));
    const char *call, *other;
    size_t size = wp_cause_call(facts, causes->rows[row].sleep, &call);
    for (uint32_t i = 0; is_its && i < flame->cell_count; i++) {
        uint32_t sleep = causes->cell_cause[i] == row + 1 ? causes->cell_sleep[i] : 0;
        if (sleep && wp_cause_call(facts, sleep, &other) == size && !strncmp(call, other, size))
            is_its[sleep] = true;
    }
    return is_its;
}

uint64_t wp_sync_calls(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row)
{
    const struct wp_flame *flame = &facts->flame;
    bool *is_its = sleeps_of(causes, facts, row);
    uint64_t *sums = calloc(flame->cell_count + 1u, sizeof(*sums)), most = 0;
    struct wp_intmap index = {0};
    uint32_t count = 0, at;
    facts->pool.failed |= !is_its || !sums;
    for (uint32_t i = 0; i < flame->cell_count && !facts->pool.failed; i++) {
        uint32_t sleep =
            flame->cells[i].category == WP_SCHEDULER ? wp_facts_below_scheduler(facts, flame->cells[i].node) : 0;
        uint64_t wait = sleep && is_its[sleep] ? wait_of(facts, sleep) : 0;
        if (!wait)
            continue;
        if (!wp_intmap_get(&index, (struct wp_intkey){wait, 0}, &at))
            facts->pool.failed |= wp_intmap_put(&index, (struct wp_intkey){wait, 0}, at = count++) != 0;
        sums[at] += flame->cells[i].count;
        most = sums[at] > most ? sums[at] : most;
    }
    wp_intmap_fini(&index);
    free(sums);
    free(is_its);
    return most;
}
