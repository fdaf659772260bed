/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/report_add.h"

#include "storage/kind/report_compact.h"
#include "storage/kind/report_store.h"

int wp_txn_add_host_report(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_report *report, struct wp_error *err)
{
    struct wp_buffer body = {0}, head_bytes = {0};
    struct wp_key key;
    int rc = wp_txn_report_key(&key, WP_VALUE_REPORT, place, err);
    if (!rc)
        rc = wp_report_pack_headed(report, 0, &body, &head_bytes, err);
    if (!rc)
        rc = wp_txn_append(txn, &key, &(struct wp_raw_value){key.kind, &head_bytes, body.data, body.size}, err);
    wp_buffer_fini(&body);
    wp_buffer_fini(&head_bytes);
    return !rc && key.delta % WP_DELTAS == 0 ? wp_txn_compact_report(txn, &key, err) : rc;
}
