/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_ALLOWLIST_H
#define WP_PROTO_ALLOWLIST_H
/*
 * The public keys that an aggregator listens to, from a file of lines (proto/curve_keys.h) or a folder of such files,
 * *.pub. Read again while it is in use: a list that became bad leaves the one before in force. All calls are thread
 * safe but close.
 */
#include "common/log.h"
#include "proto/curve_keys.h"

#include <stddef.h>

struct wp_allowlist;

/* `path` is copied. -EINVAL with file and line. An empty list is good: it allows nobody. */
int wp_allowlist_open(struct wp_allowlist **list, const char *path, struct wp_error *err);
/* No other thread may still use the list. NULL is allowed. */
void wp_allowlist_close(struct wp_allowlist *list);
/* Reads it again if its files have changed since, or if `is_forced`. 1: there is a new list; 0: nothing changed;
 * -errno: it is bad, the one before stays; said again at each try while its files are missing or have just changed. */
int wp_allowlist_reload(struct wp_allowlist *list, bool is_forced, struct wp_error *err);
/* The same, told to the log: a new list, and once a minute one that is bad. */
void wp_allowlist_refresh(struct wp_allowlist *list, bool is_forced, const struct wp_logger *logger);
/* How many keys are in force now. */
size_t wp_allowlist_count(struct wp_allowlist *list);
/* Copies the entry of a key. False when it is not listed. */
bool wp_allowlist_find(struct wp_allowlist *list, const uint8_t bytes[WP_KEY_BYTES], struct wp_public_key *key);
/* Is a key of this one host listed? */
bool wp_allowlist_has_host(struct wp_allowlist *list, const uint8_t host[16]);

#endif
