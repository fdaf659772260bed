/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/session/membership.h"

#include "aggregator/account/aggregate_delta.h"
#include "aggregator/account/mates.h"
#include "aggregator/session/host_session_body.h"
#include "aggregator/session/session_aggregates.h"
#include "aggregator/timeline/services.h"
#include "common/array.h"
#include "common/path.h"
#include "common/release_id.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct match_context {
    const struct wp_host_session *session;
    const struct wp_thread_entry *entry;
};

static bool cmdline_matches(const void *context, const char *pattern)
{
    const struct match_context *match = context;
    for (unsigned i = 0; i < sizeof(match->entry->cmdline_matches) / sizeof(match->entry->cmdline_matches[0]); i++) {
        uint32_t id = match->entry->cmdline_matches[i];
        if (id && !strcmp(wp_dictionary_string(match->session->dictionary, id), pattern))
            return true;
    }
    return false;
}

/* What selectors are held against; `match` must outlive it. */
static struct wp_selector_subject subject_of(const struct match_context *match, const struct wp_identity *identity)
{
    const struct wp_dictionary *dictionary = match->session->dictionary;
    const struct wp_thread_entry *entry = match->entry;
    return (struct wp_selector_subject){
        .comm = wp_dictionary_string(dictionary, identity->comm),
        .process_comm = identity->process_comm ? wp_dictionary_string(dictionary, identity->process_comm) : NULL,
        .exe = wp_dictionary_string(dictionary, entry->exe),
        .cgroup = wp_dictionary_string(dictionary, entry->cgroup),
        .workload = wp_dictionary_string(dictionary, entry->workload),
        .pid = entry->pid,
        .tid = entry->tid,
        .is_command = entry->flags & WP_THREAD_COMMAND,
        .cmdline_matches = cmdline_matches,
        .context = match,
    };
}

static const char *release_of(const struct wp_host_session *session, const struct wp_thread_entry *entry,
    const struct wp_selector_subject *subject, char said[WP_ID_ROOM])
{
    const struct wp_host_session_options *options = session->options;
    if (entry->release) {
        wp_release_id(wp_dictionary_string(session->dictionary, entry->release), said);
        return said;
    }
    for (uint32_t i = 0; i < options->release_rule_count; i++)
        if (wp_selector_matches(&options->release_rules[i].selector, subject))
            return options->release_rules[i].release;
    return session->source.release;
}

static bool is_chosen(const struct wp_host_session *session, const char *service)
{
    for (uint32_t i = 0; i < session->service_count; i++)
        if (!strcmp(session->services[i], service))
            return true;
    return false;
}

void wp_host_session_serve(struct wp_host_session *session, const char *service)
{
    if (WP_ARRAY_NEXT(session->services, session->service_count))
        return;
    session->services[session->service_count] = strdup(service);
    session->service_count += session->services[session->service_count] != NULL;
}

static uint64_t bit_of(struct wp_host_session *session, const char *name, const char *release)
{
    struct wp_aggregate *aggregate = wp_host_session_aggregate(session, name, release);
    return aggregate ? wp_aggregate_id(aggregate)->bit : 0;
}

static void add(struct wp_host_session *session, uint32_t identity, uint64_t bits)
{
    struct wp_identity *who = &session->timeline.identities[identity];
    who->aggregates |= bits;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        if (bits & wp_aggregate_id(session->aggregates[i])->bit)
            wp_aggregate_add_base(session->aggregates[i], who->thread);
}

/* Its service's aggregate; a service that is new becomes one while there is room. */
static uint64_t by_service(struct wp_host_session *session, uint32_t identity, const char *release)
{
    char name[WP_ID_ROOM];
    if (!session->is_auto_chosen || !wp_service_name(&session->timeline, identity, name, sizeof(name)))
        return 0;
    if (!is_chosen(session, name) && session->service_count < session->options->auto_aggregates)
        wp_host_session_serve(session, name);
    return is_chosen(session, name) ? bit_of(session, name, release) : 0;
}

/* The view by threads that stands beside the progress of a process, from its second thread on; NULL: no room. */
static struct wp_aggregate *by_threads(
    struct wp_host_session *session, const struct wp_aggregate_rule *rule, const char *release)
{
    char name[sizeof(rule->name) + sizeof(WP_MATES_THREADS)];
    snprintf(name, sizeof(name), "%s" WP_MATES_THREADS, rule->name);
    struct wp_aggregate *aggregate = wp_id_valid(name) ? wp_host_session_aggregate(session, name, release) : NULL;
    if (aggregate)
        wp_aggregate_set_view(aggregate, WP_VIEW_THREADS);
    if (aggregate)
        wp_aggregate_set_interval(aggregate, wp_selector_interval(&rule->selector));
    return aggregate;
}

/* All threads of its process, by all identities that they had, are of that aggregate: it has just been made for its
 * second thread. */
