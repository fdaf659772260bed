/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/asked.h"

void wp_asked_init(struct wp_asked *asked)
{
    wp_idtable_init(&asked->threads, WP_ASKED * sizeof(struct wp_asked_request));
}

void wp_asked_fini(struct wp_asked *asked)
{
    wp_idtable_fini(&asked->threads);
}

void wp_asked_forget(struct wp_asked *asked, uint32_t thread)
{
    wp_idtable_drop(&asked->threads, thread);
}

/* Its requests; NULL: it never had one. */
static struct wp_asked_request *of_thread(const struct wp_asked *asked, uint32_t thread)
{
    return wp_idtable_has(&asked->threads, thread) ? (struct wp_asked_request *)asked->threads.items + (size_t)thread * WP_ASKED : NULL;
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

bool wp_asked_is_waiting(const struct wp_asked *asked, uint32_t thread, uint64_t now_ns)
{
    const struct wp_asked_request *rows = of_thread(asked, thread);
    for (uint32_t i = 0; rows && i < WP_ASKED; i++)
        if (rows[i].sent_ns && rows[i].sent_ns + WP_ASKED_SPAN_NS >= now_ns)
            return true;
    return false;
}
