/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/unsampled.h"

#include "reporter/display/humanize.h"

#include <string.h>

#define NAME_BYTES 200 /* of a host, as the aggregator writes it (commit_metadata.c) */
#define NONE "none: "

void wp_unsampled_build(struct wp_facts *facts)
{
    struct wp_pool *pool = &facts->pool;
    facts->unsampled = wp_pool_alloc(pool, (facts->host_count + 1) * sizeof(*facts->unsampled));
    facts->unsampled_count = 0;
    for (size_t i = 0; facts->unsampled && i < facts->host_count; i++) {
        const char *key = wp_pool_printf(pool, "host.%.*s.samples", NAME_BYTES, facts->hosts[i]);
        const char *said = wp_metadata_text(&facts->release_metadata, key);
        if (said && !strncmp(said, NONE, strlen(NONE)))
            facts->unsampled[facts->unsampled_count++] =
                (struct wp_unsampled_host){facts->hosts[i], said + strlen(NONE)};
    }
}

const char *wp_unsampled_sentence(struct wp_pool *pool, const struct wp_facts *facts)
{
    size_t count = facts->unsampled_count;
    if (!count)
        return NULL;
    const char *others =
        count == 1 ? "" : wp_pool_printf(pool, " and %s", wp_human_many(pool, count - 1, "other host"));
    return wp_pool_printf(pool,
        "No CPU samples were taken on %s%s (%s): all time is accounted for, but which functions ran there is not "
        "known. \"wakepath doctor\" on that host says what to do.",
        wp_pool_clip(pool, facts->unsampled->host, 60), others, wp_pool_clip(pool, facts->unsampled->why, 120));
}
