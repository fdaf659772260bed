/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_PATH_WAIT_H
#define WP_REPORTER_CAUSES_PATH_WAIT_H
/* Waits for a control path of its own: a thread of the same process, or another process that is busy with other work.
 */
#include "reporter/causes/cause_holder.h"

/* The process or thread whose path that is, "[gateway]" of the label on top, */
const char *wp_path_wait_whose(const struct wp_facts *facts, uint32_t node);
/* ... and for whom it works in half of the cause's time or more; NULL: it is not told. */
const char *wp_path_wait_for(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* Whether that is a thread of the process that waits. */
bool wp_path_wait_is_own(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* Whether that is a process which does other work: none of interest, whose threads are paths whatever they do. */
bool wp_path_wait_is_busy(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* Whether it is what the program wants of somebody: a lock, an answer, or the last one at a barrier. Else its thread
 * may well be idle. */
bool wp_path_wait_is_asked(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);
/* What goes on meanwhile on the paths that the cause of that row waits for; a lock's too, where its stacks do not say
 * it. Node 0: not known. Out of memory shows in facts->pool.failed. */
struct wp_cause_held wp_path_wait_held(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);

#endif
