/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_VIEW_BUSIEST_H
#define WP_CLI_VIEW_BUSIEST_H
/* Which processes of a report get pages of their own with the recording, so that a page on a disk leads to them. */
#include "cli/view/own_pages.h"

#define WP_BUSIEST 4u

/* At most WP_BUSIEST of those with most time on paths in a summary.json: each has a hundredth of the total and 20 ms.
 * `base`: a process that the report itself is of, left out. 0 or -errno. */
int wp_busiest_choose(
    const char *summary, uint32_t base, struct wp_own_page pages[WP_BUSIEST], unsigned *count, struct wp_error *err);
/* Writes the list that pages read, of those whose files are in `folder`; *listed: how many. */
int wp_busiest_list(
    const char *folder, const struct wp_own_page *pages, unsigned count, unsigned *listed, struct wp_error *err);

#endif
