/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/ask_counts.h"

#include "storage/report/report_read.h"
#include "storage/report/report_types.h"

#include <string.h>

static struct wp_ask_fact *row_of(struct wp_facts *facts, const char *who, const char *peer)
{
    for (size_t i = 0; i < facts->ask_count; i++)
        if (!strcmp(facts->asks[i].who, who) && !strcmp(facts->asks[i].peer, peer))
            return &facts->asks[i];
    struct wp_ask_fact *row = &facts->asks[facts->ask_count++];
    *row = (struct wp_ask_fact){.who = who, .peer = peer};
    return row;
}

bool wp_ask_counts_take(struct wp_facts *facts, const char *name, uint64_t count)
{
    bool is_asks = !strncmp(name, WP_REPORT_ASKS, strlen(WP_REPORT_ASKS));
    if (!is_asks && strncmp(name, WP_REPORT_OPENS, strlen(WP_REPORT_OPENS)))
        return false;
    const char *who = name + strlen(is_asks ? WP_REPORT_ASKS : WP_REPORT_OPENS), *peer = NULL;
    for (const char *at = who; (at = strstr(at, WP_REPORT_ASKED)) != NULL;) /* the last one: names are as they are */
        peer = at += strlen(WP_REPORT_ASKED);
    if (!peer)
        return true;
    who = wp_pool_printf(&facts->pool, "%.*s", (int)(peer - who - (ptrdiff_t)strlen(WP_REPORT_ASKED)), who);
    struct wp_ask_fact *row = row_of(facts, who, peer);
    *(is_asks ? &row->asks : &row->opens) += count;
    return true;
}

bool wp_ask_counts_is_of(const struct wp_facts *facts, uint32_t process, const char *who)
{
    uint32_t count, frame = facts->flame.nodes[process].frame;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *name = wp_facts_frame_name(facts, frame), *end = strrchr(name, ']');
    const char *object = frame < count ? wp_report_text(facts->report, frames[frame].object) : "";
    if (*object)
        return !strcmp(object, who);
    return *name == '[' && end && strlen(who) == (size_t)(end - name - 1) && !strncmp(name + 1, who, strlen(who));
}

const struct wp_ask_fact *wp_ask_counts_of(const struct wp_facts *facts, uint32_t process, const char *peer)
{
    for (size_t i = 0; i < facts->ask_count; i++)
        if (!strcmp(facts->asks[i].peer, peer) && wp_ask_counts_is_of(facts, process, facts->asks[i].who))
            return &facts->asks[i];
    return NULL;
}
