/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_IDENTITY_H
#define WP_COLLECTOR_HOST_IDENTITY_H
/* What a collector says of itself and its host when it says Hello. */
#include "proto/session.h"

/* What the collector knows of its host. */
struct wp_host_identity {
    const char *source;
    const char *hostname;  /* NULL: its own */
    const char *part;      /* what of the machine the host is, its UUID being of its own; NULL: all of it */
    const char *release;   /* NULL: none */
    uint32_t frequency_hz; /* 0: no samples */
};

/* Fills a Hello of a new session on this host; wp_hello_fini frees it. -ENOMEM. */
int wp_identity_hello(struct wp_hello *hello, const struct wp_host_identity *identity, struct wp_error *err);
/* A Hello of another session that goes on behind the one that it was of. */
void wp_identity_renew(struct wp_hello *hello);
/* This host's stable UUID, as Hello says it; `part` as above. */
void wp_identity_host(uint8_t host[16], const char *part);
/* Adds "key=value". -EINVAL. */
int wp_identity_label(struct wp_hello *hello, const char *text, struct wp_error *err);

#endif
