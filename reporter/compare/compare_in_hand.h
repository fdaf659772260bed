/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_IN_HAND_H
#define WP_REPORTER_COMPARE_COMPARE_IN_HAND_H
/*
 * Threads that wait for another of theirs with a request in hand, as for a connection of a pool: the stack looks as
 * that of an idle worker, but requests say that they consist of it. Used by compare*.c alone.
 */
#include "reporter/compare/compare_rows.h"

/* Clears tree->waits where threads seem to wait for work in a function that requests have most of this time of. The
 * tree is filled. -ENOMEM. */
int wp_compare_in_hand(struct wp_compare_tree *tree);

#endif
