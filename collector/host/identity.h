/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_IDENTITY_H
#define WP_COLLECTOR_HOST_IDENTITY_H
/* What a collector says of itself and its host when it says Hello. */
#include "proto/session.h"

/* Fills a Hello of a new session on this host; wp_hello_fini frees it. hostname and release may be NULL; `part` names
 * what of the machine the host is, when it is not all of it: its UUID is then of its own. -ENOMEM. */
int wp_identity_hello(struct wp_hello *hello, const char *source, const char *hostname, const char *part,
    const char *release, uint32_t frequency_hz, struct wp_error *err);
/* A Hello of another session that goes on behind the one that it was of. */
void wp_identity_renew(struct wp_hello *hello);
/* This host's stable UUID, as Hello says it; `part` as above. */
void wp_identity_host(uint8_t host[16], const char *part);
/* Adds "key=value". -EINVAL. */
int wp_identity_label(struct wp_hello *hello, const char *text, struct wp_error *err);

#endif
