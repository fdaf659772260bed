/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_callers.h"

#include "common/intmap.h"
#include "reporter/evidence/callers.h"

#include <stdlib.h>

/* Whether the cause is a sleep in one function of the program, which several call. */
static bool is_parted(const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_cause_fact *cause)
{
    uint32_t place = causes->locations[cause->sleep];
    bool is_kind = cause->kind == WP_CAUSE_KIND_SLEEP || cause->kind == WP_CAUSE_KIND_TIMEOUT ||
        cause->kind == WP_CAUSE_KIND_PEER || cause->kind == WP_CAUSE_KIND_FLIGHT ||
        cause->kind == WP_CAUSE_KIND_SERVICE;
    return is_kind && place && causes->callers[facts->flame.nodes[place].frame] == WP_CALLERS_SEVERAL;
}

/* Frame of who calls there; 0 none of the program, or where all of it begins. */
static uint32_t caller_of(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t sleep)
{
    uint32_t caller = wp_code_location_caller(facts, causes->locations, sleep);
    uint32_t frame = facts->flame.nodes[caller].frame;
    return caller && !wp_code_location_is_entry(wp_facts_frame_name(facts, frame)) ? frame : 0;
}

/* Of a cause: the caller with most of it. */
struct most {
    uint64_t ns;
    uint32_t caller;
};

static void find_most(const struct wp_causes *causes, struct wp_facts *facts, struct most *most, uint64_t *sums)
{
    struct wp_intmap index = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        uint32_t row = causes->cell_cause[i], at = count;
        if (!row || !is_parted(causes, facts, &causes->rows[row - 1]))
            continue;
        uint32_t caller = caller_of(causes, facts, causes->cell_sleep[i]);
        struct wp_intkey key = {caller, row};
        if (!wp_intmap_get(&index, key, &at))
            facts->pool.failed |= wp_intmap_put(&index, key, at = count++) != 0;
        sums[at] += facts->flame.cells[i].ns;
        if (caller && sums[at] > most[row - 1].ns)
            most[row - 1] = (struct most){sums[at], caller};
    }
    wp_intmap_fini(&index);
}

void wp_cause_callers_mark(const struct wp_causes *causes, struct wp_facts *facts)
{
    struct most *most = calloc(causes->count + 1u, sizeof(*most));
    uint64_t *sums = calloc(facts->flame.cell_count + 1u, sizeof(*sums));
    facts->pool.failed |= !most || !sums;
    if (most && sums)
        find_most(causes, facts, most, sums);
    for (uint32_t i = 0; most && i < facts->flame.cell_count; i++) {
        uint32_t row = causes->cell_cause[i];
        const struct most *best = row ? &most[row - 1] : NULL;
        causes->cell_rest[i] = best && best->caller && wp_cause_caller_has_most(best->ns, causes->rows[row - 1].ns) &&
            caller_of(causes, facts, causes->cell_sleep[i]) != best->caller;
    }
    free(most);
    free(sums);
}
