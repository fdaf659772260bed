/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/own_requests.h"

#include "reporter/facts/role_name.h"
#include "reporter/facts/stack_text.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"
#include "storage/report/report_types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THROUGH " › " /* between the processes of a transaction's part */

/* "[pool-*-thread-*]" of "pool-3-thread-7 › postgres": the outermost process, without the numbers of its threads. */
static const char *outermost(char room[WP_ROLE_BYTES], const char *who)
{
    char name[WP_ROLE_BYTES];
    const char *end = strstr(who, THROUGH);
    snprintf(name, sizeof(name), "[%.*s]", (int)(end ? (size_t)(end - who) : strlen(who)), who);
    const char *role = wp_role_name(room, name);
    if (role == name)
        memcpy(room, name, sizeof(name));
    return room;
}

/* Of all requests by service; `is_its` are counted, NULL all. */
static struct wp_own_requests sum_up(const struct wp_facts *facts, uint64_t *counts, const bool *is_its)
{
    struct wp_own_requests served = {0};
    uint32_t count, most = 0;
    const struct wp_transaction *rows = wp_report_transactions(facts->report, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t service = rows[i].service;
        if (rows[i].part != WP_PART_WHOLE || (is_its && !is_its[service]))
            continue;
        served.count += rows[i].count;
        served.ns += rows[i].ns;
        counts[service] += rows[i].count;
        most = !most || counts[service] > counts[most] ? service : most;
    }
    served.service = served.count ? wp_report_text(facts->report, most) : NULL;
    return served;
}

struct wp_own_requests wp_own_requests_of(struct wp_facts *facts, uint32_t process)
{
    char own[WP_ROLE_BYTES], room[WP_ROLE_BYTES];
    uint32_t count, last = 0;
    const struct wp_transaction *rows = wp_report_transactions(facts->report, &count);
    const char *name = wp_facts_frame_name(facts, facts->flame.nodes[process].frame);
    outermost(own, wp_stack_plain_process(&facts->pool, name));
    for (uint32_t i = 0; i < count; i++)
        last = rows[i].service > last ? rows[i].service : last;
    uint64_t *counts = calloc(last + 1u, sizeof(*counts));
    bool *is_its = calloc(last + 1u, sizeof(*is_its));
    struct wp_own_requests served = {0};
    for (uint32_t i = 0; i < count && is_its; i++)
        if (rows[i].part != WP_PART_WHOLE && !is_its[rows[i].service])
            is_its[rows[i].service] = !strcmp(own, outermost(room, wp_report_text(facts->report, rows[i].who)));
    if (counts && is_its)
        served = sum_up(facts, counts, is_its);
    if (counts && is_its && !served.count)
        served = sum_up(facts, counts, NULL);
    facts->pool.failed |= !counts || !is_its;
    free(counts);
    free(is_its);
    return served;
}

/* A pause of a language's, whoever ends it. */
static bool is_pause(const struct wp_facts *facts, uint32_t sleep)
{
    static const char *const names[] = {"JavaThread::sleep", "time.Sleep"};
    for (uint32_t at = sleep; at; at = facts->flame.nodes[at].parent) {
        uint32_t frame = facts->flame.nodes[at].frame;
        if (wp_facts_frame_style(facts, frame) == WP_STYLE_PROCESS)
            break;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            if (!strcmp(wp_facts_frame_name(facts, frame), names[i]))
                return true;
    }
    return false;
}

uint64_t wp_own_requests_wait_ns(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row)
{
    const struct wp_cause_fact *cause = &causes->rows[row];
    uint32_t count, frames, place = causes->locations[cause->sleep];
    const struct wp_transaction *rows = wp_report_transactions(facts->report, &count);
    const struct wp_frame_info *frame = wp_report_frames(facts->report, &frames) + facts->flame.nodes[place].frame;
    uint64_t ns = 0;
    if (cause->process != cause->base || !place || facts->flame.nodes[place].frame >= frames ||
        is_pause(facts, cause->sleep))
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].part == WP_OTHER_PATH && rows[i].what == frame->name &&
            !strstr(wp_report_text(facts->report, rows[i].who), THROUGH))
            ns += rows[i].ns;
    return ns < cause->ns ? ns : cause->ns;
}
