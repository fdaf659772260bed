/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/pattern_herd.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/stack_text.h"
#include "reporter/causes/cause_counts.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_REQUESTS 10u  /* answered; fewer tell nothing */
#define LEAST_WOKEN 6u      /* for each of them: a pool's threads that have something to do are fewer */
#define MOST_RUNS_OF_TWO 3u /* of two threads for one answer: woken once each, and interrupted now and then */

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

static bool is_process(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_style(facts, facts->flame.nodes[node].frame) == WP_STYLE_PROCESS;
}

/* Answers over sockets that the process of interest slept for. */
static uint64_t count_answers(const struct wp_facts *facts, const uint8_t *layers)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        uint32_t sleep = cell->category == WP_SCHEDULER ? wp_facts_below_scheduler(facts, cell->node) : 0;
        if (sleep && layers[sleep] == 1 && wp_cause_peer(facts, sleep))
            count += cell->count;
    }
    return count;
}

/* By node of the flame how many layers of processes stand up to it; in work that was started the starter's is one. */
static uint8_t *count_layers(const struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    uint8_t *layers = calloc(flame->count + 1u, 1);
    for (uint32_t i = 1; layers && i < flame->count; i++) {
        uint8_t below = layers[flame->nodes[i].parent];
        layers[i] = (uint8_t)(below + (is_process(facts, i) && below < 3));
    }
    return layers;
}

struct woken {
    uint64_t runs, most_ns;
    uint32_t location; /* a node of the work's flame in the function that most of its time is in; 0 none */
};

static void add_runs(struct woken *woken, const struct wp_facts *work, const uint8_t *layers, const uint32_t *locations,
    const char *name)
{
    uint64_t *sums = calloc(work->flame.count + 1u, sizeof(*sums));
    for (uint32_t i = 0; sums && i < work->flame.cell_count; i++) {
        const struct wp_cell *cell = &work->flame.cells[i];
        uint32_t at = cell->node;
        while (at && !is_process(work, at))
            at = work->flame.nodes[at].parent;
        struct wp_pool scratch = {0};
        bool is_its = layers[at] == 2 && !strcmp(wp_stack_plain_process(&scratch, name_at(work, at)), name);
        wp_pool_fini(&scratch);
        if (!is_its)
            continue;
        if (cell->category == WP_UNDERSTOOD_FUNCTIONS || cell->category == WP_RUNNING_NOT_SAMPLED)
            woken->runs += cell->count;
        uint32_t location = locations[cell->node];
        if (!location)
            continue;
        sums[location] += cell->ns;
        if (sums[location] > woken->most_ns) {
            woken->most_ns = sums[location];
            woken->location = location;
        }
    }
    free(sums);
}

/* Threads of that name in the window that are not of the process of interest; 0: no window was kept. */
static uint64_t count_members(const struct wp_facts *facts, const char *name)
{
    const struct wp_trace *trace = facts->by_threads ? facts->by_threads : facts->trace;
    uint64_t count = 0;
    for (uint32_t i = 0; trace && i < trace->thread_count; i++)
        count += !trace->threads[i].is_base && !strcmp(wp_intern_text(trace->strings, trace->threads[i].comm), name);
    return count;
}

/* Each of a herd waits for the same and goes back to sleep when it finds nothing, so most of them run for each answer:
 * of threads that are made for a connection each, or processes that only share a name, few do. Few threads that run
 * often for an answer share its work, as those of a language's scheduler do. */
static bool is_crowd(const struct wp_facts *facts, const char *name, uint64_t runs_per_answer)
{
    uint64_t members = count_members(facts, name);
    bool is_known = facts->by_threads || facts->trace;
    return runs_per_answer >= LEAST_WOKEN &&
        (!is_known ||
            (members >= LEAST_WOKEN && runs_per_answer * 2 >= members &&
                runs_per_answer * 2 <= members * MOST_RUNS_OF_TWO));
}

struct wp_pattern wp_pattern_of_herd(struct wp_facts *facts, const char *name)
{
    struct wp_facts *work = facts->detached;
    uint8_t *layers = work ? count_layers(facts) : NULL, *work_layers = work ? count_layers(work) : NULL;
    uint32_t *locations = work ? wp_code_locations_build(&work->pool, work) : NULL;
    struct wp_pattern pattern = {0};
    struct woken woken = {0};
    uint64_t answers = layers ? count_answers(facts, layers) : 0;
    facts->pool.failed |= work && (!layers || !work_layers || !locations);
    if (work_layers && locations && answers >= LEAST_REQUESTS)
        add_runs(&woken, work, work_layers, locations, name);
    free(layers);
    free(work_layers);
    if (!answers || !is_crowd(facts, name, woken.runs / answers))
        return pattern;
    struct wp_code_location location =
        woken.location ? wp_code_location_at(work, locations, woken.location) : (struct wp_code_location){0};
    const char *where = wp_code_location_text(&facts->pool, &location);
    pattern.key = "thundering_herd";
    pattern.title = "Thundering herd";
    pattern.sure = WP_SURETY_LIKELY;
    pattern.evidence =
        wp_pool_printf(&facts->pool, "%s answers came, and for each of them others were set going %s times%s%s",
            wp_human_count(&facts->pool, answers), wp_human_count(&facts->pool, woken.runs / answers),
            *where ? ", in " : "", where);
    return pattern;
}
