/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/memory_shares.h"

#include "common/array.h"

#include <stdlib.h>
#include <string.h>

#define MOST 65536u            /* rows; of more the oldest go */
#define ONE_LIST_NS 200000000u /* a list of all processes takes less, and the next one comes later */

void wp_memory_shares_fini(struct wp_memory_shares *shares)
{
    free(shares->rows);
    *shares = (struct wp_memory_shares){0};
}

static void drop_oldest(struct wp_memory_shares *shares, uint32_t count)
{
    memmove(shares->rows, shares->rows + count, (shares->count - count) * sizeof(*shares->rows));
    shares->count -= count;
}

void wp_memory_shares_add(
    struct wp_memory_shares *shares, const struct wp_event *event, uint32_t thread, uint32_t process)
{
    if (!event->wait || !process)
        return;
    if (shares->count == MOST)
        drop_oldest(shares, MOST / 4);
    if (WP_ARRAY_FIT(shares->rows, shares->room, shares->count + 1))
        return;
    shares->rows[shares->count++] = (struct wp_memory_share){event->time_ns, event->a, thread, process, event->wait};
}

uint32_t wp_memory_shares_most(const struct wp_memory_shares *shares, uint32_t cgroup, uint64_t until_ns)
{
    uint32_t at = WP_LOWER_BOUND(middle, 0, shares->count, shares->rows[middle].time_ns < until_ns);
    uint64_t newest_ns = 0, all = 0, most = 0;
    uint32_t process = 0;
    while (at-- && (!newest_ns || newest_ns - shares->rows[at].time_ns < ONE_LIST_NS)) {
        const struct wp_memory_share *row = &shares->rows[at];
        if (row->cgroup != cgroup)
            continue;
        newest_ns = newest_ns ? newest_ns : row->time_ns;
        all += row->bytes;
        process = row->bytes > most ? row->process : process;
        most = row->bytes > most ? row->bytes : most;
    }
    return 2 * most > all ? process : 0;
}

void wp_memory_shares_forget(struct wp_memory_shares *shares, uint64_t before_ns)
{
    uint32_t old = WP_LOWER_BOUND(middle, 0, shares->count, shares->rows[middle].time_ns < before_ns);
    if (old)
        drop_oldest(shares, old);
}
