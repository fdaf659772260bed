/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/send/sender.h"

#include "collector/send/older_peer.h"
#include "common/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_MS 5000u /* a recording in windows begins without them for so long at most */
#define ABSENT_MS 5000u
#define ABSENT_NS (60 * WP_NS_PER_S)
#define GONE_MS 20000u     /* an aggregator that restarts is back sooner */
#define SAFE_GONE_MS 5000u /* what is on disk need not wait for it */
#define BACKOFF_MS 1000u   /* after a round of all endpoints; doubles */
#define BACKOFF_MOST 60000u
#define BURST 256u /* batches in one go: the source is waiting */

/* Batches before `next` were sent to the aggregator that it talks to. */
struct wp_sender {
    const struct wp_endpoints *endpoints;
    const struct wp_hello *hello;
    const struct wp_logger *logger;
    struct wp_send_queue *queue;
    struct wp_client *client;                  /* NULL: between two tries */
    struct wp_older_peer *older;               /* NULL: it met none */
    unsigned current;                          /* endpoint */
    unsigned failures;                         /* endpoints that did not answer, in succession */
    unsigned refusals;                         /* of them, those that refused the session */
    uint64_t next, wanted;                     /* wanted: by the last Welcome, from there on */
    uint64_t told;                             /* Bye was said after this Welcome */
    uint64_t heard_ms;                         /* when it was last welcome */
    uint64_t tried_ms;                         /* when it was last welcome or the client was opened */
    uint64_t retry_ms;                         /* when to open the next one */
    uint64_t (*clock_ns)(const void *context); /* of time probes, NULL: none */
    const void *clock_context;
    void (*take_names)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size); /* NULL: nobody */
    void *names_context;
    struct wp_window window; /* said last */
    struct wp_log_limit absence;
    bool was_welcome;
};

static const char *endpoint(const struct wp_sender *s)
{
    return s->endpoints->names[s->current];
}

static int open_client(struct wp_sender *s, struct wp_error *err)
{
    s->tried_ms = wp_clock_ms();
    s->told = 0;
    const struct wp_endpoints *all = s->endpoints;
    const char *server_key = all->server_key_count > 1 ? all->server_key_paths[s->current] : all->server_key_paths[0];
    int rc = wp_client_open_with(&s->client,
        &(struct wp_client_options){.endpoint = endpoint(s),
            .key_path = all->key_path,
            .server_key_path = server_key,
            .is_insecure = all->is_insecure},
        s->hello, err);
    if (!rc && s->clock_ns)
        wp_client_answer_probes(s->client, s->clock_ns, s->clock_context);
    if (!rc && s->take_names)
        wp_client_take_names(s->client, s->take_names, s->names_context);
    return rc;
}

int wp_sender_open(struct wp_sender **sender, const struct wp_endpoints *endpoints, const struct wp_hello *hello,
    struct wp_send_queue *queue, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_sender *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->endpoints = endpoints;
    s->hello = hello;
    s->logger = logger;
    s->queue = queue;
    s->next = 1;
    s->heard_ms = wp_clock_ms();
    int rc = open_client(s, err);
    if (rc) {
        wp_sender_close(s);
        return rc;
    }
    *sender = s;
    return 0;
}

void wp_sender_close(struct wp_sender *s)
{
    if (!s)
        return;
    wp_client_close(s->client);
    wp_older_peer_destroy(s->older);
    free(s);
}

void wp_sender_answer_probes(struct wp_sender *s, uint64_t (*clock_ns)(const void *context), const void *context)
{
    s->clock_ns = clock_ns;
    s->clock_context = context;
    if (s->client)
        wp_client_answer_probes(s->client, clock_ns, context);
}

bool wp_sender_is_welcome(const struct wp_sender *s)
{
    return s->client && wp_client_is_welcome(s->client);
}

void wp_sender_take_names(struct wp_sender *s,
    void (*take)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size), void *context)
{
    s->take_names = take;
    s->names_context = context;
    if (s->client)
        wp_client_take_names(s->client, take, context);
}

bool wp_sender_knows_names(const struct wp_sender *s)
{
    return wp_sender_is_welcome(s) && wp_client_welcome(s->client)->wire_minor >= WP_WIRE_NAMES;
}

int wp_sender_send_names(struct wp_sender *s, enum wp_frame_type type, const uint8_t *raw, size_t size)
{
    return s->client ? wp_client_send_names(s->client, type, raw, size, NULL) : -EAGAIN;
}

int wp_sender_fd(const struct wp_sender *s)
{
    return s->client ? wp_client_fd(s->client) : -1;
}

/* One that says 1.1 hears nothing of windows (older_peer.h) and may as well have all, so the first answer is waited
 * for, if not for long. */
struct wp_window wp_sender_window(struct wp_sender *s)
{
    const struct wp_window always = {WP_WINDOW_MOST_NS, WP_WINDOW_MOST_NS};
    if (wp_sender_is_welcome(s))
        s->window = wp_client_welcome(s->client)->wire_minor < WP_WIRE_WINDOWS ? always : *wp_client_window(s->client);
    else if (!s->was_welcome && wp_clock_ms() - s->heard_ms < FIRST_MS)
        return always;
    return s->window;
}

