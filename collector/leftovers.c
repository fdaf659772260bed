/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/leftovers.h"

#include <errno.h>
#include <stdlib.h>
#include <uuid/uuid.h>

struct wp_leftovers {
    struct wp_spool *spool;
    const struct wp_endpoints *endpoints;
    const struct wp_logger *logger;
    struct wp_spool_session *session; /* the spool's; NULL: none is being delivered */
    struct wp_outbox *outbox;
    struct wp_sender *sender;
    struct wp_bye bye;
    char name[37];
};

int wp_leftovers_create(struct wp_leftovers **leftovers, struct wp_spool *spool, const struct wp_endpoints *endpoints,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_leftovers *l = calloc(1, sizeof(*l));
    if (!l)
        return wp_error_set(err, -ENOMEM, "out of memory");
    l->spool = spool;
    l->endpoints = endpoints;
    l->logger = logger;
    *leftovers = l;
    return 0;
}

static void close_session(struct wp_leftovers *l)
{
    wp_sender_close(l->sender);
    wp_outbox_destroy(l->outbox);
    l->sender = NULL;
    l->outbox = NULL;
    l->session = NULL;
}

void wp_leftovers_destroy(struct wp_leftovers *l)
{
    if (!l)
        return;
    close_session(l);
    free(l);
}

static int open_session(struct wp_leftovers *l, struct wp_error *err)
{
    const struct wp_hello *hello = wp_spool_session_hello(l->session);
    uuid_unparse_lower(hello->session, l->name);
    wp_spool_session_bye(l->session, &l->bye);
    wp_log(l->logger, WP_LOG_INFO, "delivering what was left in the spool session=%s batches=%llu acknowledged=%llu", l->name,
        (unsigned long long)l->bye.last_seq, (unsigned long long)wp_spool_session_acked(l->session));
    int rc = wp_outbox_create(&l->outbox, l->spool, l->session, l->logger, err);
    return rc ? rc : wp_sender_open(&l->sender, l->endpoints, hello, l->outbox, l->logger, err);
}

void wp_leftovers_pump(struct wp_leftovers *l)
{
    struct wp_error err = {0};
    int rc = 0;
    if (!l->session) {
        l->session = wp_spool_leftover(l->spool);
        rc = l->session ? open_session(l, &err) : 0;
    }
    if (!rc && l->sender)
        rc = wp_sender_pump(l->sender, 0, &err);
    if (!rc && l->sender)
        rc = wp_sender_end(l->sender, &l->bye, &err);
    if (!rc)
        return;
    struct wp_spool_session *session = l->session;
    close_session(l);
    if (rc > 0) {
        wp_log(l->logger, WP_LOG_INFO, "delivered what was left in the spool session=%s", l->name);
        wp_spool_remove(l->spool, session);
    } else {
        wp_log(l->logger, WP_LOG_ERROR, "a session stays in the spool: %s session=%s", err.text, l->name);
        wp_spool_set_aside(l->spool, session);
    }
}

bool wp_leftovers_are_done(const struct wp_leftovers *l)
{
    return !l->session && !wp_spool_leftover(l->spool);
}

bool wp_leftovers_are_moving(const struct wp_leftovers *l)
{
    return l->sender && wp_sender_is_welcome(l->sender);
}