static void add_process(struct wp_host_session *session, uint32_t process, uint64_t bit)
{
    struct wp_timeline *timeline = &session->timeline;
    for (uint32_t i = 1; i < timeline->identity_count; i++)
        if (timeline->identities[i].process == process)
            add(session, i, bit);
}

static uint64_t by_rule(
    struct wp_host_session *session, uint32_t identity, const struct wp_aggregate_rule *rule, const char *release)
{
    struct wp_aggregate *aggregate = wp_host_session_aggregate(session, rule->name, release);
    struct wp_identity *who = &session->timeline.identities[identity];
    struct wp_process *process = &session->timeline.processes[who->process];
    const struct wp_thread_entry *entry = wp_dictionary_thread(session->dictionary, who->entry);
    if (!aggregate)
        return 0;
    enum wp_selector_view view = wp_selector_view(&rule->selector);
    uint64_t bit = wp_aggregate_id(aggregate)->bit;
    wp_aggregate_set_view(aggregate, view);
    wp_aggregate_set_interval(aggregate, wp_selector_interval(&rule->selector));
    if (view != WP_VIEW_PROGRESS)
        return bit;
    bool is_main = entry->tid == entry->pid, had_threads = process->with_threads & bit;
    if (is_main && !had_threads)
        return bit;
    process->with_threads |= bit;
    who->mates |= is_main ? 0 : bit;
    struct wp_aggregate *beside = by_threads(session, rule, release);
    uint64_t beside_bit = beside ? wp_aggregate_id(beside)->bit : 0;
    if (beside && !had_threads)
        add_process(session, who->process, beside_bit);
    return (is_main ? bit : 0) | beside_bit;
}

void wp_membership_of(void *context, struct wp_timeline *timeline, uint32_t identity)
{
    struct wp_host_session *session = context;
    struct match_context match = {
        session, wp_dictionary_thread(session->dictionary, timeline->identities[identity].entry)};
    if (!match.entry || match.entry->flags & WP_THREAD_SELF) /* the recorder is not the recorded */
        return;
    struct wp_selector_subject subject = subject_of(&match, &timeline->identities[identity]);
    char said[WP_ID_ROOM];
    const char *release = release_of(session, match.entry, &subject, said);
    uint64_t bits = by_service(session, identity, release);
    for (uint32_t i = 0; i < session->options->rule_count; i++)
        if (wp_selector_matches(&session->options->rules[i].selector, &subject))
            bits |= by_rule(session, identity, &session->options->rules[i], release);
    if (bits)
        add(session, identity, bits);
    if (session->late_count)
        wp_host_session_take_late(session, identity);
}

void wp_membership_choose(struct wp_host_session *session)
{
    struct wp_host_service *services;
    uint32_t count = wp_services_busiest(&session->timeline, session->options->auto_aggregates, &services);
    for (uint32_t i = 0; i < count; i++)
        wp_host_session_serve(session, services[i].name);
    free(services);
    session->is_auto_chosen = true;
    for (uint32_t i = 0; i < session->service_count; i++) /* in this order: the busiest ones have room for sure */
        bit_of(session, session->services[i], session->source.release);
    uint32_t limit = session->timeline.identity_count;
    for (uint32_t identity = 1; identity < limit; identity++) {
        char name[WP_ID_ROOM];
        if (wp_service_name(&session->timeline, identity, name, sizeof(name)) && is_chosen(session, name))
            wp_membership_of(session, &session->timeline, identity);
    }
}

/* --- other rules --- */

/* What was resolved so far stays as it was filed: what is new begins there. */
static void begin_late(const struct wp_host_session *session, struct wp_aggregate *aggregate, bool is_new)
{
    uint64_t resolved_ns = session->progress.resolved_ns;
    wp_aggregate_begin_base(aggregate, resolved_ns);
    if (is_new && resolved_ns)
        wp_aggregate_begin_late(aggregate, resolved_ns, session->drops);
}

static void forget_services(struct wp_host_session *session, uint32_t kept)
{
    while (session->service_count > kept)
        free(session->services[--session->service_count]);
}

void wp_membership_anew(struct wp_host_session *session)
{
    if (!session || session->progress.is_ended)
        return;
    const struct wp_host_session_options *options = session->options;
    struct wp_timeline *timeline = &session->timeline;
    uint32_t had = session->aggregate_count, limit = timeline->identity_count;
    forget_services(session, options->auto_aggregates);
    session->is_auto_chosen = session->is_auto_chosen && options->auto_aggregates;
    for (uint32_t identity = 1; identity < limit; identity++)
        timeline->identities[identity].aggregates = timeline->identities[identity].mates = 0;
    for (uint32_t i = 0; i < options->rule_count; i++)
        bit_of(session, options->rules[i].name, session->source.release);
    for (uint32_t identity = 1; identity < limit; identity++)
        wp_membership_of(session, timeline, identity);
    if (options->auto_aggregates && !session->is_auto_chosen && session->progress.resolved_ns)
        wp_membership_choose(session);
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        begin_late(session, session->aggregates[i], i >= had);
    session->rehearsed_ns = 0; /* what other shards were asked for was for others */
}
