/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_WRAPPERS_H
#define WP_REPORTER_EVIDENCE_WRAPPERS_H
/* Programs that start another one and wait for its end: timeout, sh, make, env. */
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* Whether that sleep waits for a child's end. */
bool wp_wrapper_is_for_child(const struct wp_facts *facts, uint32_t sleep);
/* Whether the process of that node is one by its name, whose own functions tell nothing of what it runs. */
bool wp_wrapper_is_name(const struct wp_facts *facts, uint32_t process);

#endif
