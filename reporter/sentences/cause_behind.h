/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_CAUSE_BEHIND_H
#define WP_REPORTER_SENTENCES_CAUSE_BEHIND_H
/* What stands between who waits and who does what a cause is about. */
#include "reporter/causes/cause_case.h"

/* ", behind a row lock of postgres,"; "" of none that is known. In the facts' pool. */
const char *wp_cause_behind_text(const struct wp_cause_case *of);

#endif
