/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/session_aggregates.h"

#include "aggregator/account/aggregate.h"
#include "aggregator/account/aggregate_delta.h"
#include "aggregator/account/aggregate_state.h"
#include "aggregator/session/host_session_body.h"
#include "common/array.h"
#include "storage/value/bucket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t later(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns > b_ns ? a_ns : b_ns;
}

uint64_t wp_host_session_dropped(const void *context, uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_host_session *session = context;
    return session->drop_spans.count ? wp_drop_spans_overlap(&session->drop_spans, start_ns, end_ns) : 0;
}

int wp_host_session_add_late(struct wp_host_session *session, const struct wp_late_thread *late)
{
    if (WP_ARRAY_FIT(session->late, session->late_room, session->late_count + 1))
        return -ENOMEM;
    session->late[session->late_count++] = *late;
    return 0;
}

struct wp_aggregate *const *wp_host_session_aggregates(const struct wp_host_session *session, uint32_t *count)
{
    *count = session->aggregate_count;
    return session->aggregates;
}

static void print_selector(struct wp_buffer *text, const struct wp_host_session_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->rule_count; i++)
        if (!strcmp(options->rules[i].name, name)) {
            wp_selector_print(&options->rules[i].selector, text);
            return;
        }
    wp_buffer_puts(text, WP_SERVICE_SELECTOR);
}

/* The recorded command parts the reports of what is selected as the command. Processes that are picked by what they
 * are stay one report, whatever a recording was made with. */
static const char *command_of(const struct wp_host_session_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->rule_count; i++)
        for (unsigned k = 0; !strcmp(options->rules[i].name, name) && k < options->rules[i].selector.count; k++)
            if (options->rules[i].selector.terms[k].field == WP_SELECT_COMMAND)
                return options->command;
    return NULL;
}

static struct wp_aggregate *create(const struct wp_host_session *session, uint32_t number, const char *name)
{
    const struct wp_host_session_options *options = session->options;
    const struct wp_session_source *source = &session->source;
    struct wp_buffer selector = {0};
    print_selector(&selector, options, name);
    struct wp_aggregate *aggregate = NULL;
    if (!selector.failed && selector.data)
        aggregate = wp_aggregate_create(&(struct wp_aggregate_options){.fleet = source->fleet,
            .home = source->home,
            .number = number,
            .real_offset_ns = source->real_offset_ns,
            .history_ns = options->history_ns,
            .reach_ns = later(options->lookback_ns, options->history_ns),
            .timebox_s = options->timebox_s,
            .explain = {.fit_ns = options->fit_ns,
                .join_ns = options->join_ns,
                .chunk_ns = options->epoch_ns,
                .depth = options->depth,
                .width = options->width,
                .budget = options->budget},
            .selector = (const char *)selector.data,
            .sample_period_ns = source->hello.sample_period_ns,
            .late_sample_ns = session->timeline.late_sample_ns,
            .command = command_of(options, name),
            .workload = options->workload,
            .lost = &session->drop_spans,
            .paused = &session->paused_spans,
            .shed = &session->shed_spans});
    wp_buffer_fini(&selector);
    for (uint32_t i = 0; aggregate && i < options->rule_count; i++)
        if (!strcmp(options->rules[i].name, name))
            wp_aggregate_set_interval(aggregate, wp_selector_interval(&options->rules[i].selector));
    return aggregate;
}

/* Of an earlier run, in that release. */
static void find_stored(struct wp_host_session *session, struct wp_aggregate *aggregate, const char *release)
{
    const struct wp_host_session_options *options = session->options;
    uint64_t seq, until_ns;
    if (!options->stored || !options->stored(options->stored_context, session->source.id, release, &seq, &until_ns))
        return;
    wp_aggregate_set_stored(aggregate, seq, until_ns);
    session->is_catching_up = true;
}

struct wp_aggregate *wp_host_session_aggregate(struct wp_host_session *session, const char *name, const char *release)
{
    int number = wp_fleet_aggregate(session->source.fleet, name, release);
    for (uint32_t i = 0; number >= 0 && i < session->aggregate_count; i++)
        if (wp_aggregate_id(session->aggregates[i])->bit == (uint64_t)1 << number)
            return session->aggregates[i];
    if (number < 0) {
        if (!session->refused_aggregates++ && session->logger)
            wp_log(session->logger, WP_LOG_WARN,
                "the limit of %u aggregates is reached: the time of '%s' in release '%s' is not reported",
                WP_AGGREGATES, name, release);
        return NULL;
    }
    struct wp_aggregate *aggregate = create(session, (uint32_t)number, name);
    if (!aggregate)
        return NULL;
    session->aggregates[session->aggregate_count++] = aggregate;
    find_stored(session, aggregate, release);
    return aggregate;
}

void wp_host_session_take_late(struct wp_host_session *session, uint32_t identity)
{
    const struct wp_identity *who = &session->timeline.identities[identity];
    uint32_t kept = 0;
    for (uint32_t i = 0; i < session->late_count; i++) {
        const struct wp_late_thread *late = &session->late[i];
        if (late->entry != who->entry)
            session->late[kept++] = *late;
        else if (late->start_ns)
            wp_aggregate_add_followed(late->aggregate, who->thread, late->start_ns, late->end_ns);
        else
            wp_aggregate_set_base(late->aggregate, who->thread, late->end_ns);
    }
    session->late_count = kept;
}
