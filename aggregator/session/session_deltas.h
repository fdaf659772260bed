/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_DELTAS_H
#define WP_AGGREGATOR_SESSION_SESSION_DELTAS_H
/* The deltas of all aggregates of a session: closed for a commit, and begun anew when they are in the store. */
#include <stdint.h>

struct wp_host_session;

/* The first second of the timebox that the deltas belong to; timeboxes of that length. */
uint64_t wp_session_deltas_timebox(const struct wp_host_session *session, uint64_t timebox_s);
/* An epoch belongs to the timebox in which it begins: if the next one is the first of another timebox, other deltas
 * begin. */
void wp_session_deltas_part(struct wp_host_session *session);
/* For a commit: has_deltas of the progress says whether there are any. */
void wp_session_deltas_close(struct wp_host_session *session);
/* Those of that release are in the store, and must not be written again, whatever becomes of the others. */
void wp_session_deltas_mark_stored(struct wp_host_session *session, const char *release, uint64_t timebox_s);
/* All names so far, of processes, lines and mappings, are in the store. */
void wp_session_deltas_mark_names(struct wp_host_session *session);
/* All releases, and the names. `metadata_s`: when what is said of the host was last written. */
void wp_session_deltas_mark_committed(struct wp_host_session *session, uint64_t metadata_s);

#endif
