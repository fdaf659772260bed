/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/shard/shards.h"

#include "aggregator/peer/shard_peers.h"
#include "aggregator/peer/shard_questions.h"
#include "aggregator/peer/shard_state.h"
#include "aggregator/peer/shard_stubs.h"
#include "aggregator/shard/shard_answers.h"
#include "aggregator/shard/shard_ends.h"
#include "common/clock.h"
#include "proto/session.h"
#include "proto/wakepath.pb-c.h"
#include "storage/report/tree.h"
#include "storage/value/category.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define HELLO_NS 500000000u
#define FIRST_PROBES 8u
#define FIRST_PROBES_NS 100000000u
#define PROBES_NS 500000000u
#define RENEW_NS (3 * WP_NS_PER_S) /* of silence */
#define PROBE_LIMIT_NS (10 * WP_NS_PER_S)

int wp_shards_create(struct wp_shards **out, const struct wp_shards_options *options, struct wp_error *err)
{
    struct wp_shards *shards = calloc(1, sizeof(*shards));
    if (!shards)
        return wp_error_set(err, -ENOMEM, "out of memory");
    shards->options = *options;
    shards->fleet = options->fleet;
    shards->strings = wp_intern_create();
    for (uint32_t i = 0; i < WP_SHARD_LINKS; i++)
        shards->links[i].shard = WP_NO_SHARD;
    int rc = options->links > WP_SHARD_LINKS ? -E2BIG : shards->strings ? 0 : -ENOMEM;
    if (!rc && getrandom(shards->run, sizeof(shards->run), 0) != sizeof(shards->run))
        rc = -EIO;
    if (!rc)
        rc = wp_shard_ends_create(&shards->ends, shards);
    if (!rc)
        rc = wp_shard_questions_create(&shards->questions);
    if (!rc)
        rc = wp_shard_answers_create(&shards->answers, shards->fleet);
    if (rc) {
        wp_shards_destroy(shards);
        return wp_error_errno(err, rc, "cannot take part in a fleet of shards");
    }
    shards->fleet->shards = shards;
    *out = shards;
    return 0;
}

void wp_shards_destroy(struct wp_shards *shards)
{
    if (!shards)
        return;
    wp_connections_watch(shards->fleet->connections, NULL, NULL);
    wp_connections_watch_datagrams(shards->fleet->connections, NULL, NULL);
    while (shards->stub_count)
        wp_shards_remove_stub(shards, shards->stub_count - 1);
    wp_shard_ends_destroy(shards->ends);
    wp_shard_questions_destroy(shards->questions);
    wp_shard_answers_destroy(shards->answers);
    wp_intern_destroy(shards->strings);
    wp_intmap_fini(&shards->places);
    wp_intmap_fini(&shards->addresses);
    wp_intmap_fini(&shards->process_index);
    wp_buffer_fini(&shards->raw);
    free(shards->asked_open);
    free(shards->processes);
    free(shards->stubs);
    if (shards->fleet->shards == shards)
        shards->fleet->shards = NULL;
    free(shards);
}

static uint64_t clock_ns(const struct wp_shards *shards)
{
    return shards->options.clock_ns ? shards->options.clock_ns(shards->options.context) : shards->fleet->now_ns;
}

static void log_shard(const struct wp_shards *shards, enum wp_log_level level, const char *what, const char *name)
{
    if (shards->options.logger)
        wp_log(shards->options.logger, level, "%s shard=%s", what, name);
}

/* --- who is there --- */

static void forget_hosts(struct wp_shards *shards, uint32_t shard)
{
    for (uint32_t i = shards->stub_count; i-- > 0;)
        if (shards->stubs[i]->shard == shard)
            wp_shards_remove_stub(shards, i);
}

/* It was started again: all that was known of it is of the past. */
static void begin_run(struct wp_shards *shards, uint32_t index, const Wakepath__Shard__Hello *hello)
{
    struct wp_shard *shard = &shards->shards[index];
    forget_hosts(shards, index);
    if (shard->has_clock)
        wp_clocks_remove(shards->fleet->clocks, shard->clock);
    memcpy(shard->run, hello->run.data, 16);
    shard->has_clock = !wp_clocks_add(shards->fleet->clocks, &shard->clock);
    shard->has_caller = false;
    for (uint32_t i = 0; i < shards->options.links; i++)
        if (shards->links[i].shard == index)
            shards->links[i] = (struct wp_shard_link_state){.shard = index, .heard_ns = shards->fleet->now_ns};
    wp_shard_questions_again(shards, index);
    log_shard(shards, WP_LOG_INFO, "another shard is there", shard->name);
}

