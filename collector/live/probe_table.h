/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_PROBE_TABLE_H
#define WP_COLLECTOR_LIVE_PROBE_TABLE_H
/* What a probe found, for people and for programs. */
#include "collector/live/probe.h"
#include "common/buffer.h"

/* A table for people, and the same as JSON. */
int wp_probe_text(const struct wp_probe *probe, struct wp_buffer *text);
/* Appends, as wp_probe_text does. -ENOMEM. */
int wp_probe_json(const struct wp_probe *probe, struct wp_buffer *text);

#endif
