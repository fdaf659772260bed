/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/release_facts.h"

#include <errno.h>
#include <string.h>

int wp_release_facts_read(struct wp_release_facts *release, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    struct wp_error reason = {0};
    memset(release, 0, sizeof(*release));
    int rc = wp_metadata_read(&release->metadata, &release->pool, snapshot, NULL, &reason);
    if (rc == -EBADMSG) { /* a damaged value is said, not fatal */
        release->damage = wp_pool_text(&release->pool, reason.text);
        rc = 0;
    } else if (rc) {
        wp_error_set(err, rc, "%s", reason.text);
    }
    if (!rc)
        rc = wp_snapshot_shards(snapshot, &release->shards, &release->shard_count, err);
    if (!rc)
        rc = wp_snapshot_recordings(snapshot, &release->recordings, err);
    if (rc)
        wp_release_facts_fini(release);
    return rc;
}

void wp_release_facts_fini(struct wp_release_facts *release)
{
    wp_strings_free(release->shards, release->shard_count);
    wp_pool_fini(&release->pool);
    memset(release, 0, sizeof(*release));
}
