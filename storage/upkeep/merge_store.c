/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/merge_store.h"

#include "common/strings.h"
#include "storage/env/txn_body.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_compact.h"
#include "storage/kind/report_store.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"
#include "storage/kind/value_join.h"
#include "storage/report/head.h"
#include "storage/report/report_encode.h"
#include "storage/report/trace_decode.h"
#include "storage/upkeep/merge_sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- where a shard goes --- */

static int other_name(const char *shard, const uint8_t origin[16], char as[WP_ID_ROOM])
{
    int cut = (int)strlen(shard) < 119 ? (int)strlen(shard) : 119;
    return snprintf(as, WP_ID_ROOM, "%.*s.%02x%02x%02x%02x", cut, shard, origin[0], origin[1], origin[2], origin[3]);
}

struct place { /* where a shard goes */
    uint8_t origin[16];
    char as[WP_ID_ROOM]; /* its name there */
};

/* `to` NULL: to a release that is not there yet. */
static int place_shard(struct wp_txn *to, struct wp_txn *from, const struct wp_merge *merge, const char *shard,
    struct place *place, struct wp_error *err)
{
    uint8_t there[16], *origin = place->origin;
    char *as = place->as;
    int rc = wp_txn_shard_origin(from, shard, origin, err);
    if (rc)
        return rc;
    rc = to ? wp_txn_shard_of_origin(to, origin, as, err) : -ENOENT;
    if (rc != -ENOENT)
        return rc;
    snprintf(as, WP_ID_ROOM, "%s", shard);
    rc = to ? wp_txn_shard_origin(to, shard, there, err) : -ENOENT;
    if (rc == -ENOENT)
        return 0;
    if (rc && rc != -ENODATA)
        return rc;
    if (!merge->renames_shards)
        return wp_error_set(err, -EEXIST,
            "shard '%s' of release '%s' in '%s' is another one than in '%s': they would be mixed; "
            "--rename-shard gives it a name of its own",
            shard, to->env->release, to->store->root, from->store->root);
    other_name(shard, origin, as);
    rc = wp_txn_shard_origin(to, as, there, NULL);
    return rc == -ENOENT ? 0 : wp_error_set(err, -EEXIST, "shard '%s' of '%s' is taken, too", as, to->store->root);
}

