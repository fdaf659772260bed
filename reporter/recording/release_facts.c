/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/release_facts.h"

#include "common/strings.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <string.h>

#define BUCKET_ROWS 512u

/* Of one bucket: each parameter in which another one of its name differs. */
static void add_differences(
    struct wp_release_facts *release, const struct wp_metadata *all, char *const *names, size_t count, size_t at)
{
    const struct wp_metadata *own = &all[at];
    size_t size = wp_bucket_base(names[at]);
    for (size_t i = wp_metadata_find(own, "bucket."); i < own->count && !strncmp(own->rows[i].key, "bucket.", 7); i++) {
        bool differs = false;
        if (i && !strcmp(own->rows[i - 1].key, own->rows[i].key))
            continue; /* overruled */
        for (size_t j = 0; j < count; j++) {
            const char *other = wp_metadata_text(&all[j], own->rows[i].key);
            if (wp_bucket_base(names[j]) == size && !strncmp(names[j], names[at], size))
                differs |= !other || strcmp(other, own->rows[i].value);
        }
        if (differs && release->bucket_count < BUCKET_ROWS)
            release->buckets[release->bucket_count++] = (struct wp_bucket_row){
                wp_pool_text(&release->pool, names[at]), own->rows[i].key + 7, own->rows[i].value};
    }
}

static int read_buckets(struct wp_release_facts *release, const struct wp_snapshot *snapshot, struct wp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_snapshot_buckets(snapshot, &names, &count, err);
    struct wp_metadata *all = rc ? NULL : wp_pool_alloc(&release->pool, (count + 1) * sizeof(*all));
    release->buckets = rc ? NULL : wp_pool_alloc(&release->pool, BUCKET_ROWS * sizeof(*release->buckets));
    if (!rc && (!all || !release->buckets))
        rc = wp_error_set(err, -ENOMEM, "out of memory for buckets");
    for (size_t i = 0; !rc && i < count; i++) {
        bool is_alone = wp_bucket_is_alone(names, count, names[i]);
        rc = is_alone ? 0 : wp_metadata_read(&all[i], &release->pool, snapshot, names[i], err);
        rc = rc == -EBADMSG ? 0 : rc; /* its own page says that it is damaged */
    }
    for (size_t i = 0; !rc && i < count; i++)
        add_differences(release, all, names, count, i);
    wp_strings_free(names, count);
    return rc;
}

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
    struct wp_recordings recordings = {0};
    if (!rc)
        rc = wp_snapshot_recordings(snapshot, NULL, &recordings, err);
    release->sessions = recordings.sessions;
    if (!rc)
        rc = read_buckets(release, snapshot, err);
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
