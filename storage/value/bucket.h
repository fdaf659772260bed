/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_BUCKET_H
#define WP_STORAGE_VALUE_BUCKET_H
/*
 * Buckets: what was sampled at another rate, explained with other tolerances, picked by another selector or recorded of
 * another command or workload is another thing and is never summed with the rest. An aggregate that is recorded with
 * some parameters stands in the store as NAME~DIGEST, eight hex digits made of the parameters, and its metadata says
 * them ("bucket.*"), so that the same parameters meet in one bucket on whatever host, and others stand beside it. A
 * plain NAME is a bucket too: nothing says with what it was recorded. Who asks for NAME means the only bucket of that
 * name.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "common/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_BUCKET_FACTS 11u
#define WP_BUCKET_TEXT 480u        /* bytes of a text; of a longer one they are followed by its digest */
#define WP_BUCKET_PREFIX "bucket." /* of the keys of metadata that say them */

struct wp_bucket {
    const char *selector;      /* as WP_SERVICE_SELECTOR or wp_selector_print say it; borrowed */
    uint32_t sample_period_ns; /* 0: no samples */
    uint32_t depth, width;
    uint64_t fit_ns, history_ns, join_ns, late_sample_ns;
    const char *command, *workload; /* of a recording; borrowed, NULL: not told */
};

#define WP_SERVICE_SELECTOR "service"

struct wp_bucket_fact {
    char key[32]; /* "": there is no such fact */
    char value[512];
};

/* The parameters as metadata, ascending by key; WP_BUCKET_FACTS of them. A selector, command or workload that is too
 * long is cut and has its digest behind it. */
void wp_bucket_facts(
    struct wp_bucket_fact facts[WP_BUCKET_FACTS], const char *aggregate, const struct wp_bucket *bucket);
/* NAME~DIGEST; a name of over 119 bytes is cut, the digest holds all of it. */
void wp_bucket_name(char name[WP_ID_ROOM], const struct wp_bucket_fact facts[WP_BUCKET_FACTS]);
/* Adds "key=value\n"; all lines in order of their keys are what a digest is made of ... */
void wp_bucket_line(struct wp_buffer *lines, const char *key, const char *value);
/* ... by this. */
void wp_bucket_digest(char name[WP_ID_ROOM], const char *aggregate, const struct wp_buffer *lines);
/* An id, or an id with a digest behind it; not the store's own folders. */
bool wp_aggregate_valid(const char *name);
/* Length of NAME in NAME~DIGEST, or of the whole. */
size_t wp_bucket_base(const char *name);
/* Whether the NAME of a bucket is this one. */
bool wp_bucket_is_of(const char *name, const char *base, size_t size);
/* Of sorted names: whether none but this one has its NAME. */
bool wp_bucket_is_alone(char *const *names, size_t count, const char *name);
/* The one that is meant by `asked`: it itself, or the only bucket of that name. -ENOENT, also when there are several;
 * err names some. */
int wp_bucket_choose(
    char *const *names, size_t count, const char *asked, char chosen[WP_ID_ROOM], struct wp_error *err);

#endif
