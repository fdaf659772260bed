/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_ASK_COUNTS_H
#define WP_REPORTER_FACTS_ASK_COUNTS_H
/* What threads of interest asked of their peers, by count: requests that they sent, and connections that they opened.
 */
#include "reporter/facts/facts.h"

/* Whether a row of the report's limits is one of these figures; then it is taken. There is room for as many in
 * facts->asks. */
bool wp_ask_counts_take(struct wp_facts *facts, const char *name, uint64_t count);
/* Of the process whose frame is at that node of the flame; `peer` as waits have it, "tcp 10.0.0.7:5432". NULL: it is
 * not known to have asked that one. */
const struct wp_ask_fact *wp_ask_counts_of(const struct wp_facts *facts, uint32_t process, const char *peer);
/* Is that process the one whose frame is at that node? */
bool wp_ask_counts_is_of(const struct wp_facts *facts, uint32_t process, const char *who);

#endif
