/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCKS_H
#define WP_AGGREGATOR_CLOCKS_H
#include <stdbool.h>
#include <stdint.h>
struct wp_clocks;
int wp_clocks_create(struct wp_clocks **clocks);
void wp_clocks_destroy(struct wp_clocks *clocks);
int wp_clocks_add(struct wp_clocks *clocks, uint32_t *node);
void wp_clocks_remove(struct wp_clocks *clocks, uint32_t node);
void wp_clocks_message(struct wp_clocks *clocks, uint32_t from, uint64_t sent_ns, uint32_t to, uint64_t received_ns);
void wp_clocks_step(struct wp_clocks *clocks, uint32_t node, uint64_t at_ns);
struct wp_offset {
    int64_t offset_ns;
    uint64_t bound_ns;
};
bool wp_clocks_map(struct wp_clocks *clocks, uint32_t from, uint64_t at_ns, uint32_t to, struct wp_offset *out);
#endif
