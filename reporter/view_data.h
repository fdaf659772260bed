/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_VIEW_DATA_H
#define WP_REPORTER_VIEW_DATA_H
/*
 * What the drawn views read: scripts that hand one compact object to wakepath.data (a page opened from a disk may load
 * scripts, but not fetch files). Columns of integers; frames and names once each. reporter/README.md names the columns.
 */
#include "reporter/facts.h"

int wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);
/* facts->trace must be there. */
int wp_view_data_trace(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
