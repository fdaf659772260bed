/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SOURCE_SOURCE_DISK_H
#define WP_REPORTER_SOURCE_SOURCE_DISK_H
/*
 * Whether this machine's disk may be asked for the text of source files. Their paths come from whoever recorded, so a
 * collector of another host would choose what of this disk is published: all that a release holds must be of this host.
 */
#include "reporter/read/stores.h"

#include <stdbool.h>

/* False with the reason: something in the release is of another host, or nobody can tell any more. */
bool wp_source_disk_is_ours(const struct wp_snapshot *snapshot, struct wp_error *why);

#endif
