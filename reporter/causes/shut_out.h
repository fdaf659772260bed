/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_SHUT_OUT_H
#define WP_REPORTER_CAUSES_SHUT_OUT_H
/* Connections that wait to be taken: their requests are dropped where as many wait for who accepts them as may. */
#include "reporter/causes/cause_case.h"

/* Whether the cause is calls of connect that take as long as a request takes that is sent again, to a process that is
 * recorded or by loopback, where nothing else loses it; *by: "oneatatime", in the facts' pool, or "who listens there".
 */
bool wp_cause_is_shut_out(const struct wp_cause_case *of, const char **by);

#endif