int wp_merge_check(struct wp_txn *to, struct wp_txn *from, const struct wp_merge *merge, struct wp_error *err)
{
    char **shards = NULL;
    size_t count = 0;
    struct place place;
    int rc = wp_txn_shards(from, &shards, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = place_shard(to, from, merge, shards[i], &place, err);
    wp_strings_free(shards, count);
    if (!rc && to && !merge->counts_twice)
        rc = wp_merge_sessions_check(to, from, err);
    return rc;
}

/* --- one shard --- */

struct pair { /* a shard on its way */
    struct wp_txn *to, *from;
    struct wp_merge *merge;
    const char *shard, *as;
};

static void tell_damage(const struct pair *pair, const char *key, const struct wp_error *reason)
{
    if (pair->merge->damaged)
        pair->merge->damaged(pair->merge->context, key, reason->text);
}

struct loaded {
    struct wp_buffer value; /* owned, of a base and its deltas */
    char **deltas;          /* their keys, owned */
    size_t count;
    bool is_there;
};

static void drop_loaded(struct loaded *loaded)
{
    wp_buffer_fini(&loaded->value);
    wp_strings_free(loaded->deltas, loaded->count);
}

/* -ENOENT: there is none. */
static int load(struct wp_txn *txn, struct wp_key key, struct loaded *loaded, struct wp_error *err)
{
    char base[WP_KEY_ROOM], prefix[WP_KEY_ROOM + 4];
    struct wp_buffer *values = NULL;
    size_t taken = 0;
    int rc = wp_key_format(&key, base, err);
    if (rc)
        return rc;
    if (key.kind != WP_VALUE_GENEALOGY && key.kind != WP_VALUE_SOURCEMAP && key.kind != WP_VALUE_SOURCE)
        return wp_txn_get(txn, base, key.kind, &loaded->value, err);
    snprintf(prefix, sizeof(prefix), "%s.~", base);
    rc = wp_txn_keys(txn, prefix, &loaded->deltas, &loaded->count, err);
    if (!rc && !(values = calloc(loaded->count + 1, sizeof(*values))))
        rc = wp_error_set(err, -ENOMEM, "out of memory for merging");
    if (!rc) {
        rc = wp_txn_get(txn, base, key.kind, &values[taken], err);
        taken += !rc;
        rc = rc == -ENOENT && loaded->count ? 0 : rc;
    }
    for (size_t i = 0; !rc && i < loaded->count; i++)
        rc = wp_txn_get(txn, loaded->deltas[i], key.kind, &values[taken++], err);
    if (!rc)
        rc = key.kind == WP_VALUE_GENEALOGY ? wp_genealogy_join(values, taken, &loaded->value, err)
            : key.kind == WP_VALUE_SOURCE   ? wp_source_join(values, taken, &loaded->value, err)
                                            : wp_sourcemap_join(values, taken, &loaded->value, err);
    for (size_t i = 0; values && i < taken; i++)
        wp_buffer_fini(&values[i]);
    free(values);
    return rc;
}

/* Writes what is new in place of `own`, which may be nothing; the deltas that it stands for go. */
static int save(const struct pair *pair, const struct wp_key *key, const struct loaded *own,
    const struct wp_buffer *new, struct wp_error *err)
{
    const struct wp_buffer *old = &own->value;
    if (own->is_there && !own->count && old->size == new->size &&
        (!new->size || !memcmp(old->data, new->data, new->size))) {
        pair->merge->same++;
        return 0;
    }
    struct wp_buffer head_bytes = {0};
    int rc = 0;
    if (key->kind == WP_VALUE_TRACE) { /* the only one here with a head */
        struct wp_trace *trace;
        struct wp_head head;
        rc = wp_trace_decode(&trace, new->data, new->size, err);
        if (!rc) {
            wp_head_of_trace(&head, trace);
            rc = wp_head_encode(&head, &head_bytes, err);
            wp_trace_destroy(trace);
        }
    }
    char text[WP_KEY_ROOM];
    if (!rc)
        rc = wp_key_format(key, text, err);
    if (!rc)
        rc = wp_txn_put_headed(
            pair->to, text, &(struct wp_raw_value){key->kind, &head_bytes, new->data, new->size}, err);
    for (size_t i = 0; !rc && i < own->count; i++)
        rc = wp_txn_delete(pair->to, own->deltas[i], err);
    wp_buffer_fini(&head_bytes);
    pair->merge->written++;
    return rc;
}

static int merge_value(const struct pair *pair, const struct wp_key *from_key, const char *text, struct wp_error *err)
{
    struct loaded own = {0}, theirs = {0};
    struct wp_buffer sum = {0};
    struct wp_key key = *from_key;
    struct wp_error reason = {0};
    snprintf(key.shard, sizeof(key.shard), "%s", pair->as);
    int rc = load(pair->from, *from_key, &theirs, &reason), old_rc = 0;
    if (!rc)
        old_rc = load(pair->to, key, &own, &reason);
    if (!rc)
        rc = old_rc == -ENOENT ? 0 : old_rc;
    own.is_there = !old_rc;
    if (!rc) /* what is new here is joined with itself: canonical */
        rc = wp_value_join(key.kind, old_rc ? &theirs.value : &own.value, &theirs.value, &sum, &reason);
    if (!rc)
        rc = save(pair, &key, &own, &sum, &reason);
    if (wp_is_damage(rc)) {
        tell_damage(pair, text, &reason);
        rc = 0;
    }
    drop_loaded(&own);
    drop_loaded(&theirs);
    wp_buffer_fini(&sum);
    return rc ? wp_error_set(err, rc, "cannot merge '%s': %s", text, reason.text) : 0;
}

static int merge_values(const struct pair *pair, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = wp_txn_keys(pair->from, "", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        if (wp_key_parse(&key, keys[i], NULL) || strcmp(key.shard, pair->shard) || key.kind == WP_VALUE_REPORT ||
            key.kind == WP_VALUE_BLOB || key.kind == WP_VALUE_SHARD)
            continue;
        if (key.has_delta) { /* goes with its base, which may not be there */
            struct wp_key base = key, before;
            base.has_delta = false;
            base.delta = 0;
            if (i && !wp_key_parse(&before, keys[i - 1], NULL) && before.kind == key.kind &&
                !strcmp(before.shard, key.shard))
                continue;
            key = base;
        }
        rc = merge_value(pair, &key, keys[i], err);
    }
    wp_strings_free(keys, count);
    return rc;
}

/* --- reports --- */

struct side {
    struct wp_report_part *parts; /* of one host of the shard, or of none */
    size_t count, from, to;       /* [from, to): in the timebox that is looked at */
};

/* The widest timebox on either side that holds this instant; *length_s 0: no side has rolled it up. */
static uint64_t container(const struct side sides[2], uint64_t at_s, uint64_t *length_s)
{
    uint64_t start_s = at_s;
    *length_s = 0;
    for (int i = 0; i < 2; i++)
        for (size_t j = 0; j < sides[i].count; j++) {
            const struct wp_report_part *part = &sides[i].parts[j];
            if (part->length_s > *length_s && part->key.timebox_s <= at_s &&
                at_s - part->key.timebox_s < part->length_s) {
                start_s = part->key.timebox_s;
                *length_s = part->length_s;
            }
        }
    return start_s;
}

static int sum_side(
    struct wp_txn *txn, const struct side *side, struct wp_report **sum, const char **key, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = side->from; !rc && i < side->to; i++) {
        *key = side->parts[i].text;
        rc = wp_txn_merge_report(txn, *key, sum, err);
    }
    return rc || !*sum ? rc : wp_report_make_canonical(sum, err);
}

