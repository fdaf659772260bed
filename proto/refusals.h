/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_REFUSALS_H
#define WP_PROTO_REFUSALS_H
/* What was refused, counted by reason. Thread safe. A reason's text stays as and where it is once it is there. */
#include <stddef.h>
#include <stdint.h>

struct wp_refusals;

/* NULL when out of memory. */
struct wp_refusals *wp_refusals_create(void);
/* Frees the texts, too; no other thread may still use them. NULL is allowed. */
void wp_refusals_destroy(struct wp_refusals *refusals);
/* Numbers in the reason count as one ("batch N came where N is next"), so that a peer cannot make reasons without end.
 */
void wp_refusals_add(struct wp_refusals *refusals, const char *reason);
/* index < wp_refusals_count */
size_t wp_refusals_count(struct wp_refusals *refusals);
/* The text of a reason, valid until destroy, and in *count how often it was added. */
const char *wp_refusals_get(struct wp_refusals *refusals, size_t index, uint64_t *count);

#endif
