/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/host_session.h"

#include "aggregator/services.h"
#include "common/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AUTO_CHOICE_NS 5000000000u /* services are picked after this much of the recording */
#define GAP_EPOCHS 3600u           /* without an event: taken in one step */

/* --- which aggregates a process is of interest to --- */

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

static uint64_t by_rules(const struct wp_host_session *session, uint32_t identity_index)
{
    const struct wp_identity *identity = &session->timeline.identities[identity_index];
    const struct wp_thread_entry *entry = wp_dictionary_thread(session->dictionary, identity->entry);
    if (!entry)
        return 0;
    struct match_context match = {session, entry};
    struct wp_selector_subject subject = {
        .comm = wp_dictionary_string(session->dictionary, identity->comm),
        .exe = wp_dictionary_string(session->dictionary, entry->exe),
        .cgroup = wp_dictionary_string(session->dictionary, entry->cgroup),
        .pid = entry->pid,
        .is_command = entry->flags & WP_THREAD_COMMAND,
        .cmdline_matches = cmdline_matches,
        .context = &match,
    };
    uint64_t bits = 0;
    for (uint32_t i = 0; i < session->options->rule_count; i++)
        if (wp_selector_matches(&session->options->rules[i].selector, &subject))
            bits |= (uint64_t)1 << i;
    return bits;
}

static void set_membership(struct wp_host_session *session, uint32_t identity, uint64_t bits)
{
    struct wp_identity *who = &session->timeline.identities[identity];
    who->aggregates |= bits;
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        if (bits & (uint64_t)1 << i)
            wp_aggregate_add_base(session->aggregates[i], who->thread);
}

static struct wp_aggregate *add_aggregate(struct wp_host_session *session, const char *name);

/* The bit of the identity's service, which becomes an aggregate while there is room. */
static uint64_t by_service(struct wp_host_session *session, uint32_t identity)
{
    char name[129];
    if (!wp_service_name(&session->timeline, identity, name, sizeof(name)))
        return 0;
    for (uint32_t i = session->options->rule_count; i < session->aggregate_count; i++)
        if (!strcmp(session->aggregates[i]->name, name))
            return (uint64_t)1 << i;
    uint32_t limit = session->options->rule_count + session->options->auto_aggregates;
    if (session->aggregate_count >= limit || !add_aggregate(session, name))
        return 0;
    return (uint64_t)1 << (session->aggregate_count - 1);
}

static void identity_made(void *context, struct wp_timeline *timeline, uint32_t identity)
{
    struct wp_host_session *session = context;
    (void)timeline;
    uint64_t bits = by_rules(session, identity);
    if (session->is_auto_chosen)
        bits |= by_service(session, identity);
    if (bits)
        set_membership(session, identity, bits);
}

static void choose_services(struct wp_host_session *session)
{
    struct wp_service *services;
    uint32_t count = wp_services_busiest(&session->timeline, session->options->auto_aggregates, &services);
    for (uint32_t i = 0; i < count; i++)
        add_aggregate(session, services[i].name);
    free(services);
    uint32_t before = session->aggregate_count;
    for (uint32_t identity = 1; identity < session->timeline.identity_count; identity++) {
        char name[129];
        if (!wp_service_name(&session->timeline, identity, name, sizeof(name)))
            continue;
        for (uint32_t i = session->options->rule_count; i < before; i++)
            if (!strcmp(session->aggregates[i]->name, name))
                set_membership(session, identity, (uint64_t)1 << i);
    }
    session->is_auto_chosen = true;
}

/* --- drops --- */

static uint64_t dropped_in(const void *context, uint64_t start_ns, uint64_t end_ns)
{
    const struct wp_host_session *session = context;
    return wp_drop_spans_overlap(&session->drop_spans, start_ns, end_ns);
}

