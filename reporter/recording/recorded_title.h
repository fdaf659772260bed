/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_RECORDED_TITLE_H
#define WP_REPORTER_RECORDING_RECORDED_TITLE_H
/* What was recorded, as a person would call it: the command and when, not the names that it is filed under. */
#include "reporter/facts/facts.h"

/* Metadata of a release that `wakepath record` sets: the last command, and the machine's load when it ended. */
#define WP_RECORDED_COMMAND "recorded.command"
#define WP_RECORDED_LOAD "recorded.load"

/* "make -j2"; of a service the aggregate's name. */
const char *wp_recorded_title(struct wp_pool *pool, const struct wp_facts *facts);
/* "2026-11-22 20:54:25 UTC on web-1 (2 CPUs, load 3.1), release v1.2". */
const char *wp_recorded_subtitle(struct wp_pool *pool, const struct wp_facts *facts);

#endif