/* The shard that says so; WP_NO_SHARD: none can be taken in. */
static uint32_t meet(struct wp_shards *shards, const Wakepath__Shard__Hello *hello, struct wp_error *err)
{
    uint32_t i = 0;
    if (!memcmp(hello->run.data, shards->run, 16) || !strcmp(hello->shard, shards->options.name)) {
        wp_error_set(
            err, -EINVAL, "the other aggregator is shard '%s', too: give each a --shard of its own", hello->shard);
        return WP_NO_SHARD;
    }
    while (i < shards->count && strcmp(shards->shards[i].name, hello->shard))
        i++;
    if (i == WP_SHARDS) {
        wp_error_set(err, -EINVAL, "more than %u other shards", WP_SHARDS);
        return WP_NO_SHARD;
    }
    if (i == shards->count) {
        strcpy(shards->shards[i].name, hello->shard); /* checked: an id */
        shards->count++;
        begin_run(shards, i, hello);
    } else if (memcmp(shards->shards[i].run, hello->run.data, 16)) {
        begin_run(shards, i, hello);
    }
    return i;
}

static void heard(struct wp_shards *shards, uint32_t index)
{
    struct wp_shard *shard = &shards->shards[index];
    shard->heard_ns = shards->fleet->now_ns;
    if (!shard->is_up)
        log_shard(shards, WP_LOG_INFO, "a shard answers", shard->name);
    shard->is_up = true;
}

/* What its hosts tell is all that there will be, for now. */
static void go_down(struct wp_shards *shards, uint32_t index)
{
    shards->shards[index].is_up = false;
    log_shard(shards, WP_LOG_WARN, "a shard does not answer: what waits for its hosts is not explained",
        shards->shards[index].name);
    for (uint32_t i = 0; i < shards->stub_count; i++)
        if (shards->stubs[i]->shard == index) {
            struct wp_fleet_host *host = &shards->fleet->hosts[shards->stubs[i]->host];
            host->is_over = host->is_resolved = host->is_followed = true;
        }
}

/* --- what comes --- */

static Wakepath__Shard__Hello own_hello(const struct wp_shards *shards)
{
    Wakepath__Shard__Hello m = WAKEPATH__SHARD__HELLO__INIT;
    m.wire_major = WP_WIRE_MAJOR;
    m.wire_minor = WP_WIRE_MINOR;
    m.run = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)shards->run};
    m.shard = (char *)(uintptr_t)shards->options.name;
    return m;
}

static void welcome(struct wp_shards *shards, const struct wp_server_caller *caller)
{
    Wakepath__Shard__Hello m = own_hello(shards);
    wp_buffer_clear(&shards->raw);
    if (!wp_shard_pack(&m.base, &shards->raw))
        shards->options.answer(
            shards->options.context, caller, WP_FRAME_SHARD_WELCOME, shards->raw.data, shards->raw.size);
}

static int take_hello(struct wp_shards *shards, const struct wp_server_caller *caller, const uint8_t *bytes,
    size_t size, struct wp_error *err)
{
    Wakepath__Shard__Hello *hello = wp_shard_hello_unpack(bytes, size, err);
    uint32_t index = hello ? meet(shards, hello, err) : WP_NO_SHARD;
    if (hello)
        wakepath__shard__hello__free_unpacked(hello, NULL);
    if (index == WP_NO_SHARD)
        return -EINVAL;
    shards->shards[index].caller = *caller;
    shards->shards[index].has_caller = true;
    heard(shards, index);
    welcome(shards, caller);
    return 0;
}

static uint32_t caller_of(const struct wp_shards *shards, const struct wp_server_caller *caller)
{
    for (uint32_t i = 0; i < shards->count; i++)
        if (shards->shards[i].has_caller && !memcmp(&shards->shards[i].caller, caller, sizeof(*caller)))
            return i;
    return WP_NO_SHARD;
}

