/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_PERFETTO_H
#define WP_REPORTER_EXPORT_FORMAT_PERFETTO_H
/*
 * Trace event JSON, as ui.perfetto.dev and chrome://tracing read it, of the window that was kept event by event: a
 * process a process and host, a track a thread, runs and sleeps as slices, links as flow arrows. Ids are made up, since
 * two hosts may have the same pid; the real ones stand in the names and arguments. Times are microseconds from the
 * window's start.
 */
#include "reporter/facts/facts.h"

/* -ENOENT: no window was kept. */
int wp_format_perfetto(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
