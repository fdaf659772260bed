/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_VALUE_CHECK_H
#define WP_STORAGE_KIND_VALUE_CHECK_H
/* Whether the body of a value means something: each kind's own check, and the one that picks it. */
#include "storage/value/keys.h"
#include "storage/value/value.h"

/* -EBADMSG with what is wrong. `raw` is the unwrapped body of `value`, which stood under `key`. */
int wp_value_check(
    const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err);

#endif