static int take_call(struct wp_shards *shards, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *bytes, size_t size, struct wp_error *err)
{
    uint32_t index = caller_of(shards, caller);
    if (type == WP_FRAME_SHARD_HELLO)
        return take_hello(shards, caller, bytes, size, err);
    if (index == WP_NO_SHARD) { /* we were started again: it hears so, and says hello */
        welcome(shards, caller);
        return 0;
    }
    heard(shards, index);
    if (type == WP_FRAME_SHARD_FACTS) {
        Wakepath__Shard__Facts *facts = wp_shard_facts_unpack(bytes, size, err);
        if (!facts)
            return -EINVAL;
        wp_shard_stubs_take(shards, index, facts);
        wakepath__shard__facts__free_unpacked(facts, NULL);
        return 0;
    }
    if (type != WP_FRAME_SHARD_QUESTIONS)
        return wp_error_set(err, -EINVAL, "a shard sent frame type %u, which shards do not send", type);
    Wakepath__Shard__Questions *questions = wp_shard_questions_unpack(bytes, size, err);
    if (!questions)
        return -EINVAL;
    wp_shard_answers_take(shards, caller, questions);
    wakepath__shard__questions__free_unpacked(questions, NULL);
    return 0;
}

int wp_shards_called(struct wp_shards *shards, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *bytes, size_t size, struct wp_error *err)
{
    int rc = take_call(shards, caller, type, bytes, size, err);
    shards->counts.bad += rc != 0;
    return rc;
}

static int take_welcome(
    struct wp_shards *shards, uint32_t link, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_shard_link_state *state = &shards->links[link];
    Wakepath__Shard__Hello *hello = wp_shard_hello_unpack(bytes, size, err);
    uint32_t index = hello ? meet(shards, hello, err) : WP_NO_SHARD;
    bool is_new = index != WP_NO_SHARD && (!state->is_welcome || state->shard != index);
    if (hello)
        wakepath__shard__hello__free_unpacked(hello, NULL);
    if (index == WP_NO_SHARD)
        return -EINVAL;
    heard(shards, index);
    if (!is_new &&
        shards->fleet->now_ns - state->hello_ns > HELLO_NS) { /* unasked: it does not know us, so we say who we are */
        state->is_welcome = false;
        return 0;
    }
    state->shard = index;
    state->is_welcome = true;
    state->needs_all = true;
    return 0;
}

static int take_time(struct wp_shards *shards, uint32_t link, const uint8_t *bytes, size_t size)
{
    struct wp_shard_link_state *state = &shards->links[link];
    struct wp_shard *shard = state->shard == WP_NO_SHARD ? NULL : &shards->shards[state->shard];
    uint64_t now_ns = clock_ns(shards);
    Wakepath__Wire__TimeReply *m = wakepath__wire__time_reply__unpack(NULL, size, bytes);
    bool is_sane = m && m->probe_sent_ns <= now_ns && now_ns - m->probe_sent_ns < PROBE_LIMIT_NS &&
        m->received_ns <= m->answered_ns && m->answered_ns < UINT64_MAX / 4;
    if (is_sane && shard && shard->has_clock) {
        wp_clocks_message(
            shards->fleet->clocks, shards->fleet->reference, m->probe_sent_ns, shard->clock, m->received_ns);
        wp_clocks_message(shards->fleet->clocks, shard->clock, m->answered_ns, shards->fleet->reference, now_ns);
    }
    if (m)
        wakepath__wire__time_reply__free_unpacked(m, NULL);
    return is_sane ? 0 : -EINVAL;
}

static int take_answers(
    struct wp_shards *shards, uint32_t shard, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    static const struct wp_shard_vocabulary words = {WP_STYLES, WP_CATEGORIES};
    Wakepath__Shard__Answers *answers = wp_shard_answers_unpack(bytes, size, &words, err);
    if (!answers)
        return -EINVAL;
    wp_shard_questions_take(shards, shard, answers);
    wakepath__shard__answers__free_unpacked(answers, NULL);
    return 0;
}

int wp_shards_answered(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const uint8_t *bytes,
    size_t size, struct wp_error *err)
{
    struct wp_shard_link_state *state = &shards->links[link];
    int rc = 0;
    if (type == WP_FRAME_SHARD_WELCOME)
        rc = take_welcome(shards, link, bytes, size, err);
    else if (type == WP_FRAME_TIME_REPLY)
        rc = take_time(shards, link, bytes, size);
    else if (type == WP_FRAME_SHARD_ANSWERS && state->shard != WP_NO_SHARD)
        rc = take_answers(shards, state->shard, bytes, size, err);
    else if (type == WP_FRAME_REFUSED)
        rc = wp_error_set(
            err, -EACCES, "another shard refuses us: does its list have our key as a shard's, and has it peers?");
    state->heard_ns = shards->fleet->now_ns;
    if (!rc && state->shard != WP_NO_SHARD)
        heard(shards, state->shard);
    shards->counts.bad += rc != 0;
    return rc;
}

