/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_LOAD_OTHER_WINDOWS_H
#define WP_REPORTER_LOAD_OTHER_WINDOWS_H
/*
 * The pages Chronology and Running show the beginning of the newest recording. A store has one such window a timebox
 * and shard: the newest of the others stand behind the exemplars, with pages of their own, so that another time, shard
 * or host can be looked at.
 */
#include "reporter/facts/facts.h"

#define WP_OTHER_WINDOWS 5u

/* Adds them to facts->exemplars; those that cannot be read are left out. -ENOMEM. */
int wp_other_windows_read(struct wp_facts *facts, const struct wp_snapshot *snapshot,
    const struct wp_selection *selection, struct wp_error *err);
/* All windows as large as pages have them (window_fit.h): the first one WP_WINDOW_BYTES, each other one an eighth of
 * that. -ENOMEM. */
int wp_other_windows_fit(struct wp_facts *facts, struct wp_error *err);

#endif
