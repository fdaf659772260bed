/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_EARLIER_REPORT_H
#define WP_CLI_RECORD_EARLIER_REPORT_H
/*
 * The report that a new one takes the place of: its pages and its own store go to the folder OUT.old, and what an
 * earlier recording moved there is removed. A mark in that folder says that a recording filled it: a report that
 * somebody moved or made there has none, and stays. Only files of a report are moved or removed.
 */
#include "common/error.h"

#include <limits.h>
#include <stdbool.h>

struct wp_earlier_report {
    char path[PATH_MAX]; /* OUT.old */
    bool is_kept;        /* the report is there now; else there is none, or it stays and is replaced */
    bool is_taken;       /* it stays because OUT.old is somebody else's */
};

/* `store`: the name of its store in `out`. A report that cannot be moved (a mount point) stays, whole. */
int wp_earlier_report_keep(const char *out, const char *store, struct wp_earlier_report *earlier, struct wp_error *err);
/* A report is made in `out`: it is not one that was moved there, if it was. */
void wp_earlier_report_claim(const char *out);

#endif
