/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_KEYS_H
#define WP_STORAGE_VALUE_KEYS_H
/*
 * The keys of a store, formatted and parsed. Deltas end in ".~" and ten digits: '~' is in no id, so that a shard whose
 * id ends in a number (an address) is never taken for a delta, and deltas sort by number. Of a bucket NAME~DIGEST
 * (bucket.h) the folder is NAME, and "~DIGEST" stands behind the shard: what has one name stands in one folder. Of one
 * host of the shard (host_part.h) "@HOST" follows.
 */
#include "common/error.h"
#include "common/path.h"
#include "storage/value/host_part.h"
#include "storage/value/value.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_KEY_ROOM 512
#define WP_DELTA_LIMIT 9999999999ull

struct wp_key {
    enum wp_value_kind kind;
    char aggregate[WP_ID_ROOM];   /* "" under __state__ and __source__ */
    char shard[WP_ID_ROOM];       /* "" for a blob */
    char host[WP_HOST_PART_ROOM]; /* reports: of that host, "": of the whole shard, or of nobody in particular */
    uint64_t timebox_s;           /* reports, traces, metadata of a timebox */
    bool has_timebox;             /* metadata: of a timebox */
    bool has_delta;               /* reports, genealogy, sourcemap, source */
    uint64_t delta;
    uint8_t session[16]; /* processed */
    uint8_t digest[16];  /* blob */
};

/* -EINVAL: an id is not valid, or the kind has no such part. */
int wp_key_format(const struct wp_key *key, char text[WP_KEY_ROOM], struct wp_error *err);
/* -EINVAL: not a key of a store. Whatever it takes, wp_key_format gives back the same text. */
int wp_key_parse(struct wp_key *key, const char *text, struct wp_error *err);
/* Whether the text is a key of this very aggregate, other buckets of its name not included. */
bool wp_key_is_of(const char *text, const char *aggregate);

#endif
