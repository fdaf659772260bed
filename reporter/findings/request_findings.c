/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/request_findings.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/role_name.h"
#include "reporter/findings/connection_finding.h"
#include "reporter/requests/slow_requests.h"
#include "storage/report/report_read.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define THROUGH " › "      /* between the processes of a part */
#define SCHEDULER "sched:" /* begins what says who had the CPU */
#define LEAST_SLOW 100u    /* fewer requests have no slow twentieth to speak of */
#define LEAST_USUAL 20u    /* nor are a few usual */
#define LEAST_SHARE 50u    /* requests that take less than this part of the total are not what it is about */
#define PARTS 3u           /* of a request are told, each of this share at least: */
#define LEAST_PERCENT 10u
#define FIRST_PERCENT 25u /* ... the largest of this */
#define KNOWN_PERCENT 80u /* of the total: a cause that is all of it says what its requests consist of */

/* What makes slow requests slow; it ranks by the time that all of them take longer. */
static bool find_slow(struct wp_facts *facts, const struct wp_service_fact *service, struct wp_finding *found)
{
    struct wp_pool *pool = &facts->pool;
    const struct wp_slow_row *row = service->row_count ? service->rows : NULL;
    if (!row || service->count < LEAST_SLOW || service->slow_mean_ns <= service->usual_mean_ns ||
        row->slow_ns <= row->usual_ns)
        return false;
    uint64_t longer = service->slow_mean_ns - service->usual_mean_ns, more = row->slow_ns - row->usual_ns;
    *found = (struct wp_finding){.kind = "slow",
        .sentence = wp_pool_printf(pool,
            "The slowest %s of the requests on %s take %s instead of %s: for %s of the difference %s %s%s.",
            wp_human_share(pool, service->slow_count, service->count), wp_pool_clip(pool, service->name, 60),
            wp_human_duration(pool, service->slow_mean_ns), wp_human_duration(pool, service->usual_mean_ns),
            more < longer ? wp_human_share(pool, more, longer) : "all", /* of others there may be less */
            *row->who ? wp_pool_clip(pool, row->who, 80) : "the request", wp_slow_requests_does(row),
            wp_slow_requests_where(pool, row, 60)),
        .key = wp_pool_printf(pool, "slow %s", service->name),
        .ns = longer * service->slow_count,
        .rank_ns = longer * service->slow_count,
        .page = WP_PAGE_TRANSACTIONS};
    return true;
}

/* --- what a usual request consists of --- */

static bool is_run(unsigned part)
{
    return part == WP_UNDERSTOOD_FUNCTIONS || part == WP_RUNNING_NOT_SAMPLED;
}

static bool is_runnable(const struct wp_slow_row *row)
{
    return row->part == WP_SCHEDULER || row->part == WP_INVOLUNTARY ||
        (row->part != WP_PART_UNREAD && !strncmp(row->what, SCHEDULER, sizeof(SCHEDULER) - 1));
}

/* "pool-*-thread-*" of "pool-3-thread-7": threads of a pool are one. */
static const char *role_of(struct wp_pool *pool, const char *who)
{
    char room[WP_ROLE_BYTES];
    const char *role = wp_role_name(room, wp_pool_printf(pool, "[%s]", who));
    return wp_pool_printf(pool, "%.*s", (int)(strlen(role) - 2), role + 1);
}

/* A row as it is told: what a process runs is one, and so is all for which it wants a CPU. */
static struct wp_slow_row told_as(struct wp_pool *pool, const struct wp_slow_row *row)
{
    struct wp_slow_row told = *row;
    told.who = role_of(pool, row->who);
    if (is_runnable(row))
        told.part = WP_SCHEDULER;
    else if (is_run(row->part))
        told.part = WP_UNDERSTOOD_FUNCTIONS;
    if (told.part == WP_SCHEDULER || told.part == WP_UNDERSTOOD_FUNCTIONS ||
        !strncmp(row->what, SCHEDULER, sizeof(SCHEDULER) - 1))
        told.what = "";
    return told;
}

static int by_usual(const void *left, const void *right)
{
    const struct wp_slow_row *a = left, *b = right;
    if (a->usual_ns != b->usual_ns)
        return a->usual_ns > b->usual_ns ? -1 : 1;
    int rc = strcmp(a->who, b->who);
    return rc ? rc : strcmp(a->what, b->what);
}

/* The service's rows as they are told, the largest of usual requests first; NULL without memory. */
static struct wp_slow_row *usual_parts(struct wp_pool *pool, const struct wp_service_fact *service, size_t *count)
{
    struct wp_slow_row *parts = wp_pool_alloc(pool, (service->row_count + 1) * sizeof(*parts));
    *count = 0;
    for (size_t i = 0; i < service->row_count && parts; i++) {
        struct wp_slow_row told = told_as(pool, &service->rows[i]);
        size_t at = 0;
        while (at < *count &&
            (parts[at].part != told.part || strcmp(parts[at].who, told.who) != 0 ||
                strcmp(parts[at].what, told.what) != 0))
            at++;
        if (at < *count)
            parts[at].usual_ns += told.usual_ns;
        else
            parts[(*count)++] = told;
    }
    if (parts)
        qsort(parts, *count, sizeof(*parts), by_usual);
    return parts;
}

