/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_VALUE_JOIN_H
#define WP_STORAGE_KIND_VALUE_JOIN_H
/*
 * Two states of the same value, of the same shard, become one that holds what either knows. join is associative,
 * commutative and idempotent, so that merging stores again, or in another order, changes nothing. Reports are no part
 * of it: merge_store.c takes the one that holds more.
 */
#include "storage/value/value.h"

/* Raw bodies of a kind of state; canonical. -EBADMSG: one of them is damaged. */
int wp_value_join(enum wp_value_kind kind, const struct wp_buffer *a, const struct wp_buffer *b, struct wp_buffer *out,
    struct wp_error *err);

#endif
