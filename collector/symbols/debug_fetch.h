/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLS_DEBUG_FETCH_H
#define WP_COLLECTOR_SYMBOLS_DEBUG_FETCH_H
/*
 * Debug files from debuginfod servers, by elfutils' libdebuginfod(3), in a process of its own: it talks HTTP, so it has
 * no capability, no open file but its end of a socket, and ends with this process. It answers with an open file. Build
 * ids leave the host, so it is off unless it is asked for. Start it before threads and before privileges are dropped;
 * ask from one thread.
 */
#include "common/error.h"
#include "common/log.h"

#include <stdint.h>

struct wp_debug_fetch;

/* urls: as DEBUGINFOD_URLS, with blanks between. -ENOSYS: libdebuginfod is not installed. */
int wp_debug_fetch_start(struct wp_debug_fetch **fetch, const char *urls, struct wp_error *err);
/* NULL-safe. */
void wp_debug_fetch_stop(struct wp_debug_fetch *fetch);
/* The open debug file of that build, -ENOENT, or -ETIMEDOUT when it is not there after some seconds: it may be in the
 * cache the next time. NULL: -ENOENT. */
int wp_debug_fetch_file(struct wp_debug_fetch *fetch, const uint8_t *build_id, uint32_t size);

#endif
