/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/supervisor_finding.h"

#include "reporter/display/humanize.h"
#include "reporter/recording/killed_finding.h"
#include "reporter/recording/process_tree.h"
#include "storage/report/report_read.h"

#include <string.h>

#define LEAST_PART 2u   /* of the total in such waits and pauses, and of the recording that who is watched over lives */
#define LEAST_WATCH 4u  /* of the total in such waits */
#define MOST_ASKED 100u /* of the total in waits for what others do, but for their end */
#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* A call that waits for several things at once, for signals, or for children; is_pause: or that is a pause. */
static bool is_watching(const char *sleep, bool is_pause)
{
    static const char *const calls[] = {"select", "pselect6", "poll", "ppoll", "epoll_wait", "epoll_pwait",
        "epoll_pwait2", "rt_sigsuspend", "rt_sigtimedwait", "pause", "wait4", "waitid"};
    if (strncmp(sleep, "sleep:", 6))
        return false;
    size_t size = strcspn(sleep + 6, " ");
    if (is_pause && (!strncmp(sleep + 6, "nanosleep", 9) || !strncmp(sleep + 6, "clock_nanosleep", 15)))
        return true;
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (size == strlen(calls[i]) && !strncmp(sleep + 6, calls[i], size))
            return true;
    return false;
}

/* Whether the cell is such a sleep of the outermost process itself, that a timer ended, or nothing. */
static bool is_watch(const struct wp_facts *facts, const struct wp_cell *cell, bool is_pause)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    bool has_call = false;
    uint32_t layers = 0;
    if (cell->category != WP_DELIBERATE_SLEEP && cell->category != WP_TIMEOUT && cell->category != WP_UNACCOUNTED)
        return false;
    for (uint32_t at = cell->node; at; at = nodes[at].parent) {
        uint32_t style = wp_facts_frame_style(facts, nodes[at].frame);
        layers += style == WP_STYLE_PROCESS;
        has_call |= style == WP_STYLE_SLEEP && is_watching(wp_facts_frame_name(facts, nodes[at].frame), is_pause);
    }
    return has_call && layers == 1;
}

static uint64_t watched_ns(const struct wp_facts *facts, bool is_pause)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        ns += is_watch(facts, &facts->flame.cells[i], is_pause) ? facts->flame.cells[i].ns : 0;
    return ns;
}

/* Time in which the outermost process waits for what another one does: who watches over others asks them nothing. */
static uint64_t asked_ns(const struct wp_facts *facts)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint64_t ns = 0;
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        const char *sleep = "";
        uint32_t layers = 0;
        for (uint32_t at = facts->flame.cells[i].node; at; at = nodes[at].parent) {
            uint32_t style = wp_facts_frame_style(facts, nodes[at].frame);
            layers += style == WP_STYLE_PROCESS;
            sleep = style == WP_STYLE_SLEEP ? wp_facts_frame_name(facts, nodes[at].frame) : sleep;
        }
        ns += layers > 1 && strncmp(sleep, "sleep:wait", 10) ? facts->flame.cells[i].ns : 0;
    }
    return ns;
}

/* Whether it lives for a good part of what was recorded. */
static bool is_long(const struct wp_facts *facts, const struct wp_tree_process *process)
{
    uint64_t end_ns = process->end_ns ? process->end_ns : facts->last_ns;
    return process->start_ns && end_ns > process->start_ns &&
        end_ns - process->start_ns >= (facts->last_ns - facts->first_ns) / LEAST_PART;
}

/* Where most of the total is: the command's own process; 0: not known. */
static uint32_t main_process(const struct wp_facts *facts)
{
    const struct wp_process_tree *tree = facts->tree;
    uint32_t best = 0;
    for (uint32_t i = 0; tree && i < tree->count; i++)
        if (tree->rows[i].is_on_paths && (!best || tree->rows[i].total_ns > tree->rows[best - 1].total_ns))
            best = i + 1;
    return best;
}

static void add_supervisor(struct wp_facts *facts)
{
    struct wp_pool *pool = &facts->pool;
    uint32_t main = facts->is_command ? main_process(facts) : 0, count = 0;
    const struct wp_tree_process *first = NULL;
    for (size_t i = 0; main && i < facts->tree->count; i++) {
        const struct wp_tree_process *process = &facts->tree->rows[i];
        if (process->parent != main || !is_long(facts, process))
            continue;
        first = first ? first : process;
        count++;
    }
    uint64_t ns = first ? watched_ns(facts, true) : 0;
    if (!ns || ns < facts->total_ns / LEAST_PART || watched_ns(facts, false) < facts->total_ns / LEAST_WATCH ||
        asked_ns(facts) > facts->total_ns / MOST_ASKED || facts->finding_count >= WP_FINDINGS)
        return;
    const char *name = facts->tree->rows[main - 1].comm;
    bool is_plain = *first->comm && !first->comm[strspn(first->comm, PLAIN)];
    const char *selector = is_plain ? wp_pool_printf(pool, "workers=comm=%s", first->comm) : "NAME=SELECTOR";
    memmove(&facts->findings[1], &facts->findings[0], facts->finding_count * sizeof(*facts->findings));
    facts->finding_count++;
    facts->findings[0] = (struct wp_finding){.kind = "supervisor",
        .sentence = wp_pool_printf(pool,
            "%s, whose progress this is, only watches over %s %s of its own (%s) for %s (%s): what these do is not in "
            "this "
            "total. `wakepath record -a %s` reports on them, `wakepath view` shows each.",
            name, wp_human_count(pool, count), count == 1 ? "process" : "processes", first->comm,
            wp_human_duration(pool, ns), wp_human_share(pool, ns, facts->total_ns), selector),
        .key = "supervisor",
        .count = count,
        .ns = ns,
        .rank_ns = facts->total_ns + 1,
        .page = WP_PAGE_TREE};
}

void wp_process_findings_add(struct wp_facts *facts)
{
    add_supervisor(facts);
    wp_killed_finding_add(facts);
}
