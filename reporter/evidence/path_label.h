/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_PATH_LABEL_H
#define WP_REPORTER_EVIDENCE_PATH_LABEL_H
/* What a label of another control path, "path:[gateway]", stands on. */
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* Whether that is a connection's other end that was asked, "tcp:10.0.0.7:80", and not one that asks. */
bool wp_path_label_is_answer(const struct wp_facts *facts, uint32_t node);

#endif
