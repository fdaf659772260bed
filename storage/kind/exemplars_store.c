/* SPDX-License-Identifier: Apache-2.0 */
/* Exemplars in a release: what is new is joined with what is there, so that the order of writers does not matter. */
#include "storage/kind/exemplars_store.h"

#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/report_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Those of the hosts that are meant. */
static int join_meant(struct wp_exemplars *set, const struct wp_exemplars *stored, const struct wp_selection *selection)
{
    int rc = 0;
    if (!selection || !selection->hosts)
        return wp_exemplars_join(set, stored);
    for (uint32_t i = 0; i < stored->count && !rc; i++)
        if (wp_hosts_match(selection->hosts, stored->rows[i].host))
            rc = wp_exemplars_add(set, &stored->rows[i]);
    return rc;
}

static int read_into(struct wp_txn *txn, const char *key, const struct wp_selection *selection,
    struct wp_exemplars *set, struct wp_error *err)
{
    struct wp_buffer body = {0};
    struct wp_exemplars stored = {0};
    int rc = wp_txn_get(txn, key, WP_VALUE_EXEMPLARS, &body, err);
    if (!rc && (rc = wp_exemplars_decode(&stored, body.data, body.size, err)))
        wp_error_wrap(err, rc, "%s", key);
    if (!rc && join_meant(set, &stored, selection))
        rc = wp_error_set(err, -ENOMEM, "out of memory for exemplars");
    wp_exemplars_fini(&stored);
    wp_buffer_fini(&body);
    return rc;
}

int wp_txn_join_exemplars(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_exemplars *set, struct wp_error *err)
{
    struct wp_exemplars sum = {0};
    struct wp_buffer body = {0};
    char text[WP_KEY_ROOM];
    struct wp_key key = {.kind = WP_VALUE_EXEMPLARS, .timebox_s = place->timebox_s};
    snprintf(key.aggregate, sizeof(key.aggregate), "%s", place->aggregate);
    snprintf(key.shard, sizeof(key.shard), "%s", place->shard);
    int rc = wp_key_format(&key, text, err);
    if (!rc)
        rc = read_into(txn, text, NULL, &sum, err);
    if (rc == -ENOENT || wp_is_damage(rc)) /* a ruined one is replaced: it says nothing to anybody */
        rc = 0;
    for (uint32_t i = 0; !rc && i < set->count; i++)
        if (set->rows[i].trace.size && wp_exemplars_add(&sum, &set->rows[i]))
            rc = wp_error_set(err, -ENOMEM, "out of memory for exemplars");
    if (!rc)
        rc = wp_exemplars_encode(&sum, &body, err);
    if (!rc)
        rc = wp_txn_put(txn, text, WP_VALUE_EXEMPLARS, body.data, body.size, err);
    wp_exemplars_fini(&sum);
    wp_buffer_fini(&body);
    return rc;
}

int wp_txn_read_exemplars(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    struct wp_exemplars *set, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = wp_txn_list(txn, aggregate, "exemplars", &keys, &count, err), damage = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || !wp_selection_has(selection, &key))
            continue;
        rc = read_into(txn, keys[i], selection, set, err);
        if (wp_is_damage(rc)) {
            damage = rc;
            rc = 0;
        }
    }
    wp_strings_free(keys, count);
    return rc ? rc : damage ? -EBADMSG : 0;
}
