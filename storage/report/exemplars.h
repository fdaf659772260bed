/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_EXEMPLARS_H
#define WP_STORAGE_REPORT_EXEMPLARS_H
/*
 * Exemplars: a few windows of an aggregate that are kept event by event, chosen from all there were. A window is a
 * request (from its arrival until its reply leaves, named by the service it came to), or a wait: a sleep of a thread of
 * interest. Which ones are kept follows from the windows alone, so joining is associative, commutative and idempotent,
 * and no order in which they came, and no cut into sets, makes a difference. wakepath-store(5) has the rule.
 */
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stdint.h>

#define WP_EXEMPLARS_SLOWEST 3u   /* of each service, and of the waits */
#define WP_EXEMPLARS_SAMPLED 2u   /* waits sampled at random, in proportion to their length */
#define WP_EXEMPLARS_SERVICES 8u  /* those of the least names, bytewise; the waits besides */
#define WP_EXEMPLARS_BYTES 32768u /* of one window's trace, encoded */
#define WP_EXEMPLARS_NAME 300u    /* bytes of a service's or a host's name */

/* Why one is kept; a window may have both. */
enum wp_exemplar_role { WP_EXEMPLAR_SLOW = 1, WP_EXEMPLAR_SAMPLED = 2 };

/* One window: whose, when, and its trace. */
struct wp_exemplar_window {
    char *service;     /* "tcp port 80"; "" a wait; owned */
    char *host;        /* owned */
    uint64_t start_ns; /* realtime */
    uint64_t length_ns;
    uint32_t tid;           /* of the thread that answered, or waited */
    struct wp_buffer trace; /* a Trace message; empty: known here, and kept elsewhere */
    uint32_t thread;        /* for who chooses; not stored */
    bool is_new;            /* likewise */
    uint64_t draw;          /* its random number, once it has been drawn; not stored. 0: not yet */
};

/* By service, then the longest first; init with {0}. */
struct wp_exemplars {
    struct wp_exemplar_window *rows; /* owned */
    uint32_t count, room;
};

/* Frees all rows and leaves an empty set; a zeroed one is allowed. */
void wp_exemplars_fini(struct wp_exemplars *set);
/* Whether a window of these names and times would be kept, beside those that are there. One that is there is not
 * wanted. */
bool wp_exemplars_want(const struct wp_exemplars *set, const struct wp_exemplar_window *window);
/* Copies the window and lets go of what is kept no longer. -ENOMEM; -EINVAL: a name or a trace over its limit. */
int wp_exemplars_add(struct wp_exemplars *set, const struct wp_exemplar_window *window);
/* Adds copies of all rows of `from`. Errors as wp_exemplars_add; `into` may then have some of them. */
int wp_exemplars_join(struct wp_exemplars *into, const struct wp_exemplars *from);
/* The roles of a row, enum wp_exemplar_role. */
unsigned wp_exemplars_roles(const struct wp_exemplars *set, uint32_t row);
/* Canonical: equal sets have equal bytes. Rows without a trace are left out. */
int wp_exemplars_encode(const struct wp_exemplars *set, struct wp_buffer *out, struct wp_error *err);
/* Hostile bytes: bounds, names, order, the traces themselves, and that nothing is there that would not be kept.
 * -EBADMSG. */
int wp_exemplars_decode(struct wp_exemplars *set, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
