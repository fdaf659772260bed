/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_ORIGINS_H
#define WP_REPORTER_RECORDING_ORIGINS_H
/*
 * Whose time an aggregate's is: the hosts of the process of interest, as far as the store can tell them apart. Each
 * host has reports of its own there; those of older stores are the sum of their shard, and a shard of one host is that
 * host. What stands on another host's frame says so itself.
 */
#include "reporter/facts/facts.h"
#include "reporter/facts/page_context.h"

struct wp_selection;
struct wp_snapshot;

/* Fills context->origins. Reads the aggregate once more, host by host, when there are several. -ENOMEM. */
int wp_origins_read(struct wp_page_context *context, const struct wp_snapshot *snapshot,
    const struct wp_selection *selection, struct wp_error *err);

#endif
