/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_NAME_TALK_H
#define WP_PROTO_NAME_TALK_H
/*
 * What places in objects are called, asked and answered between collectors and an aggregator (docs/wire.md), so that a
 * fleet reads an object once. Plain forms of NameQuestion and NameAnswer. A place is an offset in the file whose build
 * id it is: the instruction itself, or of a return address the call before it.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_BUILD_BYTES 20u
#define WP_NAME_PLACES 512u /* of one message */
#define WP_NAME_LEVELS 16u  /* the function, and those inlined in it */
#define WP_NAME_BYTES 4096u /* of one text */

/* The build id of an object file. */
struct wp_build {
    uint8_t bytes[WP_BUILD_BYTES];
    uint8_t size; /* 1 to WP_BUILD_BYTES */
};

/* One function at a place; outermost first. */
struct wp_name_level {
    const char *function, *file; /* "" unknown */
    uint32_t line;
};

/* A place and which levels of the answer are its name. */
struct wp_name_row {
    uint64_t offset;
    uint32_t first, count; /* of the levels; count 0: it has no name */
};

/* A NameQuestion: places of one object. */
struct wp_name_question {
    uint32_t id; /* of the one who asks; comes back */
    struct wp_build build;
    const uint64_t *offsets;
    uint32_t count;
};

/* A NameAnswer: places of one object and their names. */
struct wp_name_answer {
    uint32_t id; /* of the question; 0: nobody asked, the object was read for oneself */
    struct wp_build build;
    /* From the aggregator: read the object yourself, and tell what you find. From a collector: it has not the object.
     * There are no levels then. */
    bool is_yours;
    const struct wp_name_row *rows;
    uint32_t row_count;
    const struct wp_name_level *levels;
    uint32_t level_count;
    void *owned; /* of a decoded one */
};

/* Appends to `out`. Counts are not checked here: the other end takes 1 to WP_NAME_PLACES places. -ENOMEM. */
int wp_name_question_encode(const struct wp_name_question *question, struct wp_buffer *out, struct wp_error *err);
/* -EINVAL: out of its bounds. Unless it failed, *owned holds the offsets and is for wp_name_question_free. */
int wp_name_question_decode(
    struct wp_name_question *question, void **owned, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Frees *owned, so the offsets of its question, too; NULL is allowed. */
void wp_name_question_free(void *owned);
/* Appends to `out`. Rows take their levels in order: only `count` travels, `first` is what the counts before add up to.
 * -ENOMEM. */
int wp_name_answer_encode(const struct wp_name_answer *answer, struct wp_buffer *out, struct wp_error *err);
/* Rows and texts belong to the answer until wp_name_answer_fini. -EINVAL: out of its bounds; -ENOMEM. On error it is
 * zeroed. */
int wp_name_answer_decode(struct wp_name_answer *answer, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Frees what a decoded one owns and zeroes it. One that was filled by hand owns nothing. */
void wp_name_answer_fini(struct wp_name_answer *answer);

/* True when sizes and bytes are equal; bytes behind the size do not count. */
static inline bool wp_build_equals(const struct wp_build *a, const struct wp_build *b)
{
    return a->size == b->size && !__builtin_memcmp(a->bytes, b->bytes, a->size);
}

#endif
