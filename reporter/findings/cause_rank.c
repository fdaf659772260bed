/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/cause_rank.h"

#include "reporter/evidence/cause_lock.h"
#include "reporter/causes/own_requests.h"
#include "reporter/causes/path_wait.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"

#include <string.h>

#define LEAST_WAIT 4u /* for a lock: this part of what its holders sleep in it themselves */

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* Whether the kernel runs that call there: "__x64_sys_fsync", "__arm64_sys_fsync". */
static bool is_in_call(const struct wp_cause_case *of, uint32_t node)
{
    const struct wp_facts *facts = of->facts;
    for (; style_at(facts, node) == WP_STYLE_KERNEL; node = facts->flame.nodes[node].parent) {
        const char *name = wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
        const char *call = strncmp(name, "__", 2) ? NULL : strstr(name, "_sys_");
        if (call && strlen(call) == 5 + of->call_size && !strncmp(call + 5, of->call, of->call_size))
            return true;
    }
    return false;
}

static bool is_same_place(const struct wp_cause_case *of, uint32_t node)
{
    const struct wp_flame_node *nodes = of->facts->flame.nodes;
    uint32_t place = of->causes->locations[node], own = of->causes->locations[of->cause->sleep];
    return place == own || (place && own && nodes[place].frame == nodes[own].frame);
}

/* What the call runs itself. */
static uint64_t run_in_call(const struct wp_cause_case *of)
{
    const struct wp_flame *flame = &of->facts->flame;
    uint64_t ns = 0;
    for (uint32_t i = 0; of->call_size && i < flame->cell_count; i++)
        if (flame->cells[i].category == WP_UNDERSTOOD_FUNCTIONS && is_same_place(of, flame->cells[i].node) &&
            is_in_call(of, flame->cells[i].node))
            ns += flame->cells[i].ns;
    return ns;
}

/* Its part of its process' runs without a sample, for a run ends with a sleep. */
static uint64_t run_between(const struct wp_cause_case *of)
{
    const struct wp_flame *flame = &of->facts->flame;
    uint64_t ns = 0, count = 0;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        if (flame->cells[i].category != WP_RUNNING_NOT_SAMPLED || flame->cells[i].node != of->cause->process)
            continue;
        ns += flame->cells[i].ns;
        count += flame->cells[i].count;
    }
    return of->sleeps < count ? (uint64_t)((double)ns * (double)of->sleeps / (double)count) : ns;
}

uint64_t wp_cause_blamed(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    if (cause->kind != WP_CAUSE_KIND_PATH || wp_path_wait_is_asked(causes, facts, row))
        return cause->ns;
    return wp_own_requests_wait_ns(causes, facts, row); /* else what goes on there is told by itself */
}

uint64_t wp_cause_rank(const struct wp_cause_case *of)
{
    uint64_t ns = wp_cause_blamed(of->causes, of->facts, of->row);
    if (!ns)
        return 0;
    /* A lock that is waited for much is what to mend, also where its holders' own pause in it takes longer. */
    if (of->own_ns / LEAST_WAIT < of->cause->ns)
        ns += of->own_ns;
    if (of->cause->kind == WP_CAUSE_KIND_DISK)
        ns += run_in_call(of);
    return of->sleeps ? ns + run_between(of) : ns;
}

bool wp_cause_is_told_beside(const struct wp_cause_case *of)
{
    uint32_t requests;
    wp_report_transactions(of->facts->report, &requests);
    return !requests && of->cause->kind == WP_CAUSE_KIND_PATH && !wp_cause_is_idle(of->facts, of->cause->sleep);
}
