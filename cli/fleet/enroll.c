/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fleet/enroll.h"

#include "collector/host/identity.h"
#include "common/version.h"
#include "proto/curve_keys.h"
#include "proto/enrolment.h"
#include "proto/enrolment_desk.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { KEY_KEY = 256, KEY_SERVER_KEY, KEY_TOKEN, KEY_HOST, KEY_EVERY, KEY_WAIT, KEY_LISTEN, KEY_ALLOW };

#define DESKS 64u
#define ASK_MS 3000

struct enroll {
    const char *desks[DESKS], *key, *server_key, *token, *listen, *allow; /* borrowed from argv */
    unsigned count, every_s, wait_s;
    bool is_host_given;
    uint8_t host[16];
};

static const struct argp_option option_table[] = {
    {"connect", 'c', "ENDPOINT", 0, "the enrolment server of an aggregator, tcp://address:port; may be repeated", 0},
    {"server-key", KEY_SERVER_KEY, "FILE", 0, "the aggregator's public key", 0},
    {"host", KEY_HOST, "UUID", 0, "the host that the key is to speak for: its UUID, or `this` (default)", 0},
    {"every", KEY_EVERY, "S", 0,
        "keep running and ask again every S seconds, for an aggregator that was down or has lost its list", 0},
    {"wait", KEY_WAIT, "S", 0, "give up when no enrolment server has listed the key after this time (default: never)",
        0},
    {"listen", KEY_LISTEN, "ENDPOINT", 0, "run the enrolment server at this address", 1},
    {"allow", KEY_ALLOW, "DIR", 0, "the aggregator's --allow folder, into which the enrolment server writes HOST.pub",
        1},
    {"key", KEY_KEY, "FILE", 0, "the secret key: this host's, or with --listen the aggregator's", 2},
    {"token", KEY_TOKEN, "FILE", 0,
        "the fleet's tokens: lines of 32 to 128 characters; a host sends the first, an enrolment server accepts each",
        2},
    {0},
};

static unsigned number_of(struct argp_state *state, const char *option, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || !value || value > 86400)
        argp_error(state, "%s takes seconds, 1 to 86400, not '%s'", option, text);
    return (unsigned)value;
}

static void take_host(struct enroll *e, struct argp_state *state, const char *text)
{
    struct wp_error why = {0};
    e->is_host_given = strcmp(text, "this") != 0;
    if (e->is_host_given && wp_host_parse(e->host, text, &why))
        argp_error(state, "--host takes a UUID or `this`: %s", why.text);
}

