/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_SHARD_WIRE_H
#define WP_PROTO_SHARD_WIRE_H
/*
 * What aggregators say to each other (proto/shard.proto), packed and unpacked. What is unpacked has been checked:
 * sizes, counts, ids, times and texts are within their bounds, columns of equal length. Free it with the generated
 * _free_unpacked.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "proto/shard.pb-c.h"

#include <stdbool.h>

#define WP_SHARD_MESSAGE_BYTES (1u << 20) /* more is refused unread */
#define WP_SHARD_HOSTS 4096u              /* of one Facts */
#define WP_SHARD_ENDS 1024u
#define WP_SHARD_MARKS 128u       /* of one End and kind */
#define WP_SHARD_DATAGRAMS 16384u /* of one Facts and kind */
#define WP_SHARD_QUESTIONS 256u   /* of one message */
#define WP_SHARD_PIECES 4096u     /* of one Answer; a longer one is cut, and says so */
#define WP_SHARD_STRINGS 4096u    /* of one Answer, as frames, nodes, processes, layers */
#define WP_SHARD_STRING_BYTES 4608u
#define WP_SHARD_LAYERS 256u /* of one piece */
#define WP_SHARD_HOPS 8u     /* from shard to shard, for one wait */

enum { WP_SHARD_PIECE_RUN = 1, WP_SHARD_PIECE_UNCERTAIN = 2 };

/* Any message of these, appended. -ENOMEM. */
int wp_shard_pack(const ProtobufCMessage *message, struct wp_buffer *out);

/* NULL: no such message, or one that breaks a bound; `err` says which. The caller frees it, as those below, by
 * wakepath__shard__hello__free_unpacked (facts, questions, answers). */
Wakepath__Shard__Hello *wp_shard_hello_unpack(const uint8_t *bytes, size_t size, struct wp_error *err);
/* The same of Facts. */
Wakepath__Shard__Facts *wp_shard_facts_unpack(const uint8_t *bytes, size_t size, struct wp_error *err);
/* The same of Questions. */
Wakepath__Shard__Questions *wp_shard_questions_unpack(const uint8_t *bytes, size_t size, struct wp_error *err);

/* What the numbers of an answer may be: counts of what the reader knows. */
struct wp_shard_vocabulary {
    uint32_t styles, categories; /* valid: 1 <= style < styles, category < categories */
};
/* The same of Answers; a number outside of the vocabulary breaks a bound, too. */
Wakepath__Shard__Answers *wp_shard_answers_unpack(
    const uint8_t *bytes, size_t size, const struct wp_shard_vocabulary *vocabulary, struct wp_error *err);

#endif
