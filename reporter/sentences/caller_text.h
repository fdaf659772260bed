/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_CALLER_TEXT_H
#define WP_REPORTER_SENTENCES_CALLER_TEXT_H
/* Who calls the function that a cause is told by, where that one is called from several places. */
#include "reporter/causes/cause_case.h"

/* ", called from `back_off` (orders.c:34)", if nearly all of the cause's time comes from there; "". In the facts' pool.
 */
const char *wp_caller_text(const struct wp_cause_case *of);
/* The same of what who ends the wait did meanwhile. */
const char *wp_caller_of_holder_text(const struct wp_cause_case *of);

#endif
