/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_idle.h"

#include "common/code_rank.h"
#include "common/lock_call.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define QUEUE_MODULE "_queue." /* begins the object of CPython's SimpleQueue, whose functions may have no names */

enum {
    WAITS_FOR_WORK = 1,   /* of own threads: in that layer, and not for a lock or a peer */
    WAITS_FOR_CLIENT = 2, /* who connected here, and whatever stands on it */
};

static const char *name_of(const struct wp_report *tree, uint32_t node)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(tree, &count);
    const struct wp_frame_info *frames = wp_report_frames(tree, &count);
    return wp_report_text(tree, frames[nodes[node].frame].name);
}

/* "sleep:recv tcp 127.0.0.1:6399" says whom; "sleep:epoll_wait tcp :80" the port at which others ask. */
static bool has_peer(const char *sleep)
{
    return strchr(sleep, ' ') && strncmp(sleep, "sleep:futex ", 12) != 0 && !strstr(sleep, " eventfd");
}

static bool is_of_client(const char *sleep)
{
    return strstr(sleep, " tcp :") != NULL;
}

/* Whether a thread that sleeps there waits for a lock, which another has, or for somebody it asked. */
static bool is_held(const struct wp_report *tree, uint32_t sleep)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(tree, &count);
    const struct wp_frame_info *frames = wp_report_frames(tree, &count);
    const char *name = name_of(tree, sleep);
    enum wp_lock_call found = WP_LOCK_CALL_UNKNOWN;
    bool has_script = false; /* which says what an interpreter's lock is for: a stack may be cut */
    if (has_peer(name) || strstr(name, WP_KERNEL_LOCK) || !strncmp(name, "sleep:flock", 11))
        return true;
    if (strncmp(name, "sleep:futex", 11))
        return false;
    for (uint32_t at = nodes[sleep].parent; at && frames[nodes[at].frame].style != WP_STYLE_PROCESS;
         at = nodes[at].parent) {
        const char *object = wp_report_text(tree, frames[nodes[at].frame].object), *slash = strrchr(object, '/');
        if (frames[nodes[at].frame].style != WP_STYLE_USER)
            continue;
        has_script |= wp_code_rank_of_source(object) > 0;
        if (found == WP_LOCK_CALL_INTERPRETER &&
            !strncmp(slash ? slash + 1 : object, QUEUE_MODULE, sizeof(QUEUE_MODULE) - 1))
            return false;
        if (wp_lock_call_add(&found, name_of(tree, at)))
            break;
    }
    return wp_lock_call_is_held(found) && (found != WP_LOCK_CALL_INTERPRETER || has_script);
}

uint8_t *wp_compare_idle_find(const struct wp_report *tree, const uint8_t *layer)
{
    uint32_t count, frame_count;
    const struct wp_node *nodes = wp_report_nodes(tree, &count);
    const struct wp_frame_info *frames = wp_report_frames(tree, &frame_count);
    uint8_t *waits = calloc(count + (size_t)1, sizeof(*waits));
    for (uint32_t i = 1; i < count && waits; i++) {
        uint32_t style = frames[nodes[i].frame].style;
        waits[i] = waits[nodes[i].parent];
        if (style == WP_STYLE_PROCESS)
            waits[i] &= (uint8_t)~WAITS_FOR_WORK;
        if (style == WP_STYLE_SLEEP && layer[i] < 2)
            waits[i] = is_of_client(name_of(tree, i)) ? WAITS_FOR_CLIENT : is_held(tree, i) ? 0 : WAITS_FOR_WORK;
    }
    return waits;
}

bool wp_compare_idle_is(uint8_t waits, uint32_t category, bool by_request)
{
    bool is_pause = category == WP_DELIBERATE_SLEEP || category == WP_OTHER_PATH || category == WP_REMOTE_NOT_TRACED;
    return (waits & WAITS_FOR_WORK && category == WP_OTHER_PATH) ||
        (waits & WAITS_FOR_CLIENT && (is_pause || by_request));
}
