/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubernetes_nodes FOLDER NODES SHARDS ENDPOINT DESK: nodes of a cluster that are not there, in one process, each with
 * a key of its own. ENDPOINT and DESK are formats with the shard's number; FOLDER has aggregator.pub and token, and
 * gets the keys. Each node gets its key listed by all desks, then talks to the shard NUMBER % SHARDS. Prints "welcome=W
 * again=A" when that changes: how many are welcome, how many have been so more than once. Ends when its standard input
 * does.
 */
#include "proto/curve_keys.h"
#include "proto/enrolment.h"
#include "proto/transport_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct node {
    struct wp_client *client;
    uint8_t host[16];
    char key[256], name[32];
};

struct cluster {
    const char *folder, *endpoint, *desk;
    unsigned nodes, shards;
    char server[256], token[256];
    struct node *all;
};

static void check(int rc, const struct wp_error *err)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "kubernetes_nodes: %s\n", err->text);
    exit(1);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void fill(char text[256], const char *format, unsigned shard)
{
    snprintf(text, 256, format, shard);
}
#pragma GCC diagnostic pop

static void enrol(const struct cluster *c, struct node *node, unsigned number)
{
    struct wp_key_pair pair;
    struct wp_error err = {0};
    char dir[200];
    memcpy(node->host, "kubernetes", 10);
    memcpy(node->host + 12, &number, 4);
    snprintf(dir, sizeof(dir), "%s/node-%u", c->folder, number);
    snprintf(node->name, sizeof(node->name), "node-%u", number);
    snprintf(node->key, sizeof(node->key), "%s/node.key", dir);
    check(wp_key_pair_make(&pair, &err), &err);
    check(
        wp_key_files_write(&(struct wp_key_files){dir, "node", WP_KEY_OF_HOST, node->host, false}, &pair, &err), &err);
    for (unsigned shard = 0; shard < c->shards; shard++) {
        char desk[256];
        fill(desk, c->desk, shard);
        check(wp_enrolment_ask(&(struct wp_enrolment){desk, node->key, c->server, c->token, node->host, 30000}, &err),
            &err);
    }
}

static void open_client(const struct cluster *c, struct node *node, unsigned number)
{
    struct timespec real;
    struct wp_error err = {0};
    char endpoint[256];
    clock_gettime(CLOCK_REALTIME, &real);
    struct wp_hello hello = {.wire_major = WP_WIRE_MAJOR,
        .wire_minor = WP_WIRE_MINOR,
        .hostname = node->name,
        .kernel = "6.1.0",
        .machine = "x86_64",
        .boot_id = "made",
        .version = "0",
        .source = "made",
        .release = "",
        .cpus = 1,
        .start_mono_ns = 1000000000,
        .start_real_ns = (uint64_t)real.tv_sec * 1000000000};
    memcpy(hello.host, node->host, 16);
    memcpy(hello.session, node->host, 16);
    fill(endpoint, c->endpoint, number % c->shards);
    check(wp_client_open_with(
              &node->client, &(struct wp_client_options){endpoint, node->key, c->server, false}, &hello, &err),
        &err);
}

static bool has_input_ended(void)
{
    struct pollfd in = {.fd = 0, .events = POLLIN};
    char byte;
    return poll(&in, 1, 20) > 0 && read(0, &byte, 1) <= 0;
}

static void talk(const struct cluster *c)
{
    unsigned before[2] = {0};
    while (!has_input_ended()) {
        unsigned now[2] = {0};
        for (unsigned i = 0; i < c->nodes; i++) {
            struct wp_error err = {0};
            check(wp_client_poll(c->all[i].client, 0, &err), &err);
            now[0] += wp_client_is_welcome(c->all[i].client);
            now[1] += wp_client_welcomes(c->all[i].client) > 1;
        }
        if (memcmp(now, before, sizeof(now)))
            printf("welcome=%u again=%u\n", now[0], now[1]);
        memcpy(before, now, sizeof(now));
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc != 6)
        return 64;
    struct cluster c = {argv[1], argv[4], argv[5], (unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), "", "", NULL};
    setvbuf(stdout, NULL, _IOLBF, 0);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    snprintf(c.server, sizeof(c.server), "%s/aggregator.pub", c.folder);
    snprintf(c.token, sizeof(c.token), "%s/token", c.folder);
    c.all = calloc(c.nodes, sizeof(*c.all));
    for (unsigned i = 0; c.all && i < c.nodes; i++)
        enrol(&c, &c.all[i], i);
    puts("enrolled");
    for (unsigned i = 0; c.all && i < c.nodes; i++)
        open_client(&c, &c.all[i], i);
    talk(&c);
    for (unsigned i = 0; i < c.nodes; i++)
        wp_client_drop(c.all[i].client);
    free(c.all);
    return 0;
}
