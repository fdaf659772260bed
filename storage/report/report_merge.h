/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_MERGE_H
#define WP_STORAGE_REPORT_REPORT_MERGE_H
/* The merge law: two reports become their sum. */
#include "storage/report/report.h"

#include <stdbool.h>

/* Adds all of `from`, which stays as it is. -ENOMEM, also when either has lost something; `into` may then have a
 * part of it and is only fit to be cleared or destroyed. */
int wp_report_merge(struct wp_report *into, const struct wp_report *from, struct wp_error *err);
/* The same without the nodes of `from` that are left out (by id): what stood on one stands on the next below that is
 * not. One with nothing below it stays. Detached work is not added. */
int wp_report_merge_without(
    struct wp_report *into, const struct wp_report *from, const bool *is_left_out, struct wp_error *err);

#endif
