/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_CALLERS_H
#define WP_REPORTER_EVIDENCE_CALLERS_H
/* Which functions of the program several of its functions call: of these the caller tells more. */
#include "reporter/facts/code_location.h"

#include <stdbool.h>

#define WP_CALLERS_SEVERAL UINT32_MAX

/* By frame of the report: the frame of the program's own function that calls it, WP_CALLERS_SEVERAL of them, 0 none; in
 * the pool, NULL when out of memory. `locations`: wp_code_locations_build, NULL when that was out of memory. */
uint32_t *wp_callers_build(struct wp_pool *pool, const struct wp_facts *facts, const uint32_t *locations);

#endif