static void take_drops(struct wp_host_session *session, const struct wp_batch *batch)
{
    for (uint32_t i = 0; i < batch->drop_count; i++) {
        const struct wp_drop *drop = &batch->drops[i];
        session->drops[drop->kind < WP_EVENT_KINDS ? drop->kind : 0] += drop->count;
        wp_drop_spans_add(&session->drop_spans, drop->from_ns, drop->to_ns);
    }
}

/* --- life --- */

static struct wp_aggregate *add_aggregate(struct wp_host_session *session, const char *name)
{
    if (session->aggregate_count == WP_AGGREGATES)
        return NULL;
    struct wp_aggregate *aggregate = calloc(1, sizeof(*aggregate));
    if (!aggregate)
        return NULL;
    if (wp_aggregate_init(aggregate, name, (uint64_t)1 << session->aggregate_count, &session->timeline,
            session->hostname, session->real_offset_ns)) {
        free(aggregate);
        return NULL;
    }
    aggregate->history_ns = session->options->history_ns;
    struct wp_explain_options *explain = &aggregate->explainer.options;
    explain->chunk_ns = session->options->epoch_ns;
    if (session->options->fit_ns)
        explain->fit_ns = session->options->fit_ns;
    if (session->options->depth)
        explain->depth = session->options->depth;
    if (session->options->width)
        explain->width = session->options->width;
    aggregate->uncertain = dropped_in;
    aggregate->uncertain_context = session;
    session->aggregates[session->aggregate_count++] = aggregate;
    return aggregate;
}

int wp_host_session_create(struct wp_host_session **out, const struct wp_hello *hello, const char *default_release,
    const struct wp_host_session_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_host_session *session = calloc(1, sizeof(*session));
    if (!session)
        return wp_error_set(err, -ENOMEM, "out of memory for a session");
    memcpy(session->id, hello->session, 16);
    memcpy(session->host, hello->host, 16);
    session->options = options;
    session->logger = logger;
    session->next_seq = 1;
    session->real_offset_ns = (int64_t)(hello->start_real_ns - hello->start_mono_ns);
    wp_id_from(hello->release && *hello->release ? hello->release : default_release, session->release,
        sizeof(session->release));
    session->hostname = strdup(hello->hostname && *hello->hostname ? hello->hostname : "unknown");
    session->kernel = strdup(hello->kernel ? hello->kernel : "");
    session->source = strdup(hello->source ? hello->source : "");
    session->dictionary = wp_dictionary_create();
    int rc = -ENOMEM;
    if (!session->hostname || !session->kernel || !session->source || !session->dictionary ||
        wp_timeline_init(&session->timeline, session->dictionary))
        goto fail;
    session->timeline.identity_made = identity_made;
    session->timeline.context = session;
    for (uint32_t i = 0; i < options->rule_count; i++)
        if (!add_aggregate(session, options->rules[i].name))
            goto fail;
    session->is_auto_chosen = false;
    *out = session;
    return 0;
fail:
    wp_host_session_destroy(session);
    return wp_error_set(err, rc, "out of memory for a session");
}

void wp_host_session_destroy(struct wp_host_session *session)
{
    if (!session)
        return;
    for (uint32_t i = 0; i < session->aggregate_count; i++) {
        wp_aggregate_fini(session->aggregates[i]);
        free(session->aggregates[i]);
    }
    wp_timeline_fini(&session->timeline);
    wp_dictionary_destroy(session->dictionary);
    free(session->hostname);
    free(session->kernel);
    free(session->source);
    wp_drop_spans_fini(&session->drop_spans);
    free(session->marks);
    free(session);
}

/* --- epochs --- */

static void resolve_until(struct wp_host_session *session, uint64_t until_ns, bool is_final)
{
    for (uint32_t i = 0; i < session->aggregate_count; i++)
        wp_aggregate_resolve(session->aggregates[i], until_ns, is_final);
    session->resolved_ns = until_ns;
    if (until_ns > session->options->history_ns) {
        wp_timeline_forget(&session->timeline, until_ns - session->options->history_ns);
        wp_drop_spans_forget(&session->drop_spans, until_ns - session->options->history_ns);
    }
}