uint64_t wp_sender_absent_ms(const struct wp_sender *s)
{
    return wp_clock_ms() - s->heard_ms;
}

const char *wp_sender_trouble(const struct wp_sender *s)
{
    return s->client ? wp_client_trouble(s->client) : "";
}

/* As the one can read it that is talked to. */
static int send_batch(struct wp_sender *s, uint64_t seq, const uint8_t *frame, size_t size, struct wp_error *err)
{
    uint32_t minor = wp_client_welcome(s->client)->wire_minor;
    int rc = 0;
    if (minor < WP_WIRE_SHAPES && !s->older && !(s->older = wp_older_peer_create()))
        return wp_error_set(err, -ENOMEM, "out of memory for an aggregator of an older version");
    if (minor < WP_WIRE_SHAPES)
        rc = wp_older_peer_batch(s->older, minor, &frame, &size, err);
    return rc ? rc : wp_client_send_batch(s->client, seq, frame, size, err);
}

static int send_some(struct wp_sender *s, struct wp_error *err)
{
    const uint8_t *frame;
    size_t size;
    for (unsigned i = 0; i < BURST && s->next <= wp_send_queue_last(s->queue) && wp_client_may_send(s->client, s->next);
         i++) {
        uint64_t seq = s->next;
        int rc = wp_send_queue_read(s->queue, &seq, endpoint(s), &frame, &size, err);
        if (rc == -ENOENT)
            return 0;
        if (rc)
            return rc;
        if (!wp_client_may_send(s->client, seq))
            return 0;
        rc = send_batch(s, seq, frame, size, err);
        if (rc)
            return rc == -EAGAIN ? 0 : rc;
        s->next = seq + 1;
    }
    return 0;
}

static uint64_t resume_seq(const struct wp_sender *s)
{
    uint64_t from = wp_client_welcome(s->client)->resume_seq;
    return from ? from : 1;
}

/* A Welcome, also a later one of an aggregator that was away, says where to go on. */
static void resume(struct wp_sender *s)
{
    s->next = s->wanted;
    if (s->was_welcome)
        wp_log(s->logger, WP_LOG_INFO, "the aggregator answers again endpoint=%s resume=%llu", endpoint(s),
            (unsigned long long)s->wanted);
    s->was_welcome = true;
}

uint64_t wp_sender_wanted(const struct wp_sender *s)
{
    return s->wanted;
}

/* Says now and then that nobody answers: what is collected waits meanwhile. */
static void warn_of_absence(struct wp_sender *s)
{
    uint64_t now = wp_clock_ms();
    const char *trouble = wp_client_trouble(s->client);
    if (now - s->heard_ms > ABSENT_MS && wp_log_allowed(s->logger, &s->absence, now * WP_NS_PER_MS, ABSENT_NS))
        wp_log(s->logger, WP_LOG_WARN,
            "no aggregator answers endpoint=%s since_s=%llu waiting_batches=%llu reason=\"%s\"", endpoint(s),
            (unsigned long long)(now - s->heard_ms) / 1000, (unsigned long long)wp_send_queue_waiting(s->queue),
            *trouble ? trouble : "nothing listens there, or it cannot be reached");
}

/* --- another aggregator --- */

/* None after the first ones; after each round of all of them twice as long, and each collector a little differently. */
static uint64_t backoff_ms(const struct wp_sender *s)
{
    unsigned rounds = s->failures / s->endpoints->count;
    uint32_t random = 0;
    if (!rounds)
        return 0;
    uint64_t wait = rounds > 6 ? BACKOFF_MOST : (uint64_t)BACKOFF_MS << (rounds - 1);
    if (wait > BACKOFF_MOST)
        wait = BACKOFF_MOST;
    if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
        random = (uint32_t)wp_clock_ms();
    return wait / 2 + random % (wait / 2 + 1);
}

static void leave(struct wp_sender *s, const char *why)
{
    const char *from = endpoint(s);
    wp_client_drop(s->client);
    s->client = NULL;
    s->failures++;
    s->current = (s->current + 1) % s->endpoints->count;
    uint64_t wait = backoff_ms(s);
    s->retry_ms = wp_clock_ms() + wait;
    wp_log(s->logger, WP_LOG_WARN, "switching to the next aggregator: %s endpoint=%s next=%s wait_ms=%llu", why, from,
        endpoint(s), (unsigned long long)wait);
}

/* 1: there is a client to talk to. */
static int have_client(struct wp_sender *s, int timeout_ms, struct wp_error *err)
{
    if (s->client)
        return 1;
    uint64_t now = wp_clock_ms(), left = s->retry_ms > now ? s->retry_ms - now : 0;
    if (left) {
        poll(NULL, 0, left < (uint64_t)timeout_ms ? (int)left : timeout_ms);
        return 0;
    }
    int rc = open_client(s, err);
    return rc ? rc : 1;
}

