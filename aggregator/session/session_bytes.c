/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_bytes.h"

#include "aggregator/session/host_session_body.h"
#include "aggregator/timeline/timeline_gone.h"

void wp_session_bytes_add(struct wp_session_bytes *bytes, const struct wp_host_session *session)
{
    bytes->dictionary += wp_dictionary_held(session->dictionary);
    bytes->timeline += wp_timeline_bytes(&session->timeline);
    bytes->mappings += wp_mappings_bytes(&session->mappings);
    bytes->ends += wp_connections_bytes(session->source.fleet->connections, session->source.home);
    bytes->kept += session->pending_bytes.capacity + session->scratch.capacity +
        session->pending_room * sizeof(*session->pending) + session->mark_room * sizeof(*session->marks) +
        session->late_room * sizeof(*session->late);
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_bytes_add(&bytes->aggregates, session->aggregates[i]);
}

uint64_t wp_session_bytes(const struct wp_host_session *session)
{
    struct wp_session_bytes bytes = {0};
    wp_session_bytes_add(&bytes, session);
    return sizeof(*session) + bytes.dictionary + bytes.timeline + bytes.mappings + bytes.ends + bytes.kept +
        wp_aggregate_bytes_sum(&bytes.aggregates);
}
