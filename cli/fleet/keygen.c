/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/keygen.h"

#include "collector/host/identity.h"
#include "common/path.h"
#include "common/version.h"
#include "proto/curve_keys.h"

#include <argp.h>
#include <string.h>

enum { KEY_HOST = 256, KEY_SHARD, KEY_NETNS };

struct keygen {
    struct wp_key_files files;
    const char *netns; /* borrowed from argv */
    bool is_this, is_shard;
    uint8_t host[16];
};

static const struct argp_option option_table[] = {
    {"dir", 'd', "DIR", 0, "write the files into this folder (default: the current one)", 0},
    {"host", KEY_HOST, "UUID", 0,
        "the host that a collector's key speaks for: its UUID, `this` for the current host, or `any`", 0},
    {"netns", KEY_NETNS, "PATH", 0, "with --host this: for a collector with this --netns", 0},
    {"shard", KEY_SHARD, 0, 0, "make a key of an aggregator that others name as their --peer", 0},
    {"force", 'f', 0, 0, "replace existing files", 0},
    {0},
};

static void take_host(struct keygen *k, struct argp_state *state, const char *text)
{
    struct wp_error why = {0};
    k->files.kind = strcmp(text, "any") ? WP_KEY_OF_HOST : WP_KEY_OF_ANY;
    k->is_this = !strcmp(text, "this");
    if (!k->is_this && k->files.kind == WP_KEY_OF_HOST && wp_host_parse(k->host, text, &why))
        argp_error(state, "--host takes a UUID, `this` or `any`: %s", why.text);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct keygen *k = state->input;
    switch (key) {
    case 'd':
        k->files.dir = argument;
        break;
    case KEY_HOST:
        take_host(k, state, argument);
        break;
    case KEY_NETNS:
        k->netns = argument;
        break;
    case KEY_SHARD:
        k->is_shard = true;
        break;
    case 'f':
        k->files.may_replace = true;
        break;
    case ARGP_KEY_ARG:
        if (k->files.name)
            argp_error(state, "unexpected argument '%s': give one NAME", argument);
        if (!wp_id_valid(argument))
            argp_error(state, "'%s' cannot name a key: use [A-Za-z0-9._+-], at most 128", argument);
        k->files.name = argument;
        break;
    case ARGP_KEY_END:
        if (!k->files.name)
            argp_error(state, "which NAME?");
        if (k->is_shard && k->files.kind != WP_KEY_OF_NONE)
            argp_error(state, "--shard and --host: a key is of one of them");
        if (k->is_shard)
            k->files.kind = WP_KEY_OF_SHARD;
        if (k->netns && !k->is_this)
            argp_error(state, "--netns goes with --host this");
        if (k->is_this)
            wp_identity_host(k->host, k->netns);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int wp_keygen_run(int argc, char **argv, FILE *out, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse_option, "NAME",
        "Makes a key pair: NAME.key is secret and stays where it is used, NAME.pub goes to the other side. A "
        "collector's NAME.pub "
        "is a line of its aggregator's --allow list; an aggregator's is its collectors' --server-key.",
        NULL, NULL, NULL};
    struct keygen k = {.files = {.dir = "."}};
    struct wp_key_pair pair;
    k.files.host = k.host;
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &k);
    int rc = wp_key_pair_make(&pair, err);
    if (!rc)
        rc = wp_key_files_write(&k.files, &pair, err);
    if (!rc)
        fprintf(out, "%s/%s.key\n%s/%s.pub\n", k.files.dir, k.files.name, k.files.dir, k.files.name);
    wp_key_pair_forget(&pair);
    return rc;
}