/* Both are states of one report, which only grows; where one side has lost some of it, the other holds more. */
static int compare_reports(const struct wp_report *a, const struct wp_report *b, struct wp_error *err)
{
    struct wp_head x, y;
    struct wp_buffer a_bytes = {0}, b_bytes = {0};
    wp_head_of_report(&x, a);
    wp_head_of_report(&y, b);
    const uint64_t left[] = {x.events, x.total_ns, x.wall_ns, x.processes, x.nodes};
    const uint64_t right[] = {y.events, y.total_ns, y.wall_ns, y.processes, y.nodes};
    for (size_t i = 0; i < 5; i++)
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    int rc = wp_report_encode(a, &a_bytes, err) || wp_report_encode(b, &b_bytes, err) ? 0
        : a_bytes.size != b_bytes.size ? (a_bytes.size < b_bytes.size ? -1 : 1)
        : a_bytes.size                 ? memcmp(a_bytes.data, b_bytes.data, a_bytes.size)
                                       : 0;
    wp_buffer_fini(&a_bytes);
    wp_buffer_fini(&b_bytes);
    return rc;
}

/* The greater of both becomes the only report of that timebox in `to`. */
static int merge_box(
    const struct pair *pair, const struct side sides[2], uint64_t start_s, uint64_t length_s, struct wp_error *err)
{
    const struct side *own = &sides[0], *theirs = &sides[1];
    struct wp_report *here = NULL, *there = NULL;
    struct wp_error reason = {0};
    const char *at = "";
    int rc = sum_side(pair->from, theirs, &there, &at, &reason);
    if (!rc)
        rc = sum_side(pair->to, own, &here, &at, &reason);
    bool is_kept = !rc && (!there || (here && compare_reports(here, there, err) >= 0));
    bool is_one = own->to - own->from == 1 && !own->parts[own->from].key.has_delta &&
        own->parts[own->from].key.timebox_s == start_s && own->parts[own->from].length_s == length_s;
    if (!rc && is_kept && (is_one || !there)) {
        pair->merge->same += there != NULL;
    } else if (!rc) {
        struct wp_key key = there ? theirs->parts[theirs->from].key : own->parts[own->from].key;
        key.timebox_s = start_s;
        key.has_delta = false;
        snprintf(key.shard, sizeof(key.shard), "%s", pair->as);
        for (size_t i = own->from; !rc && i < own->to; i++)
            rc = wp_txn_delete(pair->to, own->parts[i].text, &reason);
        if (!rc)
            rc = wp_txn_put_report(pair->to, &key, is_kept ? here : there, length_s, &reason);
        pair->merge->written++;
    }
    if (wp_is_damage(rc)) {
        tell_damage(pair, at, &reason);
        rc = 0;
    }
    wp_report_destroy(here);
    wp_report_destroy(there);
    return rc ? wp_error_set(err, rc, "cannot merge '%s': %s", at, reason.text) : 0;
}