/* --- what goes --- */

static void step_link(struct wp_shards *shards, uint32_t link)
{
    struct wp_shard_link_state *state = &shards->links[link];
    uint64_t now_ns = shards->fleet->now_ns;
    if (!state->heard_ns) /* a new link: its silence begins now */
        state->heard_ns = now_ns;
    if (!state->is_welcome && now_ns - state->hello_ns >= HELLO_NS) {
        Wakepath__Shard__Hello m = own_hello(shards);
        wp_shards_tell(shards, link, WP_FRAME_SHARD_HELLO, &m.base);
        state->hello_ns = now_ns;
    }
    if (state->is_welcome && now_ns - state->probe_ns >= (state->probes < FIRST_PROBES ? FIRST_PROBES_NS : PROBES_NS)) {
        Wakepath__Wire__TimeProbe m = WAKEPATH__WIRE__TIME_PROBE__INIT;
        m.sent_ns = clock_ns(shards);
        wp_shards_tell(shards, link, WP_FRAME_TIME_PROBE, &m.base);
        state->probe_ns = now_ns;
        state->probes++;
    }
    if (now_ns - state->heard_ns < RENEW_NS)
        return;
    *state = (struct wp_shard_link_state){.shard = state->shard, .heard_ns = now_ns};
    if (state->shard != WP_NO_SHARD)
        wp_shard_questions_again(shards, state->shard);
    if (shards->options.renew)
        shards->options.renew(shards->options.context, link);
}

void wp_shards_step(struct wp_shards *shards)
{
    uint64_t now_ns = shards->fleet->now_ns;
    for (uint32_t i = 0; i < shards->options.links; i++)
        step_link(shards, i);
    for (uint32_t i = 0; i < shards->count; i++)
        if (shards->shards[i].is_up && now_ns > shards->shards[i].heard_ns + shards->fleet->give_up_ns)
            go_down(shards, i);
    wp_shard_ends_flush(shards);
    wp_shard_questions_step(shards);
    wp_shard_answers_step(shards);
}

/* --- questions of others of this program --- */

/* One that waits for answers goes on for an epoch: who answers may have to hear that much of it first. */
static bool is_behind(const struct wp_shards *shards, const struct wp_fleet_host *host, uint64_t epoch_ns)
{
    uint64_t resolved_ns = host->resolved_ns ? host->resolved_ns : host->timeline ? host->timeline->start_ns : 0;
    return host->open_questions && host->known_ns > resolved_ns + shards->fleet->lateness_ns + 2 * epoch_ns;
}

bool wp_shards_may_go(const struct wp_shards *shards, uint64_t age_ns, uint64_t epoch_ns)
{
    for (uint32_t i = 0; i < shards->fleet->count; i++)
        if (is_behind(shards, &shards->fleet->hosts[i], epoch_ns))
            return false;
    for (uint32_t i = 0; i < shards->stub_count; i++) {
        const struct wp_stub *stub = shards->stubs[i];
        const struct wp_fleet_host *host = &shards->fleet->hosts[stub->host];
        uint64_t age = host->known_ns > stub->start_ns ? host->known_ns - stub->start_ns : 0;
        if (!host->is_over && age_ns > age)
            return false;
    }
    return true;
}

bool wp_shards_are_done(const struct wp_shards *shards)
{
    for (uint32_t i = 0; i < shards->stub_count; i++)
        if (shards->shards[shards->stubs[i]->shard].is_up)
            return false;
    return !wp_shard_ends_has_hosts(shards);
}

const struct wp_shard_counts *wp_shards_counts(const struct wp_shards *shards)
{
    return &shards->counts;
}

uint32_t wp_shards_count(const struct wp_shards *shards)
{
    return shards->count;
}

void wp_shards_state(const struct wp_shards *shards, uint32_t index, struct wp_shard_state *state)
{
    const struct wp_shard *shard = &shards->shards[index];
    struct wp_offset offset;
    bool is_known = shard->has_clock &&
        wp_clocks_map(shards->fleet->clocks, shards->fleet->reference, shards->fleet->now_ns, shard->clock, &offset);
    *state = (struct wp_shard_state){
        shard->name, shard->is_up, shard->hosts, shard->open, is_known ? offset.bound_ns : UINT64_MAX};
}
