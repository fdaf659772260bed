/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/merge_sessions.h"

#include "storage/env/txn_body.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/shard_store.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UUID_LENGTH 36u

struct shard_session { /* a session in a shard */
    char session[UUID_LENGTH + 1], shard[WP_ID_ROOM];
    bool is_imported;
};

struct shard_sessions {
    struct shard_session *rows;
    uint32_t count, room;
};

static int add(struct shard_sessions *all, const char *session, const char *shard, bool is_imported)
{
    if (wp_rows_grow(&all->rows, &all->room, all->count, sizeof(*all->rows)))
        return -ENOMEM;
    struct shard_session *row = &all->rows[all->count++];
    *row = (struct shard_session){.is_imported = is_imported};
    snprintf(row->session, sizeof(row->session), "%.*s", (int)UUID_LENGTH, session);
    snprintf(row->shard, sizeof(row->shard), "%s", shard);
    return 0;
}

/* "__state__/processed.<session>.<shard>" */
static int take_processed(void *context, const char *text, size_t size)
{
    static const char begin[] = "__state__/processed.";
    struct wp_key key;
    (void)size;
    return wp_key_parse(&key, text, NULL) ? 0 : add(context, text + sizeof(begin) - 1, key.shard, false);
}

/* "import.<session>.from"; that of a store that was imported has a shard in that place. */
static int take_note(void *context, const struct wp_metadata_row *row)
{
    const char *session = row->key + strlen("import.");
    if (strncmp(row->key, "import.", 7) || strlen(session) != UUID_LENGTH + 5 || strcmp(session + UUID_LENGTH, ".from"))
        return 0;
    return add(context, session, row->shard, true);
}

static int compare(const void *left, const void *right)
{
    return strcmp(((const struct shard_session *)left)->session, ((const struct shard_session *)right)->session);
}

static int gather(struct wp_txn *txn, struct shard_sessions *all, struct wp_error *err)
{
    const struct wp_metadata_scope scope = {NULL, false, 0};
    int rc = wp_txn_visit(txn, "__state__/processed.", take_processed, all, err);
    if (!rc)
        rc = wp_txn_all_metadata(txn, &scope, take_note, all, err);
    if (!rc && all->count)
        qsort(all->rows, all->count, sizeof(*all->rows), compare);
    return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the list of sessions") : rc;
}

static int check_pair(struct wp_txn *to, struct wp_txn *from, const struct shard_session *there,
    const struct shard_session *here, struct wp_error *err)
{
    uint8_t theirs[16], ours[16];
    if (wp_txn_shard_origin(to, there->shard, theirs, NULL) || wp_txn_shard_origin(from, here->shard, ours, NULL) ||
        !memcmp(theirs, ours, sizeof(ours)))
        return 0;
    return wp_error_set(err, -EEXIST,
        "session %s is in release '%s' of '%s' already, in shard '%s', and would be counted twice: one of "
        "the two was imported from its capture",
        here->session, to->env->release, to->store->root, there->shard);
}

/* One session of `from`, all its slots. */
static bool is_imported(const struct shard_sessions *all, uint32_t first)
{
    for (uint32_t i = first; i < all->count && !compare(&all->rows[i], &all->rows[first]); i++)
        if (all->rows[i].is_imported)
            return true;
    return false;
}

int wp_merge_sessions_check(struct wp_txn *to, struct wp_txn *from, struct wp_error *err)
{
    struct shard_sessions theirs = {0}, ours = {0};
    int rc = gather(to, &theirs, err);
    if (!rc)
        rc = gather(from, &ours, err);
    for (uint32_t i = 0, j = 0; !rc && i < theirs.count && j < ours.count;) {
        int order = compare(&theirs.rows[i], &ours.rows[j]);
        if (order) {
            order < 0 ? i++ : j++;
            continue;
        }
        uint32_t end = i;
        for (; !rc && end < theirs.count && !compare(&theirs.rows[end], &ours.rows[j]); end++)
            if (is_imported(&theirs, i) || is_imported(&ours, j))
                rc = check_pair(to, from, &theirs.rows[end], &ours.rows[j], err);
        j++; /* its next slot meets the same ones */
    }
    free(theirs.rows);
    free(ours.rows);
    return rc;
}
