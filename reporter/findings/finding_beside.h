/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_FINDING_BESIDE_H
#define WP_REPORTER_FINDINGS_FINDING_BESIDE_H
/*
 * Waits for other threads of the service. What those do is told by itself and stands first, but a large wait is not
 * left out behind what is small.
 */
#include "reporter/facts/facts.h"

/* Gives the longest of those that have no rank a part of its time as one, behind the first finding. */
void wp_finding_beside_raise(struct wp_facts *facts);

#endif
