/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/lag.h"

#include <string.h>

static void forget(struct wp_lag *lag, uint64_t acked)
{
    uint32_t gone = 0;
    while (gone < lag->count && lag->marks[gone].seq <= acked)
        gone++;
    lag->count -= gone;
    memmove(lag->marks, lag->marks + gone, lag->count * sizeof(lag->marks[0]));
}

/* Every second one goes, but not the oldest: it is the lag. */
static void thin(struct wp_lag *lag)
{
    uint32_t kept = 1;
    for (uint32_t i = 2; i < lag->count; i += 2)
        lag->marks[kept++] = lag->marks[i];
    lag->count = kept;
    lag->apart_ns = lag->apart_ns ? lag->apart_ns * 2 : (lag->marks[kept - 1].at_ns - lag->marks[0].at_ns) / (kept - 1);
}

uint64_t wp_lag_look(struct wp_lag *lag, uint64_t last_seq, uint64_t acked, uint64_t now_ns)
{
    forget(lag, acked);
    uint64_t known = lag->count ? lag->marks[lag->count - 1].seq : acked;
    if (!lag->count)
        lag->apart_ns = 0;
    if (lag->count == WP_LAG_MARKS)
        thin(lag);
    if (last_seq > known && (!lag->count || now_ns - lag->marks[lag->count - 1].at_ns >= lag->apart_ns))
        lag->marks[lag->count++] = (struct wp_lag_mark){last_seq, now_ns};
    return lag->count ? now_ns - lag->marks[0].at_ns : 0;
}