/* The process of threads with names of their own; NULL: it is called so itself. */
static const char *process_of(struct wp_facts *facts, const char *role)
{
    char room[WP_ROLE_BYTES];
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *wanted = wp_pool_printf(&facts->pool, "[%s]", role);
    for (uint32_t i = 1; i < count; i++) {
        const char *object = wp_report_text(facts->report, frames[i].object);
        if (frames[i].style == WP_STYLE_PROCESS && *object &&
            !strcmp(wp_role_name(room, wp_report_text(facts->report, frames[i].name)), wanted))
            return object;
    }
    return NULL;
}

/* "for 154 ms (69 %) haproxy is behind work for others in `run_poll_loop`" */
static const char *part_text(struct wp_facts *facts, const struct wp_slow_row *part, uint64_t whole_ns)
{
    struct wp_pool *pool = &facts->pool;
    const char *last = part->who, *process;
    for (const char *at = part->who; (at = strstr(at, THROUGH)) != NULL;)
        last = at += sizeof(THROUGH) - 1;
    if ((process = process_of(facts, last)))
        last = process;
    const char *path = wp_slow_requests_path(pool, part, 60);
    const char *does = part->part == WP_UNDERSTOOD_FUNCTIONS ? "runs" : wp_slow_requests_does(part);
    return wp_pool_printf(pool, "for %s (%s) %s %s%s", wp_human_duration(pool, part->usual_ns),
        wp_human_share(pool, part->usual_ns, whole_ns), *last ? wp_pool_clip(pool, last, 60) : "it", does,
        path              ? wp_pool_printf(pool, " %s", path)
            : *part->what ? wp_pool_printf(pool, " in `%s`", wp_pool_clip(pool, part->what, 60))
                          : "");
}

/* The finding that is told first so far; NULL: none. */
static const struct wp_finding *first_finding(const struct wp_facts *facts)
{
    const struct wp_finding *first = NULL;
    for (size_t i = 0; i < facts->finding_count; i++)
        if (!first || facts->findings[i].rank_ns > first->rank_ns)
            first = &facts->findings[i];
    return first;
}

/* A part says something of the program; that a CPU is wanted does not. */
static bool is_telling(const struct wp_slow_row *part)
{
    return part->part != WP_SCHEDULER;
}

/* `ns` of requests, or less where a cause of the same place stands first; 0: that says it all, as nothing else is told
 * here or it is most of the total. */
static uint64_t rank_of(const struct wp_facts *facts, const struct wp_slow_row *part, uint64_t ns, bool is_only)
{
    const struct wp_finding *first = first_finding(facts);
    uint64_t rank = ns < facts->total_ns ? ns : facts->total_ns;
    bool is_same = first && first->function && !strcmp(first->function, part->what);
    if (is_same && (is_only || first->ns >= facts->total_ns / 100 * KNOWN_PERCENT))
        return 0;
    return is_same && rank >= first->rank_ns ? first->rank_ns - 1 : rank;
}

/* What most of the requests consist of: what threads wait for beside requests does not hide it. */
static bool find_usual(struct wp_facts *facts, const struct wp_service_fact *service, struct wp_finding *found)
{
    struct wp_pool *pool = &facts->pool;
    size_t count;
    uint64_t each_ns = service->usual_mean_ns, told_ns = 0;
    if (service->count < LEAST_USUAL || each_ns * service->usual_count < facts->total_ns / LEAST_SHARE || !each_ns)
        return false;
    const struct wp_slow_row *parts = usual_parts(pool, service, &count);
    if (!parts || !count || parts->part == WP_UNDERSTOOD_FUNCTIONS || parts->usual_ns < each_ns / 100 * FIRST_PERCENT)
        return false;
    const char *text = "";
    size_t told = 0;
    for (; told < count && told < PARTS && parts[told].usual_ns >= each_ns / 100 * LEAST_PERCENT; told++) {
        text = wp_pool_printf(pool, "%s%s%s", text, told ? ", " : "", part_text(facts, &parts[told], each_ns));
        told_ns += is_telling(&parts[told]) ? parts[told].usual_ns : 0;
    }
    uint64_t rank = rank_of(facts, parts, told_ns * service->usual_count, told == 1);
    *found = (struct wp_finding){.kind = "request",
        .sentence = wp_pool_printf(pool, "A usual request on %s takes %s: %s.", wp_pool_clip(pool, service->name, 60),
            wp_human_duration(pool, each_ns), text),
        .key = wp_pool_printf(pool, "request %s", service->name),
        .function = *parts->what ? parts->what : NULL,
        .count = service->usual_count,
        .ns = each_ns * service->usual_count,
        .rank_ns = rank,
        .page = WP_PAGE_TRANSACTIONS};
    return rank != 0;
}

size_t wp_request_findings(struct wp_facts *facts, struct wp_finding found[WP_REQUEST_FINDINGS])
{
    size_t services, count = 0;
    const struct wp_service_fact *service = wp_slow_requests_build(&facts->pool, facts, &services);
    if (services)
        count += find_slow(facts, service, &found[count]);
    for (size_t i = 0; i < services && count + 1 < WP_REQUEST_FINDINGS; i++)
        count += find_usual(facts, &service[i], &found[count]);
    return count + wp_connection_finding(facts, &found[count]);
}
