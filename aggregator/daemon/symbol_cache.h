/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_SYMBOL_CACHE_H
#define WP_AGGREGATOR_DAEMON_SYMBOL_CACHE_H
/*
 * What readers have told the symbol broker, on disk: after a restart nobody is asked to read again what is known. One
 * file a shard beside the checkpoints, frames one behind the other (proto/frame.h), each a NameAnswer; appended as it
 * is told, and not waited for: a crash of the machine costs names that are asked for once more. The source map of the
 * store has the same names and more, but anybody's: here is only what the object's own reader has said
 * (docs/security.md).
 */
#include "aggregator/daemon/symbol_broker.h"
#include "common/log.h"

struct wp_symbol_cache;

/* Tells `broker` all that is there; what is torn or damaged ends it and is cut off. Of a file that is large the newer
 * half is kept. -errno: it cannot be read or written; the broker does without. */
int wp_symbol_cache_open(struct wp_symbol_cache **cache, const char *folder, const char *shard,
    struct wp_symbol_broker *broker, const struct wp_logger *logger, struct wp_error *err);
void wp_symbol_cache_close(struct wp_symbol_cache *cache); /* NULL-safe */
/* A NameAnswer. When it cannot be written, as on a full disk, it is said once a while, and asked for again after the
 * next restart. */
void wp_symbol_cache_add(struct wp_symbol_cache *cache, const uint8_t *raw, size_t size); /* NULL-safe */

#endif
