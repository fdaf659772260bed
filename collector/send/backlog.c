/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/backlog.h"

#include "collector/send/losses.h"
#include "collector/send/retelling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#define REFUSALS 3u /* of a session, each by another start of a collector */

struct wp_backlog {
    struct wp_backlog_options options;
    struct wp_spool_session *session; /* the spool's; NULL: none is being delivered */
    struct wp_send_queue *queue;
    struct wp_sender *sender;
    struct wp_retelling *retelling; /* it was too large: what it has still to say goes as another one */
    struct wp_bye bye;
    bool was_asked; /* once more, after it was refused */
    char name[37];
};

int wp_backlog_create(struct wp_backlog **backlog, const struct wp_backlog_options *options, struct wp_error *err)
{
    struct wp_backlog *l = calloc(1, sizeof(*l));
    if (!l)
        return wp_error_set(err, -ENOMEM, "out of memory");
    l->options = *options;
    *backlog = l;
    return 0;
}

static void close_session(struct wp_backlog *l)
{
    wp_retelling_destroy(l->retelling);
    wp_sender_close(l->sender);
    wp_send_queue_destroy(l->queue);
    l->retelling = NULL;
    l->sender = NULL;
    l->queue = NULL;
    l->session = NULL;
    l->was_asked = false;
}

void wp_backlog_destroy(struct wp_backlog *l)
{
    if (!l)
        return;
    close_session(l);
    free(l);
}

static int open_session(struct wp_backlog *l, struct wp_error *err)
{
    const struct wp_hello *hello = wp_spool_session_hello(l->session);
    uuid_unparse_lower(hello->session, l->name);
    wp_spool_session_bye(l->session, &l->bye);
    wp_log(l->options.logger, WP_LOG_INFO,
        "delivering an earlier session from the spool session=%s batches=%llu acknowledged=%llu", l->name,
        (unsigned long long)l->bye.last_seq, (unsigned long long)wp_spool_session_acked(l->session));
    int rc = wp_send_queue_create(&l->queue, l->options.spool, l->session, l->options.logger, err);
    return rc ? rc : wp_sender_open(&l->sender, l->options.endpoints, hello, l->queue, l->options.logger, err);
}

static int begin_retelling(struct wp_backlog *l, const struct wp_error *why, struct wp_error *err)
{
    if (wp_sender_wanted(l->sender))
        wp_send_queue_acknowledge(l->queue, wp_sender_wanted(l->sender) - 1, "");
    wp_log(l->options.logger, WP_LOG_INFO,
        "an earlier session in the spool continues in a new one: %s session=%s batches=%llu", why->text, l->name,
        (unsigned long long)wp_send_queue_waiting(l->queue));
    wp_sender_close(l->sender);
    l->sender = NULL;
    return wp_retelling_create(&l->retelling,
        &(struct wp_retelling_options){
            wp_spool_session_hello(l->session), l->queue, l->options.endpoints, l->options.logger, l->bye.successor},
        err);
}

/* A session that was refused keeps what it was given: asked for once more, the Welcome says how far that is. */
static int take_too_large(struct wp_backlog *l, const struct wp_error *why, struct wp_error *err)
{
    if (l->was_asked)
        return begin_retelling(l, why, err);
    l->was_asked = true;
    wp_sender_close(l->sender);
    l->sender = NULL;
    return wp_sender_open(
        &l->sender, l->options.endpoints, wp_spool_session_hello(l->session), l->queue, l->options.logger, err);
}

/* Whoever set an aggregator wrong may have set it right by the next start; after some of them it is lost, and said so.
 */
static void take_refusal(struct wp_backlog *l, struct wp_spool_session *session, const struct wp_error *why)
{
    unsigned starts = wp_spool_session_refused(session);
    if (strstr(why->text, WP_REFUSED_TOO_LARGE) == NULL && starts < REFUSALS) {
        wp_log(l->options.logger, WP_LOG_ERROR,
            "an aggregator refused an earlier session, it stays in the spool for the %s start: %s session=%s",
            starts == 1 ? "next" : "last", why->text, l->name);
        close_session(l);
        wp_spool_set_aside(l->options.spool, session);
        return;
    }
    uint64_t before = l->options.losses->events;
    wp_losses_send_queue(l->options.losses, l->queue);
    wp_log(l->options.logger, WP_LOG_ERROR,
        "no aggregator accepts an earlier session in the spool, its events are counted as lost: %s session=%s "
        "events=%llu",
        why->text, l->name, (unsigned long long)(l->options.losses->events - before));
    close_session(l);
    wp_spool_remove(l->options.spool, session);
}

void wp_backlog_pump(struct wp_backlog *l)
{
    struct wp_error err = {0};
    int rc = 0;
    if (!l->session) {
        l->session = wp_spool_backlog(l->options.spool);
        rc = l->session ? open_session(l, &err) : 0;
    }
    if (!rc && l->retelling)
        rc = wp_retelling_pump(l->retelling, &err);
    if (!rc && l->sender)
        rc = wp_sender_pump(l->sender, 0, &err);
    if (!rc && l->sender)
        rc = wp_sender_end(l->sender, &l->bye, &err);
    if (rc == -ECONNREFUSED && l->sender && strstr(err.text, WP_REFUSED_TOO_LARGE)) {
        struct wp_error why = err;
        rc = take_too_large(l, &why, &err);
    }
    if (!rc)
        return;
    struct wp_spool_session *session = l->session;
    if (rc == -ECONNREFUSED && l->queue) {
        take_refusal(l, session, &err);
        return;
    }
    close_session(l);
    if (rc > 0) {
        wp_log(l->options.logger, WP_LOG_INFO, "delivered an earlier session from the spool session=%s", l->name);
        wp_spool_remove(l->options.spool, session);
    } else {
        wp_log(l->options.logger, WP_LOG_ERROR,
            "cannot deliver an earlier session, it stays in the spool: %s session=%s", err.text, l->name);
        wp_spool_set_aside(l->options.spool, session);
    }
}

bool wp_backlog_is_done(const struct wp_backlog *l)
{
    return !l->session && !wp_spool_backlog(l->options.spool);
}
