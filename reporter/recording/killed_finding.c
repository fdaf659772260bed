/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/killed_finding.h"

#include "reporter/display/humanize.h"
#include "reporter/recording/process_tree.h"
#include "storage/kind/genealogy_store.h"

#include <string.h>

#define WHOLE "the whole machine"

static bool is_killed(const struct wp_facts *facts, const struct wp_tree_process *process)
{
    return process->ending == WP_ENDING_OOM && process->end_ns && process->end_ns >= facts->first_ns &&
        (!facts->last_ns || process->start_ns <= facts->last_ns);
}

/* Of one name, for want of one group's memory. */
static bool is_alike(const struct wp_tree_process *one, const struct wp_tree_process *other)
{
    size_t size = strcspn(one->memory, ";");
    return !strcmp(one->comm, other->comm) && size == strcspn(other->memory, ";") &&
        !strncmp(one->memory, other->memory, size);
}

struct killed {
    const struct wp_tree_process *first; /* of those killed most often */
    uint32_t count, all;
    uint64_t ns;
};

static struct killed find(const struct wp_facts *facts)
{
    const struct wp_process_tree *tree = facts->tree;
    struct killed most = {0};
    for (size_t i = 0; tree && i < tree->count; i++) {
        struct killed own = {.first = &tree->rows[i]};
        if (!is_killed(facts, own.first))
            continue;
        most.all++;
        for (size_t k = i; k < tree->count; k++)
            if (is_killed(facts, &tree->rows[k]) && is_alike(own.first, &tree->rows[k])) {
                own.count++;
                own.ns += tree->rows[k].total_ns;
            }
        if (own.count > most.count) {
            own.all = most.all;
            most = own;
        }
    }
    return most;
}

static const char *sentence(struct wp_pool *pool, const struct killed *killed)
{
    const char *memory = killed->first->memory;
    bool is_whole = !strncmp(memory, WHOLE, sizeof(WHOLE) - 1);
    const char *whose = *memory ? wp_pool_printf(pool, " (%s %s)", is_whole ? "of" : "limit of", memory) : "";
    uint32_t others = killed->all - killed->count;
    const char *times = killed->count > 1 ? wp_pool_printf(pool, " %s times", wp_human_count(pool, killed->count)) : "";
    const char *rest = others ? wp_pool_printf(pool, " So %s %s other%s.", others > 1 ? "were" : "was",
                                    wp_human_count(pool, others), others > 1 ? "s" : "")
                              : "";
    return wp_pool_printf(pool, "%s was killed%s: out of memory%s.%s", killed->first->comm, times, whose, rest);
}

void wp_killed_finding_add(struct wp_facts *facts)
{
    struct killed killed = find(facts);
    if (!killed.all || facts->finding_count >= WP_FINDINGS)
        return;
    memmove(&facts->findings[1], &facts->findings[0], facts->finding_count * sizeof(*facts->findings));
    facts->finding_count++;
    facts->findings[0] = (struct wp_finding){.kind = "killed",
        .sentence = sentence(&facts->pool, &killed),
        .count = killed.count,
        .ns = killed.ns < facts->total_ns ? killed.ns : facts->total_ns,
        .rank_ns = facts->total_ns + 1,
        .page = WP_PAGE_TREE};
}
