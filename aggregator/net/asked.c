/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/asked.h"

#include "common/array.h"
#include "common/clock.h"

#include <stdlib.h>

#define NEXT_NS                                                                                                        \
    WP_NS_PER_MS /* a read so soon after another one of the same answer is the same to who sleeps: timers count        \
                milliseconds */
#define ANSWER_LIMIT 64u /* looked at for one sleep */

void wp_asked_init(struct wp_asked *asked)
{
    wp_idtable_init(&asked->threads, WP_ASKED * sizeof(struct wp_asked_request));
    wp_idtable_init(&asked->answers, sizeof(struct wp_answers));
    asked->answer_bytes = 0;
    asked->span_ns = WP_ASKED_SPAN_NS;
}

static struct wp_answers *answers_of(const struct wp_asked *asked, uint32_t thread)
{
    return wp_idtable_has(&asked->answers, thread) ? (struct wp_answers *)asked->answers.items + thread : NULL;
}

static size_t answer_bytes(const struct wp_answers *answers)
{
    return answers->rows ? (answers->ring.mask + (size_t)1) * sizeof(*answers->rows) : 0;
}

void wp_asked_fini(struct wp_asked *asked)
{
    for (uint32_t i = 0; i < asked->answers.room; i++)
        wp_asked_forget(asked, i);
    wp_idtable_fini(&asked->threads);
    wp_idtable_fini(&asked->answers);
}

void wp_asked_forget(struct wp_asked *asked, uint32_t thread)
{
    struct wp_answers *answers = answers_of(asked, thread);
    wp_idtable_drop(&asked->threads, thread);
    if (!answers)
        return;
    asked->answer_bytes -= answer_bytes(answers);
    free(answers->rows);
    wp_idtable_drop(&asked->answers, thread);
}

size_t wp_asked_bytes(const struct wp_asked *asked)
{
    return wp_idtable_bytes(&asked->threads) + wp_idtable_bytes(&asked->answers) + asked->answer_bytes;
}

/* Its requests; NULL: it never had one. */
static struct wp_asked_request *of_thread(const struct wp_asked *asked, uint32_t thread)
{
    return wp_idtable_has(&asked->threads, thread)
        ? (struct wp_asked_request *)asked->threads.items + (size_t)thread * WP_ASKED
        : NULL;
}

void wp_asked_send(struct wp_asked *asked, uint32_t thread, uint32_t socket, uint64_t time_ns)
{
    if (wp_idtable_reserve(&asked->threads, thread))
        return;
    wp_idtable_use(&asked->threads, thread);
    struct wp_asked_request *rows = of_thread(asked, thread), *oldest = rows;
    for (uint32_t i = 0; i < WP_ASKED; i++) {
        if (rows[i].sent_ns && rows[i].socket == socket) {
            rows[i].sent_ns = time_ns;
            return;
        }
        if (rows[i].sent_ns < oldest->sent_ns)
            oldest = &rows[i];
    }
    *oldest = (struct wp_asked_request){time_ns, socket};
}

void wp_asked_answer(struct wp_asked *asked, uint32_t thread, uint32_t socket)
{
    struct wp_asked_request *rows = of_thread(asked, thread);
    for (uint32_t i = 0; rows && i < WP_ASKED; i++)
        if (rows[i].socket == socket)
            rows[i].sent_ns = 0;
}

uint32_t wp_asked_since(const struct wp_asked *asked, uint32_t thread, uint64_t since_ns, uint64_t now_ns)
{
    const struct wp_asked_request *rows = of_thread(asked, thread), *last = NULL;
    for (uint32_t i = 0; rows && i < WP_ASKED; i++)
        if (rows[i].sent_ns && rows[i].sent_ns >= since_ns && rows[i].sent_ns + asked->span_ns >= now_ns &&
            (!last || rows[i].sent_ns > last->sent_ns))
            last = &rows[i];
    return last ? last->socket + 1 : 0;
}

uint32_t wp_asked_last(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns)
{
    return wp_asked_since(asked, thread, 0, now_ns);
}

bool wp_asked_has_open(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns)
{
    return wp_asked_last(asked, thread, now_ns) != 0;
}

/* --- answers --- */

static const struct wp_answer *answer_at(const struct wp_answers *answers, uint64_t i)
{
    return &answers->rows[i & answers->ring.mask];
}

void wp_asked_read(struct wp_asked *asked, uint32_t thread, const struct wp_answer *answer)
{
    if (wp_idtable_reserve(&asked->answers, thread))
        return;
    wp_idtable_use(&asked->answers, thread);
    struct wp_answers *answers = answers_of(asked, thread);
    const struct wp_answer *last =
        answers->ring.end > answers->ring.first ? answer_at(answers, answers->ring.end - 1) : NULL;
    if (last && last->socket == answer->socket && last->asked_ns == answer->asked_ns &&
        answer->read_ns - last->read_ns < NEXT_NS)
        return;
    void *rows = answers->rows;
    asked->answer_bytes -= answer_bytes(answers);
    bool has_room = wp_message_ring_room(&rows, &answers->ring, sizeof(*answers->rows), answer->read_ns);
    answers->rows = rows;
    asked->answer_bytes += answer_bytes(answers);
    if (has_room)
        answers->rows[answers->ring.end++ & answers->ring.mask] = *answer;
}

/* The first one that was read later than that. */
static uint64_t answers_after(const struct wp_answers *answers, uint64_t time_ns)
{
    return WP_LOWER_BOUND(
        middle, answers->ring.first, answers->ring.end, answer_at(answers, middle)->read_ns <= time_ns);
}

bool wp_asked_answered(const struct wp_asked *asked, uint32_t thread, const struct wp_answer_wanted *wanted,
    struct wp_answer *answer, uint32_t *passed)
{
    const struct wp_answers *answers = answers_of(asked, thread);
    uint64_t first = answers ? answers_after(answers, wanted->after_ns) : 0;
    for (uint64_t i = first; answers && i < answers->ring.end && i - first < ANSWER_LIMIT; i++) {
        const struct wp_answer *found = answer_at(answers, i);
        if (found->read_ns > wanted->until_ns)
            return false;
        if (found->asked_ns > wanted->asked_ns || found->arrived_ns <= wanted->after_ns)
            continue;
        *answer = *found;
        *passed = (uint32_t)(i - first);
        return true;
    }
    return false;
}
