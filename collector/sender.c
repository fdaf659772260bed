/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIMIT_BYTES ((size_t)256 << 20)
#define LIMIT_FRAMES 65536u
#define ABSENT_MS 5000u
#define ABSENT_NS 60000000000u
#define GONE_MS 20000u /* an aggregator that restarts is back sooner */

struct frame {
    uint8_t *bytes; /* owned */
    size_t size;
    uint64_t seq;
};

/* Frames [acked + 1, last] in a ring; those before `next` were sent. */
struct wp_sender {
    struct wp_client *client;
    const struct wp_logger *logger;
    struct frame *frames;
    uint32_t first, count, sent;
    size_t bytes;
    uint64_t heard_ms;  /* when it was last welcome */
    struct wp_log_limit absence;
    const char *endpoint;
    bool was_welcome;
};

static uint64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int wp_sender_open(struct wp_sender **sender, const char *endpoint, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_sender *s = calloc(1, sizeof(*s));
    if (!s)
        return wp_error_set(err, -ENOMEM, "out of memory");
    s->logger = logger;
    s->endpoint = endpoint;
    s->heard_ms = now_ms();
    s->frames = calloc(LIMIT_FRAMES, sizeof(*s->frames));
    int rc = s->frames ? wp_client_open(&s->client, endpoint, hello, err) : wp_error_set(err, -ENOMEM, "out of memory");
    if (rc) {
        wp_sender_close(s);
        return rc;
    }
    *sender = s;
    return 0;
}

static struct frame *frame_at(struct wp_sender *s, uint32_t index)
{
    return &s->frames[(s->first + index) % LIMIT_FRAMES];
}

void wp_sender_close(struct wp_sender *s)
{
    if (!s)
        return;
    for (uint32_t i = 0; i < s->count; i++)
        free(frame_at(s, i)->bytes);
    free(s->frames);
    wp_client_close(s->client);
    free(s);
}

void wp_sender_answer_probes(struct wp_sender *s, uint64_t (*clock_ns)(const void *context), const void *context)
{
    wp_client_answer_probes(s->client, clock_ns, context);
}

bool wp_sender_is_welcome(const struct wp_sender *s)
{
    return wp_client_is_welcome(s->client);
}

static void forget_acked(struct wp_sender *s)
{
    uint64_t acked = wp_client_acked(s->client);
    while (s->count && frame_at(s, 0)->seq <= acked) {
        struct frame *frame = frame_at(s, 0);
        s->bytes -= frame->size;
        free(frame->bytes);
        frame->bytes = NULL;
        s->first = (s->first + 1) % LIMIT_FRAMES;
        s->count--;
        s->sent -= s->sent > 0;
    }
}

static int send_some(struct wp_sender *s, struct wp_error *err)
{
    while (s->sent < s->count) {
        struct frame *frame = frame_at(s, s->sent);
        if (!wp_client_may_send(s->client, frame->seq))
            return 0;
        int rc = wp_client_send_batch(s->client, frame->seq, frame->bytes, frame->size, err);
        if (rc == -EAGAIN)
            return 0;
        if (rc)
            return rc;
        s->sent++;
    }
    return 0;
}

/* A Welcome, also a later one of an aggregator that was away, says where to go on. */
static void resume(struct wp_sender *s)
{
    uint64_t from = wp_client_welcome(s->client)->resume_seq;
    s->sent = 0;
    while (s->sent < s->count && frame_at(s, s->sent)->seq < from)
        s->sent++;
    if (s->was_welcome)
        wp_log(s->logger, WP_LOG_INFO, "the aggregator is back resume=%llu", (unsigned long long)from);
    s->was_welcome = true;
}

/* Says now and then that nobody answers: what is collected waits in memory meanwhile. */
static void warn_of_absence(struct wp_sender *s)
{
    uint64_t now = now_ms();
    if (wp_client_is_welcome(s->client))
        s->heard_ms = now;
    else if (now - s->heard_ms > ABSENT_MS && wp_log_allowed(&s->absence, now * 1000000, ABSENT_NS))
        wp_log(s->logger, WP_LOG_WARN, "no aggregator answers endpoint=%s since_s=%llu waiting_batches=%u", s->endpoint,
            (unsigned long long)(now - s->heard_ms) / 1000, s->count);
}

int wp_sender_pump(struct wp_sender *s, int timeout_ms, struct wp_error *err)
{
    uint64_t welcomes = wp_client_welcomes(s->client);
    int rc = wp_client_poll(s->client, timeout_ms, err);
    while (rc > 0) /* everything that is there already */
        rc = wp_client_poll(s->client, 0, err);
    if (rc < 0)
        return rc;
    forget_acked(s);
    warn_of_absence(s);
    if (wp_client_welcomes(s->client) != welcomes)
        resume(s);
    return wp_client_is_welcome(s->client) ? send_some(s, err) : 0;
}

int wp_sender_push(struct wp_sender *s, uint64_t seq, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    int rc = wp_sender_pump(s, 0, err);
    while (!rc && (s->count == LIMIT_FRAMES || (s->count && s->bytes + size > LIMIT_BYTES)))
        rc = wp_sender_pump(s, 100, err);
    if (rc)
        return rc;
    uint8_t *copy = malloc(size);
    if (!copy)
        return wp_error_set(err, -ENOMEM, "out of memory for a batch");
    memcpy(copy, bytes, size);
    *frame_at(s, s->count++) = (struct frame){copy, size, seq};
    s->bytes += size;
    return wp_client_is_welcome(s->client) ? send_some(s, err) : 0;
}

int wp_sender_finish(struct wp_sender *s, const struct wp_bye *bye, uint64_t timeout_ms, struct wp_error *err)
{
    uint64_t deadline = now_ms() + timeout_ms, told = 0, heard = now_ms();
    while (wp_client_acked(s->client) < bye->last_seq) {
        int rc = wp_sender_pump(s, 50, err);
        if (rc)
            return rc;
        if (s->sent == s->count && wp_client_is_welcome(s->client) && told != wp_client_welcomes(s->client)) {
            rc = wp_client_bye(s->client, bye, err); /* again to an aggregator that came back */
            if (rc && rc != -EAGAIN)
                return rc;
            told = rc ? told : wp_client_welcomes(s->client);
        }
        if (wp_client_is_welcome(s->client))
            heard = now_ms();
        if (now_ms() - heard > GONE_MS)
            return wp_error_set(err, -ETIMEDOUT, "the aggregator is gone: %u batches are lost", s->count);
        if (now_ms() > deadline)
            return wp_error_set(err, -ETIMEDOUT, "the aggregator did not acknowledge the last batches in %llu s: %u are lost",
                (unsigned long long)timeout_ms / 1000, s->count);
    }
    return 0;
}