static void check_words(const struct enroll *e, struct argp_state *state)
{
    if (!e->key || !e->token)
        argp_error(state, "--key and --token are needed");
    if (e->listen ? !e->allow : !e->count || !e->server_key)
        argp_error(state, e->listen ? "--allow is needed with --listen" : "--connect and --server-key are needed");
    if (e->listen ? e->count || e->server_key || e->every_s || e->wait_s || e->is_host_given : e->allow != NULL)
        argp_error(
            state, e->listen ? "--listen goes with --key, --token and --allow only" : "--allow goes with --listen");
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct enroll *e = state->input;
    switch (key) {
    case 'c':
        if (e->count == DESKS)
            argp_error(state, "more than %u enrolment servers", DESKS);
        e->desks[e->count++] = argument;
        break;
    case KEY_KEY:
        e->key = argument;
        break;
    case KEY_SERVER_KEY:
        e->server_key = argument;
        break;
    case KEY_TOKEN:
        e->token = argument;
        break;
    case KEY_LISTEN:
        e->listen = argument;
        break;
    case KEY_ALLOW:
        e->allow = argument;
        break;
    case KEY_HOST:
        take_host(e, state, argument);
        break;
    case KEY_EVERY:
        e->every_s = number_of(state, "--every", argument);
        break;
    case KEY_WAIT:
        e->wait_s = number_of(state, "--wait", argument);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", argument);
        break;
    case ARGP_KEY_END:
        check_words(e, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Asks each enrolment server once: how many have the key. Whoever refuses says so each time that it is asked. */
static unsigned ask_all(const struct enroll *e, const struct wp_logger *logger, struct wp_error *last)
{
    unsigned listed = 0;
    for (unsigned i = 0; i < e->count; i++) {
        struct wp_error why = {0};
        struct wp_enrolment one = {e->desks[i], e->key, e->server_key, e->token, e->host, ASK_MS};
        int rc = wp_enrolment_ask(&one, &why);
        listed += !rc;
        if (rc) {
            wp_log(logger, WP_LOG_WARN, "not enrolled: %s", why.text);
            *last = why;
        }
    }
    return listed;
}

/* True when SIGTERM or SIGINT came meanwhile. A container's first process has no default for them. */
static bool pause_s(const sigset_t *ends, unsigned seconds)
{
    struct timespec length = {.tv_sec = seconds};
    int got;
    do
        got = sigtimedwait(ends, NULL, &length);
    while (got < 0 && errno == EINTR);
    return got > 0;
}

static int ask(const struct enroll *e, const struct wp_logger *logger, const sigset_t *ends, struct wp_error *err)
{
    time_t begin = time(NULL);
    char host[WP_HOST_TEXT];
    wp_host_format(e->host, host);
    wp_log(logger, WP_LOG_INFO, "requesting enrolment host=%s", host);
    for (bool was_listed = false;;) {
        struct wp_error why = {0};
        unsigned listed = ask_all(e, logger, &why);
        if (listed && !was_listed)
            wp_log(logger, WP_LOG_INFO, "enrolled servers=%u of=%u", listed, e->count);
        was_listed = was_listed || listed;
        if (was_listed && !e->every_s)
            return 0;
        if (!was_listed && e->wait_s && time(NULL) - begin >= (time_t)e->wait_s)
            return wp_error_wrap(err, wp_error_set(err, why.code, "%s", why.text),
                "no enrolment server has listed the key within %u s", e->wait_s);
        if (pause_s(ends, was_listed ? e->every_s : 2))
            return was_listed ? 0 : wp_error_set(err, -EINTR, "ended before an enrolment server had listed the key");
    }
}

static int serve(const struct enroll *e, const struct wp_logger *logger, const sigset_t *ends, struct wp_error *err)
{
    struct wp_enrolment_desk *desk = NULL;
    struct wp_enrolment_desk_options options = {e->listen, e->key, e->token, e->allow, logger};
    int stop = signalfd(-1, ends, SFD_CLOEXEC);
    int rc = stop < 0 ? wp_error_errno(err, -errno, "cannot wait for signals")
                      : wp_enrolment_desk_open(&desk, &options, err);
    if (!rc) {
        wp_log(logger, WP_LOG_INFO, "hosts may enrol endpoint=%s allow=%s", e->listen, e->allow);
        rc = wp_enrolment_desk_serve(desk, stop, err);
    }
    wp_enrolment_desk_close(desk);
    if (stop >= 0)
        close(stop);
    return rc;
}

int wp_enroll_run(int argc, char **argv, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse_option, NULL,
        "Gets the key of a host listed by aggregators without an operator: an enrolment server beside each of them "
        "lists "
        "the first key of a host that sends the fleet's token.\v"
        "`wakepath keygen --host this NAME` makes the key. A host's first key stays: to list another one, remove "
        "HOST.pub "
        "from the enrolment server's folder; to lock a host out, replace that file with a comment (#). Exit status: 0 "
        "an "
        "enrolment server has listed the key, 1 none has, 64 usage.",
        NULL, NULL, NULL};
    struct enroll e = {0};
    struct wp_logger logger = {"wakepath-enroll", WP_LOG_INFO, 2};
    sigset_t ends;
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_parse(&argp, argc, argv, 0, NULL, &e);
    if (!e.is_host_given)
        wp_identity_host(e.host, NULL);
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ends, NULL);
    return e.listen ? serve(&e, &logger, &ends, err) : ask(&e, &logger, &ends, err);
}
