/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_RING_FACTS_H
#define WP_COLLECTOR_LIVE_RING_FACTS_H
/* Records of the ring (collector/bpf/ring_record.h) as facts. */
#include "collector/bpf/ring_record.h"
#include "collector/host/source.h"

struct wp_file_paths;

/* Embedded. */
struct wp_ring_facts {
    struct wp_file_paths *paths; /* borrowed: what paths are is kept there, for block requests */
    struct wp_fact_sink sink;
    struct wp_fact usual; /* of switches, wakings and messages, which leave most of it 0 for good */
};

/* Copies the sink. `paths` and the sink's context stay borrowed while `facts` is used; there is nothing to free. */
void wp_ring_facts_init(struct wp_ring_facts *facts, struct wp_file_paths *paths, const struct wp_fact_sink *sink);
/* A record as it is in the ring: WP_RECORD_SHORT or WP_RECORD_QUICK bytes of its head, or the head and its tail,
 * aligned to 8. The sink's answer. */
int wp_ring_fact(struct wp_ring_facts *facts, const void *record, size_t size, struct wp_error *err);

#endif
