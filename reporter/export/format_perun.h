/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_PERUN_H
#define WP_REPORTER_EXPORT_FORMAT_PERUN_H
/*
 * Perun's profile format (JSON: origin, header, collector_info, postprocessors, snapshots, chunks). A resource is the
 * time on top of one pseudo-stack in one category; a snapshot holds those of one interval of the recording, and what
 * the report knows no time of stands in the last one. The amounts add up to the total. A trace that several resources
 * have is written once, in chunks, and they name its key instead. Traces begin with the innermost frame.
 *
 * The whole one has every trace where it is and no chunks: Perun's document calls these a proposal, and its programs
 * (0.21.8) do not look into them.
 */
#include "reporter/facts/facts.h"

/* Appends the profile, with repeated traces in chunks. -ENOMEM. */
int wp_format_perun(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);
/* Appends the profile without chunks. -ENOMEM. */
int wp_format_perun_whole(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
