/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_EARLIER_REPORT_H
#define WP_CLI_EARLIER_REPORT_H
/*
 * The report that a new one takes the place of: its pages and its own store go to the folder OUT.old, and what an
 * earlier recording moved there is removed. Only files of a report are moved or removed.
 */
#include "common/error.h"

#include <limits.h>
#include <stdbool.h>

/* `store`: the name of its store in `out`. *old_path: where it is now; "" when it stays, for there is no report,
 * somebody else's files are in OUT.old, or the folder cannot be renamed from (a mount point). */
int wp_earlier_report_keep(const char *out, const char *store, char old_path[PATH_MAX], struct wp_error *err);

#endif
