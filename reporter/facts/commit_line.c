/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/commit_line.h"

#include <string.h>

void wp_commit_from_metadata(struct wp_commit *commit, const struct wp_metadata *metadata)
{
    *commit = (struct wp_commit){0};
    for (unsigned i = 0; i < WP_COMMIT_TEXTS; i++) {
        size_t room;
        char *to = wp_commit_text_at(commit, i, &room);
        const char *text = wp_metadata_text(metadata, wp_commit_keys[i]);
        wp_commit_put_text(to, room, text ? text : "", text ? strlen(text) : 0);
    }
}

const char *wp_commit_line(struct wp_pool *pool, const struct wp_commit *commit)
{
    if (!*commit->id)
        return "";
    return wp_pool_printf(pool, "%.*s “%s”%s%s%s%s%s%s", WP_COMMIT_SHOWN, commit->id, commit->subject,
        *commit->author ? " by " : "", commit->author, *commit->date ? ", " : "", commit->date,
        *commit->branch ? ", on " : "", commit->branch);
}
