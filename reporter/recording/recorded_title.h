/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RECORDED_TITLE_H
#define WP_REPORTER_RECORDING_RECORDED_TITLE_H
/* What was recorded, as a person would call it: the command and when, not the names that it is filed under. */
#include "reporter/facts/facts.h"

/* The newest recording's value of a key of storage/value/recorded_keys.h; NULL: it was not told. */
const char *wp_recorded_text(const struct wp_facts *facts, const char *key);
/* The command line; NULL: the aggregate is of none, or it was left out. */
const char *wp_recorded_line(const struct wp_facts *facts);
/* What the command worked on, as --workload named it; NULL: that was not told. */
const char *wp_recorded_workload(const struct wp_facts *facts);
/* Bytes of the first word of a command line, which stands in quotes where it has unusual characters. */
size_t wp_recorded_word(const char *line);
/* "sleep 0.1, workload big": what tells an aggregate from others of its name; "" where nothing was told. */
const char *wp_recorded_what(struct wp_pool *pool, const struct wp_facts *facts);
/* Both were told and are not the same: the folder of the program does not count, nor a command that one side left out.
 */
bool wp_recorded_differs(const struct wp_facts *one, const struct wp_facts *other);
/* "make -j2"; of a process picked by its number "nginx (pid 71)"; of a service the aggregate's name. */
const char *wp_recorded_title(struct wp_pool *pool, const struct wp_facts *facts);
/* "2026-11-22 20:54:25 UTC on web-1 (2 CPUs, load 3.1), release v1.2". */
const char *wp_recorded_subtitle(struct wp_pool *pool, const struct wp_facts *facts);

#endif
