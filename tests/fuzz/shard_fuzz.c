/* SPDX-License-Identifier: Apache-2.0 */
/* What other aggregators say: a row of messages, each a type, two bytes of size and so much of a payload. */
#include "fuzz.h"

#include "aggregator/shards.h"
#include "proto/shard_wire.h"

#include <string.h>

static int tell(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    (void)context, (void)link, (void)type, (void)raw, (void)size;
    return 0;
}

static int answer(void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    (void)context, (void)caller, (void)type, (void)raw, (void)size;
    return 0;
}

static void talk(struct wp_shards *shards, struct wp_fleet *fleet, const uint8_t *bytes, size_t size)
{
    static const enum wp_frame_type calls[] = {WP_FRAME_SHARD_HELLO, WP_FRAME_SHARD_FACTS, WP_FRAME_SHARD_QUESTIONS};
    static const enum wp_frame_type answers[] = {WP_FRAME_SHARD_WELCOME, WP_FRAME_SHARD_ANSWERS, WP_FRAME_TIME_REPLY};
    const struct wp_server_caller caller = {{'P'}};
    for (size_t at = 0; size - at >= 3;) {
        size_t length = bytes[at + 1] | (size_t)bytes[at + 2] << 8, type = bytes[at] % 6;
        at += 3;
        length = length < size - at ? length : size - at;
        if (type < 3)
            wp_shards_called(shards, &caller, calls[type], bytes + at, length, NULL);
        else
            wp_shards_answered(shards, 0, answers[type - 3], bytes + at, length, NULL);
        at += length;
        fleet->now_ns += 10000000;
        wp_shards_step(shards);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_fleet *fleet;
    struct wp_shards *shards;
    if (wp_fleet_create(&fleet))
        return 0;
    fleet->now_ns = 1000000000;
    struct wp_shards_options options = {.fleet = fleet, .name = "a", .links = 1, .tell = tell, .answer = answer};
    if (!wp_shards_create(&shards, &options, NULL))
        talk(shards, fleet, bytes, size);
    wp_shards_destroy(fleet->shards);
    wp_fleet_destroy(fleet);
    return 0;
}
