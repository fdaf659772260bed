/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/commit_store.h"

#include "common/utf8.h"
#include "storage/kind/metadata_store.h"

#include <stddef.h>
#include <string.h>

const char *const wp_commit_keys[WP_COMMIT_TEXTS] = {WP_COMMIT_PREFIX "id", WP_COMMIT_PREFIX "subject",
    WP_COMMIT_PREFIX "author", WP_COMMIT_PREFIX "date", WP_COMMIT_PREFIX "branch"};

char *wp_commit_text_at(struct wp_commit *commit, unsigned key, size_t *room)
{
    static const struct {
        size_t offset, room;
    } texts[WP_COMMIT_TEXTS] = {{offsetof(struct wp_commit, id), sizeof(((struct wp_commit *)0)->id)},
        {offsetof(struct wp_commit, subject), sizeof(((struct wp_commit *)0)->subject)},
        {offsetof(struct wp_commit, author), sizeof(((struct wp_commit *)0)->author)},
        {offsetof(struct wp_commit, date), sizeof(((struct wp_commit *)0)->date)},
        {offsetof(struct wp_commit, branch), sizeof(((struct wp_commit *)0)->branch)}};
    *room = texts[key].room;
    return (char *)commit + texts[key].offset;
}

void wp_commit_put_text(char *to, size_t room, const char *from, size_t size)
{
    size_t used = 0;
    for (size_t at = 0; at < size && from[at];) {
        uint32_t c;
        size_t bytes = wp_utf8_decode(from + at, size - at, &c);
        bool is_shown = bytes && !wp_utf8_is_control(c);
        size_t wanted = is_shown ? bytes : 1;
        if (used + wanted >= room)
            break;
        if (is_shown)
            memcpy(to + used, from + at, bytes);
        else
            to[used] = bytes ? ' ' : '?';
        used += wanted;
        at += bytes ? bytes : 1;
    }
    to[used] = 0;
}

static int take_row(void *context, const struct wp_metadata_row *row)
{
    struct wp_commit *commit = context;
    for (unsigned i = 0; row->is_winner && i < WP_COMMIT_TEXTS; i++)
        if (!strcmp(row->key, wp_commit_keys[i])) {
            size_t room;
            char *to = wp_commit_text_at(commit, i, &room);
            wp_commit_put_text(to, room, row->value, strlen(row->value));
        }
    return 0;
}

int wp_txn_commit_of(struct wp_txn *txn, struct wp_commit *commit, struct wp_error *err)
{
    struct wp_metadata_scope scope = {.aggregate = NULL};
    *commit = (struct wp_commit){0};
    return wp_txn_all_metadata(txn, &scope, take_row, commit, err);
}
