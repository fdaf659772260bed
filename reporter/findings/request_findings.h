/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_REQUEST_FINDINGS_H
#define WP_REPORTER_FINDINGS_REQUEST_FINDINGS_H
/* Findings of requests: what a usual one consists of, what makes slow ones slow, connections for each. */
#include "reporter/facts/facts.h"

#define WP_REQUEST_FINDINGS 4u

/* Fills `found`, returns how many; facts->findings has those of causes, which it does not repeat. Texts live in the
 * facts' pool, whose failed says that it ran out of memory. */
size_t wp_request_findings(struct wp_facts *facts, struct wp_finding found[WP_REQUEST_FINDINGS]);

#endif
