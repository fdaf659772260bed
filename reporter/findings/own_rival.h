/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_OWN_RIVAL_H
#define WP_REPORTER_FINDINGS_OWN_RIVAL_H
/* Which of a process' own threads had the processor that others of it waited for, by the window. */
#include "reporter/facts/facts.h"

/* "encoder", if that thread ran most of the time of that category that is "behind own threads", and no other thread of
 * the process did; NULL: it is not known, or several. In the facts' pool; out of memory sets pool.failed. */
const char *wp_own_rival(struct wp_facts *facts, uint32_t category);

#endif
