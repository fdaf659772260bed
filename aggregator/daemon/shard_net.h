/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_SHARD_NET_H
#define WP_AGGREGATOR_DAEMON_SHARD_NET_H
/* The sockets of shards.h: a link to each peer, and the server that peers connect to. */
#include "aggregator/daemon/ingest_options.h"
#include "aggregator/shard/shards.h"

struct wp_shard_net;

/* All borrowed, and needed as long as it is open. */
struct wp_shard_net_options {
    struct wp_fleet *fleet;
    struct wp_server *server;
    const struct wp_ingest_options *ingest;
    const char *shard;
    const struct wp_logger *logger;
};

/* *net is NULL when there are no peers; all calls take that. */
int wp_shard_net_open(struct wp_shard_net **net, const struct wp_shard_net_options *options, struct wp_error *err);
/* Closes the links and destroys the shards' state: before the fleet and the server go. */
void wp_shard_net_close(struct wp_shard_net *net);
/* Takes in what came over the links. True: something came. */
bool wp_shard_net_poll(struct wp_shard_net *net);
/* What the server has from one that connected. */
void wp_shard_net_take(struct wp_shard_net *net, const struct wp_server_message *message);
/* The time (the fleet's) has gone on. */
void wp_shard_net_step(struct wp_shard_net *net);
/* Nobody needs this aggregator any more. */
bool wp_shard_net_is_done(const struct wp_shard_net *net);

#endif
