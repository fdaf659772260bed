/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_SHARD_LINK_H
#define WP_PROTO_SHARD_LINK_H
/*
 * An aggregator's connection to another one: DEALER to the ROUTER that collectors connect to, frames as theirs. Each
 * way has a connection of its own. Nothing waits; one thread. What is lost on the way is said again by who uses it.
 */
#include "common/error.h"
#include "proto/frame.h"

#include <stdbool.h>

struct wp_shard_link;

/* Whom to connect to, and by which keys. */
struct wp_shard_link_options {
    const char *endpoint;
    const char *key_path;      /* this side's NAME.key; NULL: none */
    const char *peer_key_path; /* the other one's NAME.pub; NULL: none */
    bool is_insecure;          /* tcp:// without keys is meant so */
};

/* All are copied. -EACCES: tcp:// without keys. */
int wp_shard_link_open(struct wp_shard_link **link, const struct wp_shard_link_options *options, struct wp_error *err);
/* Frames that were not sent yet get 200 ms. NULL is allowed. */
void wp_shard_link_close(struct wp_shard_link *link);
/* Connects anew, as somebody else: what was on its way is lost. After silence, whatever its reason (a key that was not
 * listed, a restart, a cable). */
int wp_shard_link_renew(struct wp_shard_link *link, struct wp_error *err);
/* As it was opened with; the link's, until close. */
const char *wp_shard_link_endpoint(const struct wp_shard_link *link);
/* -EAGAIN: it takes no more now. */
int wp_shard_link_send(struct wp_shard_link *link, enum wp_frame_type type, const uint8_t *raw, size_t size);
/* 1 and *frame (valid until the next call), 0: there is nothing. What is no frame is passed over. */
int wp_shard_link_receive(struct wp_shard_link *link, struct wp_frame *frame);

#endif