static void take_box(struct side *side, uint64_t start_s, uint64_t length_s)
{
    side->from = 0;
    while (side->from < side->count && side->parts[side->from].key.timebox_s < start_s)
        side->from++;
    side->to = side->from;
    while (side->to < side->count &&
        (side->parts[side->to].key.timebox_s == start_s || side->parts[side->to].key.timebox_s - start_s < length_s))
        side->to++;
}

static int merge_host(const struct pair *pair, struct side sides[2], struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < sides[1].count; i = sides[1].to) {
        uint64_t length_s, start_s = container(sides, sides[1].parts[i].key.timebox_s, &length_s);
        take_box(&sides[0], start_s, length_s);
        take_box(&sides[1], start_s, length_s);
        rc = merge_box(pair, sides, start_s, length_s, err);
    }
    return rc;
}

/* Those of a host among all of a shard, which are sorted by host. */
static struct side side_of_host(const struct side *all, size_t from, const char *host)
{
    struct side side = {.parts = all->parts};
    while (from < all->count && strcmp(all->parts[from].key.host, host) < 0)
        from++;
    side.parts += from;
    while (from + side.count < all->count && !strcmp(side.parts[side.count].key.host, host))
        side.count++;
    return side;
}

static int merge_reports(const struct pair *pair, const char *aggregate, struct wp_error *err)
{
    struct wp_report_parts here = {0}, there = {0};
    int rc = wp_txn_report_parts(pair->from, aggregate, pair->shard, &there, err);
    if (!rc)
        rc = wp_txn_report_parts(pair->to, aggregate, pair->as, &here, err);
    const struct side all[2] = {{.parts = here.rows, .count = here.count}, {.parts = there.rows, .count = there.count}};
    rc = rc == -ENOENT ? 0 : rc; /* an aggregate that is new here */
    for (size_t i = 0; !rc && i < all[1].count;) {
        const char *host = all[1].parts[i].key.host;
        struct side sides[2] = {side_of_host(&all[0], 0, host), side_of_host(&all[1], i, host)};
        i += sides[1].count;
        rc = merge_host(pair, sides, err);
    }
    wp_report_parts_fini(&here);
    wp_report_parts_fini(&there);
    return rc;
}

static int merge_shard(const struct pair *pair, const uint8_t origin[16], struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    uint8_t there[16];
    int rc = wp_txn_shard_origin(pair->to, pair->as, there, err);
    if (rc == -ENOENT)
        rc = wp_txn_put_shard(pair->to, pair->as, origin, err);
    if (!rc)
        rc = wp_txn_aggregates(pair->from, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = merge_reports(pair, aggregates[i], err);
    wp_strings_free(aggregates, count);
    if (!rc)
        rc = merge_values(pair, err);
    return rc ? rc : wp_txn_register_shard(pair->to, pair->as, err); /* state values that the other one lacked */
}

/* --- blobs: named by their content, so one that is there is the same --- */

static int merge_blobs(struct wp_txn *to, struct wp_txn *from, struct wp_merge *merge, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0, size;
    const uint8_t *bytes;
    int rc = wp_txn_keys(from, "__source__/", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer raw = {0};
        struct wp_error reason = {0};
        if (!wp_txn_stored(to, keys[i], &bytes, &size, NULL)) {
            merge->same++;
            continue;
        }
        rc = wp_txn_get(from, keys[i], WP_VALUE_BLOB, &raw, &reason);
        if (wp_is_damage(rc) && merge->damaged)
            merge->damaged(merge->context, keys[i], reason.text);
        if (!rc)
            rc = wp_txn_put(to, keys[i], WP_VALUE_BLOB, raw.data, raw.size, err);
        else
            rc = wp_is_damage(rc) ? 0 : wp_error_set(err, rc, "%s", reason.text);
        merge->written++;
        wp_buffer_fini(&raw);
    }
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_merge(struct wp_txn *to, struct wp_txn *from, struct wp_merge *merge, struct wp_error *err)
{
    char **shards = NULL;
    size_t count = 0;
    struct place place;
    int rc = wp_txn_shards(from, &shards, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        rc = place_shard(to, from, merge, shards[i], &place, err);
        if (!rc && merge->shard)
            merge->shard(merge->context, shards[i], place.as, place.origin);
        if (!rc)
            rc = merge_shard(&(struct pair){to, from, merge, shards[i], place.as}, place.origin, err);
    }
    wp_strings_free(shards, count);
    return rc ? rc : merge_blobs(to, from, merge, err);
}
