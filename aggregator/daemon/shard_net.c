/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/shard_net.h"

#include "common/clock.h"
#include "proto/shard_link.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#define MESSAGES 256u /* of a link in one poll */
#define LOG_NS (10 * WP_NS_PER_S)

struct wp_shard_net {
    struct wp_shard_net_options options;
    struct wp_shards *shards;
    struct wp_shard_link *links[WP_SHARD_LINKS];
    uint32_t count;
    struct wp_log_limit bad;
};

static int send_frame(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct wp_shard_net *net = context;
    return wp_shard_link_send(net->links[link], type, raw, size);
}

static int answer(
    void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    struct wp_shard_net *net = context;
    return wp_server_answer(net->options.server, caller, type, raw, size);
}

static void complain(struct wp_shard_net *net, const char *who, const char *why)
{
    if (wp_log_allowed(net->options.logger, &net->bad, net->options.fleet->now_ns, LOG_NS))
        wp_log(net->options.logger, WP_LOG_WARN, "shards: %s peer=%s", why, who);
}

static void renew(void *context, uint32_t link)
{
    struct wp_shard_net *net = context;
    struct wp_error why = {0};
    if (wp_shard_link_renew(net->links[link], &why))
        complain(net, wp_shard_link_endpoint(net->links[link]), why.text);
}

static uint64_t clock_ns(void *context)
{
    (void)context;
    return wp_clock_ns();
}

int wp_shard_net_open(struct wp_shard_net **out, const struct wp_shard_net_options *options, struct wp_error *err)
{
    const struct wp_ingest_options *ingest = options->ingest;
    *out = NULL;
    if (!ingest->peer_count)
        return 0;
    struct wp_shard_net *net = calloc(1, sizeof(*net));
    if (!net)
        return wp_error_set(err, -ENOMEM, "out of memory");
    net->options = *options;
    struct wp_shards_options shards = {.fleet = options->fleet,
        .name = options->shard,
        .links = ingest->peer_count,
        .logger = options->logger,
        .tell = send_frame,
        .answer = answer,
        .renew = renew,
        .clock_ns = clock_ns,
        .context = net};
    int rc = wp_shards_create(&net->shards, &shards, err);
    for (uint32_t i = 0; !rc && i < ingest->peer_count; i++) {
        struct wp_shard_link_options link = {.endpoint = ingest->peers[i].endpoint,
            .key_path = ingest->key_path,
            .peer_key_path = ingest->peers[i].key_path,
            .is_insecure = ingest->is_insecure};
        rc = wp_shard_link_open(&net->links[i], &link, err);
        net->count += !rc;
    }
    if (rc) {
        wp_shard_net_close(net);
        return rc;
    }
    *out = net;
    return 0;
}

void wp_shard_net_close(struct wp_shard_net *net)
{
    if (!net)
        return;
    for (uint32_t i = 0; i < net->count; i++)
        wp_shard_link_close(net->links[i]);
    wp_shards_destroy(net->shards);
    free(net);
}

bool wp_shard_net_poll(struct wp_shard_net *net)
{
    bool has_come = false;
    for (uint32_t i = 0; net && i < net->count; i++) {
        struct wp_frame frame;
        for (uint32_t n = 0; n < MESSAGES && wp_shard_link_receive(net->links[i], &frame) == 1; n++) {
            struct wp_error why = {0};
            has_come = true;
            if (wp_shards_answered(net->shards, i, frame.type, frame.payload, frame.size, &why))
                complain(net, wp_shard_link_endpoint(net->links[i]), why.text);
        }
    }
    return has_come;
}

void wp_shard_net_take(struct wp_shard_net *net, const struct wp_server_message *message)
{
    struct wp_error why = {0};
    if (net &&
        wp_shards_called(net->shards, &message->caller, message->type, message->batch, message->batch_size, &why))
        complain(net, "caller", why.text);
}

void wp_shard_net_step(struct wp_shard_net *net)
{
    if (net)
        wp_shards_step(net->shards);
}

bool wp_shard_net_is_done(const struct wp_shard_net *net)
{
    return !net || wp_shards_are_done(net->shards);
}
