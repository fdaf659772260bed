/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a value of metadata holds. A release that lives for years sees more hosts than that, and one peer can make
 * up names: what was said of hosts longest ago goes then, and is counted, or nothing would ever be written to the
 * release again.
 */
#ifndef WP_STORAGE_KIND_METADATA_LIMIT_H
#define WP_STORAGE_KIND_METADATA_LIMIT_H

#include "common/error.h"
#include "proto/store.pb-c.h"

#include <stdint.h>

/* The order of keys, and of entries (`Wakepath__Store__Metadata__Entry *const *`) by them. */
int wp_metadata_compare_keys(ProtobufCBinaryData a, ProtobufCBinaryData b);
/* For qsort, of pointers to entries: by the bytes of their keys alone. */
int wp_metadata_compare(const void *left, const void *right);

/* The entry that counts what had to go, and its text; lives as long as the message that got it. */
struct wp_metadata_gone {
    Wakepath__Store__Metadata__Entry entry;
    char text[24];
};

/*
 * Takes pointers out of `m`, which is sorted, until it is no more than a value holds: keys that begin with "host." or
 * "network.", the oldest first; their number is added to the key "metadata.gone". -E2BIG when other keys alone are too
 * many, -ENOMEM.
 */
int wp_metadata_trim(
    Wakepath__Store__Metadata *m, struct wp_metadata_gone *gone, uint64_t real_s, struct wp_error *err);

#endif