/*
 * Resolves the epochs that may be resolved when everything before `known_ns` is in the timeline and nothing after it.
 * Called before each event: what comes out depends on the events alone, not on how they came in batches.
 */
static void resolve_before(struct wp_host_session *session, uint64_t known_ns)
{
    const struct wp_host_session_options *options = session->options;
    uint64_t start_ns = session->timeline.start_ns;
    if (!start_ns || known_ns < start_ns)
        return;
    if (options->auto_aggregates && !session->is_auto_chosen) {
        if (known_ns - start_ns < AUTO_CHOICE_NS)
            return;
        choose_services(session);
    }
    if (!session->resolved_ns)
        session->resolved_ns = start_ns / options->epoch_ns * options->epoch_ns;
    while (known_ns >= session->resolved_ns + options->epoch_ns + options->lateness_ns) {
        uint64_t next_ns = session->resolved_ns + options->epoch_ns;
        if (next_ns > session->timeline.now_ns && known_ns - next_ns > GAP_EPOCHS * options->epoch_ns)
            next_ns = (known_ns - options->lateness_ns) / options->epoch_ns * options->epoch_ns;
        resolve_until(session, next_ns, false);
    }
}

/* --- batches --- */

static void mark_batch(struct wp_host_session *session, const struct wp_batch *batch)
{
    if (session->mark_count == session->mark_room) {
        uint32_t room = session->mark_room ? session->mark_room * 2 : 64;
        struct wp_batch_mark *marks = realloc(session->marks, room * sizeof(*marks));
        if (!marks)
            return; /* acknowledged with a later one */
        session->marks = marks;
        session->mark_room = room;
    }
    uint64_t last = batch->event_count ? batch->events[batch->event_count - 1].time_ns : 0;
    session->marks[session->mark_count++] = (struct wp_batch_mark){batch->seq, last};
}

int wp_host_session_take(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err)
{
    if (batch->seq < session->next_seq)
        return 0; /* sent again: its effect is here */
    if (batch->seq > session->next_seq)
        return wp_error_set(err, -ESTALE, "batch %llu came where %llu is next", (unsigned long long)batch->seq,
            (unsigned long long)session->next_seq);
    int rc = wp_dictionary_apply(session->dictionary, batch, err);
    if (rc)
        return wp_error_wrap(err, rc, "batch %llu", (unsigned long long)batch->seq);
    take_drops(session, batch);
    for (uint32_t i = 0; i < batch->event_count; i++) {
        resolve_before(session, batch->events[i].time_ns);
        wp_timeline_event(&session->timeline, &batch->events[i]);
    }
    mark_batch(session, batch);
    session->next_seq = batch->seq + 1;
    session->last_seq = batch->seq;
    session->has_news = true;
    if (batch->watermark_ns > session->watermark_ns)
        session->watermark_ns = batch->watermark_ns;
    return 0;
}

uint64_t wp_host_session_durable_seq(struct wp_host_session *session)
{
    uint32_t done = 0;
    while (done < session->mark_count && (session->is_ended || session->marks[done].last_ns <= session->resolved_ns))
        session->acked_seq = session->marks[done++].seq;
    memmove(session->marks, session->marks + done, (session->mark_count - done) * sizeof(*session->marks));
    session->mark_count -= done;
    return session->acked_seq;
}

void wp_host_session_resolve(struct wp_host_session *session, bool is_final)
{
    if (!session->timeline.start_ns)
        return;
    resolve_before(session, session->watermark_ns);
    if (!is_final)
        return;
    if (session->options->auto_aggregates && !session->is_auto_chosen)
        choose_services(session);
    resolve_until(session, session->timeline.now_ns, true);
    session->is_ended = true;
}