/* The session may still be taken by another one. */
static int refused(struct wp_sender *s, int rc, const struct wp_error *why)
{
    if (rc != -ECONNREFUSED || s->endpoints->count == 1 || ++s->refusals >= s->endpoints->count)
        return rc;
    leave(s, why->text);
    return 0;
}

static void watch_presence(struct wp_sender *s)
{
    if (wp_client_is_welcome(s->client)) {
        s->heard_ms = s->tried_ms = wp_clock_ms();
        s->failures = s->refusals = 0;
        return;
    }
    warn_of_absence(s);
    if (s->endpoints->count > 1 && wp_clock_ms() - s->tried_ms > ABSENT_MS)
        leave(s, "it does not answer");
}

/* --- life --- */

int wp_sender_pump(struct wp_sender *s, int timeout_ms, struct wp_error *err)
{
    struct wp_error why = {0};
    wp_send_queue_tend(s->queue);
    int rc = have_client(s, timeout_ms, err);
    if (rc <= 0)
        return rc;
    uint64_t welcomes = wp_client_welcomes(s->client);
    rc = wp_client_poll(s->client, timeout_ms, &why);
    while (rc > 0) /* everything that is there already */
        rc = wp_client_poll(s->client, 0, &why);
    if (wp_client_welcomes(s->client) != welcomes) /* a refusal right behind it as well is told how far it was taken */
        s->wanted = resume_seq(s);
    if (rc < 0) {
        rc = refused(s, rc, &why);
        return rc ? wp_error_set(err, rc, "%s", why.text) : 0;
    }
    wp_send_queue_acknowledge(s->queue, wp_client_acked(s->client), endpoint(s));
    if (wp_client_welcomes(s->client) != welcomes)
        resume(s);
    watch_presence(s);
    return wp_sender_is_welcome(s) ? send_some(s, err) : 0;
}

int wp_sender_push(
    struct wp_sender *s, const struct wp_batch *batch, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    int rc = wp_sender_pump(s, 0, err);
    if (!rc)
        rc = wp_send_queue_push(s->queue, batch, bytes, size, err);
    while (rc == -EAGAIN && !(rc = wp_sender_pump(s, 100, err)))
        rc = wp_send_queue_push(s->queue, batch, bytes, size, err);
    return !rc && wp_sender_is_welcome(s) ? send_some(s, err) : rc;
}

int wp_sender_end(struct wp_sender *s, const struct wp_bye *bye, struct wp_error *err)
{
    if (!bye->last_seq || (s->client && s->told && wp_client_acked(s->client) >= bye->last_seq))
        return 1;
    bool is_sent = s->next > wp_send_queue_last(s->queue);
    if (!is_sent || !wp_sender_is_welcome(s) || s->told == wp_client_welcomes(s->client))
        return 0;
    int rc = wp_client_bye(s->client, bye, err); /* again to an aggregator that came back */
    if (!rc)
        s->told = wp_client_welcomes(s->client);
    return rc == -EAGAIN ? 0 : rc;
}

/* It took too long: -ETIMEDOUT, and where the rest is; 0 when only Bye could not be said. */
static int give_up(struct wp_sender *s, const char *why, struct wp_error *err)
{
    unsigned long long waiting = wp_send_queue_waiting(s->queue);
    wp_send_queue_settle(s->queue);
    if (!waiting)
        return 0;
    return wp_error_set(err, -ETIMEDOUT, "%s: %llu batches %s", why, waiting,
        wp_send_queue_is_safe(s->queue) ? "stay in the spool" : "are lost");
}

int wp_sender_finish(struct wp_sender *s, const struct wp_bye *bye, uint64_t timeout_ms, struct wp_error *err)
{
    uint64_t start = wp_clock_ms(), heard = start, waited_for = UINT64_MAX, taken_before = UINT64_MAX;
    for (;;) {
        int rc = wp_sender_end(s, bye, err);
        if (rc)
            return rc < 0 ? rc : 0;
        rc = wp_sender_pump(s, 50, err);
        if (rc)
            return rc;
        uint64_t now = wp_clock_ms(),
                 patience =
                     wp_send_queue_waiting(s->queue) && !wp_send_queue_is_safe(s->queue) ? GONE_MS : SAFE_GONE_MS;
        patience +=
            (uint64_t)(s->endpoints->count - 1) * (ABSENT_MS + BACKOFF_MS); /* each endpoint is given its turn */
        if (wp_sender_is_welcome(s))
            heard = now;
        if (now - heard > patience)
            return give_up(s, "the aggregator is gone", err);
        uint64_t waiting = wp_send_queue_waiting(s->queue),
                 taken = s->client ? wp_client_taken(s->client) : taken_before;
        if ((waiting < waited_for || taken != taken_before) &&
            !wp_send_queue_is_safe(s->queue)) { /* it is slow, but it goes on; what is left here would be lost */
            waited_for = waiting;
            start = now;
        }
        taken_before = taken;
        if (now - start > timeout_ms)
            return give_up(s, "the aggregator did not acknowledge the last batches in time", err);
    }
}
