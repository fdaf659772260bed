/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other aggregators say: a row of messages, each a type, two bytes of size and so much of a payload. From the
 * first one that is taken on there is a host of ours, which sent a message before it slept: they may ask about it, and
 * it waits for the first host that they tell of. Whatever they answer, the wait is cut into pieces without gap or
 * overlap.
 */
#include "fuzz.h"

#include "aggregator/explain/explain.h"
#include "aggregator/explain/explain_shard.h"
#include "aggregator/session/host_session.h"
#include "aggregator/shard/shards.h"
#include "proto/shard_wire.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define ESTABLISHED 1
#define FROM_NS 600000000u /* the wait */
#define TO_NS 700000000u

struct scene {
    struct wp_fleet *fleet;
    struct wp_shards *shards;
    struct wp_host_session_options options;
    struct wp_host_session *session; /* NULL: not yet */
    uint64_t reached_ns;             /* where the pieces of a wait begin so far: they come latest first */
};

static int tell(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    (void)context, (void)link, (void)type, (void)raw, (void)size;
    return 0;
}

static int answer(
    void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    static const struct wp_shard_vocabulary words = {WP_STYLES, WP_CATEGORIES};
    (void)context, (void)caller;
    Wakepath__Shard__Answers *m =
        type == WP_FRAME_SHARD_ANSWERS ? wp_shard_answers_unpack(raw, size, &words, NULL) : NULL;
    if (type == WP_FRAME_SHARD_ANSWERS && !m)
        abort(); /* others refuse it */
    if (m)
        wakepath__shard__answers__free_unpacked(m, NULL);
    return 0;
}

/* --- a host of ours --- */

static void make_host(struct scene *scene)
{
    static const struct wp_bytes comm = {"own", 3};
    static const struct wp_thread_entry thread = {.tid = 100, .pid = 100, .comm = 1};
    static const struct wp_socket_entry socket = {.family = AF_INET,
        .protocol = IPPROTO_TCP,
        .local = {10, 0, 0, 1},
        .remote = {10, 0, 0, 2},
        .local_port = 40000,
        .remote_port = 80,
        .netns = 1};
    struct wp_event events[] = {
        {.kind = WP_EVENT_SOCK_STATE, .c = ESTABLISHED, .b = 2, .d = 1, .time_ns = 1000, .a = 5ull << 32 | 7},
        {.kind = WP_EVENT_SWITCH, .other = 1, .time_ns = 100000000},
        {.kind = WP_EVENT_SOCK_SEND, .thread = 1, .d = 1, .time_ns = 200000000, .a = 100, .c = 100},
        {.kind = WP_EVENT_SOCK_LEAVE, .d = 1, .time_ns = 200001000, .a = 100, .c = 100},
        {.kind = WP_EVENT_SWITCH, .thread = 1, .time_ns = 300000000, .c = WP_STATE_INTERRUPTIBLE},
    };
    struct wp_hello hello = {.session = {1}, .hostname = (char *)(uintptr_t) "own", .start_real_ns = 1};
    scene->options = (struct wp_host_session_options){
        .fleet = scene->fleet, .epoch_ns = 1000000000, .lateness_ns = 1000000000, .history_ns = 10000000000};
    if (wp_host_session_create(&scene->session, &hello, "v1", &scene->options, NULL, NULL) ||
        wp_fleet_aggregate(scene->fleet, "web", "v1") < 0)
        abort();
    struct wp_batch batch = {.seq = 1,
        .session = {1},
        .events = events,
        .event_count = sizeof(events) / sizeof(events[0]),
        .strings = (void *)(uintptr_t)&comm,
        .string_count = 1,
        .threads = (void *)(uintptr_t)&thread,
        .thread_count = 1,
        .sockets = (void *)(uintptr_t)&socket,
        .socket_count = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .watermark_ns = 400000000};
    if (wp_host_session_take(scene->session, &batch, NULL))
        abort();
}

static void on_piece(void *context, const struct wp_piece *piece)
{
    struct scene *scene = context;
    if (piece->end_ns != scene->reached_ns || piece->start_ns >= piece->end_ns || piece->category >= WP_CATEGORIES ||
        piece->layer_count > WP_DEPTH_LIMIT)
        abort();
    scene->reached_ns = piece->start_ns;
}

/* Our host waits for that one. */
static void wait_for(struct scene *scene, uint32_t far)
{
    struct wp_pathtree tree;
    struct wp_slice slice = {.wake_ns = TO_NS, .cause_d = 1};
    struct wp_wait wait = {.thread = 1, .slice = &slice, .start_ns = FROM_NS};
    struct wp_shard_wait asked = {.thread = 1,
        .far_host = far,
        .far_socket = 1,
        .from_ns = FROM_NS,
        .to_ns = TO_NS,
        .arrival_ns = TO_NS,
        .start_ns = FROM_NS,
        .hops = WP_SHARD_HOPS};
    if (wp_pathtree_init(&tree))
        abort();
    struct wp_explainer *x = wp_explainer_create(scene->fleet, 0, &tree, 0);
    if (!x)
        abort();
    x->sink = &(struct wp_sink){.piece = on_piece, .context = scene, .asks = true};
    scene->reached_ns = TO_NS;
    wp_wait_on_shard(x, &wait, &asked, "far");
    if (scene->reached_ns != FROM_NS || x->depth)
        abort();
    wp_explainer_destroy(x);
    wp_pathtree_fini(&tree);
}

/* --- what comes --- */

static bool say(struct wp_shards *shards, size_t type, const uint8_t *bytes, size_t size)
{
    static const enum wp_frame_type calls[] = {WP_FRAME_SHARD_HELLO, WP_FRAME_SHARD_FACTS, WP_FRAME_SHARD_QUESTIONS};
    static const enum wp_frame_type answers[] = {WP_FRAME_SHARD_WELCOME, WP_FRAME_SHARD_ANSWERS, WP_FRAME_TIME_REPLY};
    const struct wp_server_caller caller = {{'P'}};
    return type < 3 ? !wp_shards_called(shards, &caller, calls[type], bytes, size, NULL)
                    : !wp_shards_answered(shards, 0, answers[type - 3], bytes, size, NULL);
}

static void talk(struct scene *scene, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= 3;) {
        size_t length = bytes[at + 1] | (size_t)bytes[at + 2] << 8, type = bytes[at] % 6;
        at += 3;
        length = length < size - at ? length : size - at;
        if (say(scene->shards, type, bytes + at, length) && !scene->session)
            make_host(scene);
        at += length;
        scene->fleet->now_ns += 10000000;
        for (uint32_t i = 1; i < scene->fleet->count; i++)
            if (scene->fleet->hosts[i].timeline && scene->fleet->hosts[i].is_foreign) {
                wait_for(scene, i);
                break;
            }
        wp_shards_step(scene->shards);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct scene scene = {0};
    if (wp_fleet_create(&scene.fleet))
        return 0;
    scene.fleet->now_ns = 1000000000;
    struct wp_shards_options options = {.fleet = scene.fleet, .name = "a", .links = 1, .tell = tell, .answer = answer};
    if (!wp_shards_create(&scene.shards, &options, NULL))
        talk(&scene, bytes, size);
    wp_shards_destroy(scene.shards);
    wp_host_session_destroy(scene.session);
    wp_fleet_destroy(scene.fleet);
    return 0;
}
