/* SPDX-License-Identifier: Apache-2.0 */
#include "made_shards.h"

#include "proto/shard_wire.h"
#include "proto/wakepath.pb-c.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t clock_of(const struct made_shards *all, uint32_t shard)
{
    return all->now_ns + shard * MADE_CLOCK_NS;
}

static void say(
    struct made_shards *all, uint32_t to, bool is_answer, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct made_message *message = malloc(sizeof(*message) + size);
    if (!message)
        abort();
    *message = (struct made_message){.to = to, .is_answer = is_answer, .type = type, .size = size};
    if (size)
        memcpy(message->bytes, raw, size);
    if (all->last)
        all->last->next = message;
    else
        all->first = message;
    all->last = message;
}

static int tell(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct made_shard *shard = context;
    (void)link;
    say(shard->all, !shard->number, false, type, raw, size);
    return 0;
}

static int answer(
    void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct made_shard *shard = context;
    if (shard->all->is_stuck && type == WP_FRAME_SHARD_ANSWERS) {
        shard->all->held_up++;
        return -EAGAIN;
    }
    say(shard->all, caller->identity[1], true, type, raw, size);
    return 0;
}

static void renew(void *context, uint32_t link)
{
    struct made_shard *shard = context;
    (void)link;
    shard->all->renewals++;
}

static void make_hub(struct made_shards *all, uint32_t number)
{
    static const char *const names[MADE_SHARDS] = {"a", "b"};
    struct made_shard *shard = &all->shards[number];
    struct wp_shards_options options = {.fleet = shard->fleet,
        .name = names[number],
        .links = 1,
        .flush_ns = 1,
        .tell = tell,
        .answer = answer,
        .renew = renew,
        .context = shard};
    if (wp_shards_create(&shard->shards, &options, NULL))
        abort();
}

void made_shards_init(struct made_shards *all)
{
    *all = (struct made_shards){.now_ns = 1};
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        all->shards[i].all = all;
        all->shards[i].number = i;
        if (wp_fleet_create(&all->shards[i].fleet))
            abort();
        all->shards[i].fleet->now_ns = clock_of(all, i);
        make_hub(all, i);
    }
}

static void drop_all(struct made_shards *all)
{
    for (struct made_message *next; all->first; all->first = next) {
        next = all->first->next;
        free(all->first);
    }
    all->last = NULL;
}

void made_shards_part(struct made_shards *all)
{
    drop_all(all);
    for (uint32_t i = 0; i < MADE_SHARDS; i++) {
        wp_shards_destroy(all->shards[i].shards);
        all->shards[i].shards = NULL;
    }
}

void made_shards_fini(struct made_shards *all)
{
    made_shards_part(all);
    for (uint32_t i = 0; i < MADE_SHARDS; i++)
        wp_fleet_destroy(all->shards[i].fleet);
}

void made_shards_restart(struct made_shards *all, uint32_t shard)
{
    wp_shards_destroy(all->shards[shard].shards);
    make_hub(all, shard);
}

static struct wp_server_caller caller_of(uint32_t shard)
{
    return (struct wp_server_caller){{'P', (uint8_t)shard}};
}

int made_shards_call(struct made_shards *all, uint32_t shard, enum wp_frame_type type, const void *bytes, size_t size,
    struct wp_error *err)
{
    struct wp_server_caller caller = caller_of(!shard);
    return wp_shards_called(all->shards[shard].shards, &caller, type, bytes, size, err);
}

static void hear_time(struct made_shards *all, uint32_t shard, uint64_t sent_ns, uint64_t back_ns)
{
    Wakepath__Wire__TimeReply m = WAKEPATH__WIRE__TIME_REPLY__INIT;
    struct wp_buffer raw = {0};
    m.probe_sent_ns = sent_ns;
    m.received_ns = m.answered_ns = clock_of(all, !shard) - back_ns;
    if (!wp_shard_pack(&m.base, &raw))
        wp_shards_answered(all->shards[shard].shards, 0, WP_FRAME_TIME_REPLY, raw.data, raw.size, NULL);
    wp_buffer_fini(&raw);
}

static void deliver(struct made_shards *all, const struct made_message *message)
{
    struct wp_shards *to = all->shards[message->to].shards;
    all->delivered[message->type]++;
    if (message->is_answer) {
        wp_shards_answered(to, 0, message->type, message->bytes, message->size, NULL);
    } else if (message->type == WP_FRAME_TIME_PROBE) { /* the server answers it, not the shards */
        Wakepath__Wire__TimeProbe *probe = wakepath__wire__time_probe__unpack(NULL, message->size, message->bytes);
        if (probe)
            hear_time(all, !message->to, probe->sent_ns, 0);
        wakepath__wire__time_probe__free_unpacked(probe, NULL);
    } else {
        made_shards_call(all, message->to, message->type, message->bytes, message->size, NULL);
    }
}

void made_shards_probe(struct made_shards *all)
{
    for (uint32_t i = 0; i < MADE_SHARDS; i++)
        hear_time(all, i, clock_of(all, i) - 60000, 30000);
}

void made_shards_go_on(struct made_shards *all, uint64_t ns)
{
    do {
        all->now_ns += ns;
        ns = 1000;
        for (uint32_t i = 0; i < MADE_SHARDS; i++) {
            all->shards[i].fleet->now_ns = clock_of(all, i);
            wp_shards_step(all->shards[i].shards);
        }
        while (all->first && !all->is_cut) {
            struct made_message *message = all->first;
            all->first = message->next;
            all->last = all->first ? all->last : NULL;
            deliver(all, message);
            free(message);
        }
        if (all->is_cut)
            drop_all(all);
        for (uint32_t i = 0; i < MADE_SHARDS; i++) /* what came now is answered in the next step */
            wp_shards_step(all->shards[i].shards);
    } while (all->first);
}
