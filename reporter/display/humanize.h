/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_HUMANIZE_H
#define WP_REPORTER_DISPLAY_HUMANIZE_H
/* Numbers as people read them; assets/units.js says the same numbers the same way. */
#include "reporter/base/text_pool.h"

#include <stdint.h>

/* "830 ns", "12.3 µs", "4.1 s", "3 min 20 s", "2 h 05 min": about three digits. */
const char *wp_human_duration(struct wp_pool *pool, uint64_t ns);
/* Of `whole`: "41 %", "4.1 %", "0.3 %", "< 0.1 %", "0 %". */
const char *wp_human_share(struct wp_pool *pool, uint64_t part, uint64_t whole);
/* "98.2 %" */
const char *wp_human_percent(struct wp_pool *pool, double percent);
/* "1 234 567" */
const char *wp_human_count(struct wp_pool *pool, uint64_t count);
/* "1 release", "1 234 releases": a noun whose plural has an s. */
const char *wp_human_many(struct wp_pool *pool, uint64_t count, const char *noun);
/* "812 B", "4.1 kB", "12.3 MB": powers of 1000, about three digits. */
const char *wp_human_bytes(struct wp_pool *pool, uint64_t bytes);
/* "2026-11-20 22:14:05 UTC" of a real time; "unknown" for 0. */
const char *wp_human_time(struct wp_pool *pool, uint64_t real_ns);

#endif
