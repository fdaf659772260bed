/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/retention_rule.h"

#include "storage/env/txn.h"

#include <string.h>

int wp_retention_delete(
    struct wp_txn *txn, const struct wp_retention *rule, const char *key, const char *why, struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    int rc = wp_txn_stored(txn, key, &bytes, &size, err);
    if (!rc)
        rc = wp_txn_delete(txn, key, err);
    if (!rc && rule->gone)
        rule->gone(rule->context, key, size + strlen(key), why);
    return rc;
}
