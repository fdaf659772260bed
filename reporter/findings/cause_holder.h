/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_CAUSE_HOLDER_H
#define WP_REPORTER_FINDINGS_CAUSE_HOLDER_H
/* What ends a wait, and what that one does meanwhile. */
#include "reporter/findings/causes.h"

/* What the holders of the lock did meanwhile: the node with most time of it and how much; 0: not known. */
uint32_t wp_cause_held_in(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row, uint64_t *ns);
/* What the runtime does most while it has threads stopped for the cause of that row: "VM_ThreadDump", in the facts'
 * pool; "" not known. */
const char *wp_cause_operation(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);

#endif
