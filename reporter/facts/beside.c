/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/beside.h"

#include "common/strings.h"
#include "reporter/display/humanize.h"

#include <stdlib.h>
#include <string.h>

static struct wp_beside_fact *row_of(struct wp_facts *facts, const char *who)
{
    for (size_t i = 0; i < facts->beside_count; i++)
        if (!strcmp(facts->beside[i].who, who))
            return &facts->beside[i];
    struct wp_beside_fact *row = &facts->beside[facts->beside_count++];
    *row = (struct wp_beside_fact){.who = who};
    return row;
}

bool wp_beside_take(struct wp_facts *facts, const char *name, uint64_t ns)
{
    bool is_idle = !strncmp(name, WP_REPORT_IDLE, strlen(WP_REPORT_IDLE));
    if (!strcmp(name, WP_REPORT_PROGRESS))
        return facts->is_progress = true;
    if (!is_idle && strncmp(name, WP_REPORT_UNWAITED, strlen(WP_REPORT_UNWAITED)))
        return false;
    struct wp_beside_fact *row = row_of(facts, name + strlen(is_idle ? WP_REPORT_IDLE : WP_REPORT_UNWAITED));
    *(is_idle ? &row->idle_ns : &row->unwaited_ns) += ns;
    *(is_idle ? &facts->idle_ns : &facts->unwaited_ns) += ns;
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct wp_beside_fact *a = left, *b = right;
    if (a->unwaited_ns != b->unwaited_ns)
        return a->unwaited_ns > b->unwaited_ns ? -1 : 1;
    if (a->idle_ns != b->idle_ns)
        return a->idle_ns > b->idle_ns ? -1 : 1;
    return strcmp(a->who, b->who);
}

void wp_beside_sort(struct wp_facts *facts)
{
    if (facts->beside_count)
        qsort(facts->beside, facts->beside_count, sizeof(*facts->beside), compare);
}

static bool is_by_threads(const char *aggregate)
{
    size_t size = strlen(aggregate), end = strlen(WP_BESIDE_THREADS);
    return size > end && !strcmp(aggregate + size - end, WP_BESIDE_THREADS);
}

void wp_beside_find_other(struct wp_page_context *context, const struct wp_snapshot *snapshot)
{
    const char *own = context->facts->aggregate;
    const char *other = is_by_threads(own)
        ? wp_pool_printf(&context->pool, "%.*s", (int)(strlen(own) - strlen(WP_BESIDE_THREADS)), own)
        : wp_pool_printf(&context->pool, "%s" WP_BESIDE_THREADS, own);
    char **aggregates = NULL;
    size_t count = 0;
    if (wp_snapshot_aggregates(snapshot, &aggregates, &count, NULL))
        return;
    for (size_t i = 0; other && i < count; i++)
        if (!strcmp(aggregates[i], other))
            context->other_view = other;
    wp_strings_free(aggregates, count);
}

const char *wp_beside_word(const struct wp_facts *facts)
{
    return facts->is_progress ? "progress" : facts->idle_ns ? "busy" : "threads";
}

const char *wp_beside_base(const struct wp_facts *facts)
{
    if (facts->is_progress)
        return "progress of the main thread";
    return facts->idle_ns                 ? "all threads, idle workers aside"
        : is_by_threads(facts->aggregate) ? "all threads, idle or not"
                                          : "of all control paths";
}

const char *wp_beside_sentence(struct wp_pool *pool, const struct wp_facts *facts)
{
    if (!facts->idle_ns && !facts->unwaited_ns)
        return NULL;
    const char *idle =
        wp_pool_printf(pool, "its idle workers had nothing to do for %s", wp_human_duration(pool, facts->idle_ns));
    const char *work = wp_pool_printf(pool, "other threads worked for %s that the main thread did not wait for",
        wp_human_duration(pool, facts->unwaited_ns));
    bool is_less = facts->is_progress && facts->unwaited_ns > facts->total_ns - facts->categories[WP_DELIBERATE_SLEEP];
    return wp_pool_printf(pool, "Beside the total, all threads together: %s%s%s.%s", facts->unwaited_ns ? work : "",
        facts->unwaited_ns && facts->idle_ns ? "; " : "", facts->idle_ns ? idle : "",
        is_less ? " That is more than the main thread's progress: the view by threads tells more here." : "");
}
