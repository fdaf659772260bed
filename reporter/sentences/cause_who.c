/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/cause_who.h"

#include "common/lock_call.h"
#include "reporter/facts/stack_text.h"
#include "reporter/evidence/callers.h"
#include "reporter/sentences/cause_behind.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/causes/cause_waiting.h"
#include "storage/report/report_read.h"

#include <string.h>

static const char *name_at(const struct wp_cause_case *of, uint32_t node)
{
    return wp_facts_frame_name(of->facts, of->facts->flame.nodes[node].frame);
}

static uint32_t style_at(const struct wp_cause_case *of, uint32_t node)
{
    return node ? wp_facts_frame_style(of->facts, of->facts->flame.nodes[node].frame) : 0;
}

/* The process of that layer; of a thread that names itself its process and it. */
const char *wp_cause_process_text(const struct wp_cause_case *of, uint32_t node)
{
    uint32_t count, frame = of->facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(of->facts->report, &count);
    const char *plain = wp_stack_plain_process(&of->facts->pool, wp_facts_frame_name(of->facts, frame));
    const char *process = frame < count ? wp_report_text(of->facts->report, frames[frame].object) : "";
    if (*process && !strcmp(plain, "?"))
        return wp_pool_printf(&of->facts->pool, "a thread of %s", wp_pool_clip(&of->facts->pool, process, 60));
    return *process
        ? wp_pool_printf(&of->facts->pool, "%s's thread %s", wp_pool_clip(&of->facts->pool, process, 60), plain)
        : plain;
}

/* Whether the layer's thread names itself. */
static bool is_thread(const struct wp_cause_case *of, uint32_t node)
{
    uint32_t count, frame = of->facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(of->facts->report, &count);
    return frame < count && *wp_report_text(of->facts->report, frames[frame].object);
}

/* The process of that layer, which has threads of several names. */
static const char *of_threads(const struct wp_cause_case *of, uint32_t node)
{
    uint32_t count, frame = of->facts->flame.nodes[node].frame;
    const struct wp_frame_info *frames = wp_report_frames(of->facts->report, &count);
    const char *process = frame < count ? wp_report_text(of->facts->report, frames[frame].object) : "";
    return *process ? wp_pool_clip(&of->facts->pool, process, 60) : wp_cause_process_text(of, node);
}

/* " in `update_cache` (orders.c:34)" or "" */
const char *wp_cause_location_text(const struct wp_cause_case *of, uint32_t node)
{
    struct wp_code_location location = wp_code_location_at(of->facts, of->causes->locations, node);
    const char *text = wp_code_location_text(&of->facts->pool, &location);
    return *text ? wp_pool_printf(&of->facts->pool, " in %s", text) : "";
}

/* Whether the process of interest does it itself, and no other one of its name. */
static bool is_itself(const struct wp_cause_case *of, const struct wp_cause_fact *cause)
{
    return wp_cause_is_own(of->facts, cause) && !(cause->asked && cause->process >= cause->asked);
}

/* "sleep", "another perl", "another of its threads": who does what the cause is about. */
static const char *other_text(const struct wp_cause_case *of, const struct wp_cause_fact *cause)
{
    if (!wp_cause_is_own(of->facts, cause) || is_thread(of, cause->process))
        return wp_cause_process_text(of, cause->process);
    return is_itself(of, cause) && wp_cause_may_share(of->facts, cause->process)
        ? "another of its threads"
        : wp_pool_printf(&of->facts->pool, "another %s", wp_cause_process_text(of, cause->process));
}

/* Whether it is a thread's wait for no thread. */
static bool is_pause(enum wp_cause_kind kind)
{
    return kind == WP_CAUSE_KIND_SLEEP || kind == WP_CAUSE_KIND_TIMEOUT || kind == WP_CAUSE_KIND_DISK ||
        kind == WP_CAUSE_KIND_PEER || kind == WP_CAUSE_KIND_FLIGHT;
}

/* The sleep by which a thread of the process itself is told, which sleeps at no known place or while others wait for an
 * event: the program waits for it most of the time at one place. 0: it is told by itself. */
static uint32_t waiting_for_thread(const struct wp_cause_case *of, const struct wp_cause_fact *cause)
{
    uint64_t ns;
    bool is_sleep = cause->kind == WP_CAUSE_KIND_SLEEP || cause->kind == WP_CAUSE_KIND_TIMEOUT;
    bool has_place = of->causes->locations[cause->sleep] != 0;
    uint32_t waiting = is_pause(cause->kind) ? wp_cause_waiting(of->causes, of->facts, of->row, &ns) : 0;
    if (waiting && (has_place || !is_sleep) && !wp_cause_is_event(of->facts, waiting))
        return 0;
    return waiting && ns >= cause->ns / 2 && wp_cause_is_own_function(of->facts, of->causes->locations[waiting])
        ? waiting
        : 0;
}

/* The sleep on a lock made of a semaphore in which the program waits, at a place of its own, for the thread that waits
 * for the cause's lock; 0: none. */
static uint32_t waiting_for_lock(const struct wp_cause_case *of, const struct wp_cause_fact *cause)
{
    uint64_t ns;
    bool is_inner = cause->kind == WP_CAUSE_KIND_LOCK && cause->first != cause->sleep;
    uint32_t waiting = is_inner ? wp_cause_waiting(of->causes, of->facts, of->row, &ns) : 0;
    if (!waiting || ns < cause->ns / 2 || wp_cause_lock_call(of->facts, waiting) != WP_LOCK_CALL_INTERPRETER)
        return 0;
    uint32_t place = of->causes->locations[waiting], own = of->causes->locations[cause->sleep];
    return wp_cause_is_own_function(of->facts, place) && !wp_code_location_is_entry(name_at(of, place)) &&
            (!own || strcmp(name_at(of, place), name_at(of, own)) != 0)
        ? waiting
        : 0;
}

/* "web waits for a lock in `note` (log.py:8) until another of its threads releases it; that one": who waits for the
 * thread that waits at that place. */
static const char *outer_text(const struct wp_cause_case *of, const struct wp_cause_fact *cause, uint32_t waiting)
{
    uint32_t outer = waiting ? wp_cause_waiting_outer(of->causes, of->facts, cause->base, waiting) : 0, layer = waiting;
    const char *who = wp_cause_process_text(of, cause->base), *lock;
    if (!outer)
        return who;
    while (style_at(of, layer) != WP_STYLE_PROCESS)
        layer = of->facts->flame.nodes[layer].parent;
    const char *whom = is_thread(of, layer) ? wp_cause_process_text(of, layer) : "another of its threads";
    return wp_cause_is_lock(of->facts, outer, &lock) || wp_cause_lock_call(of->facts, outer) == WP_LOCK_CALL_INTERPRETER
        ? wp_pool_printf(&of->facts->pool, "%s waits for a lock%s until %s releases it; that one", who,
              wp_cause_location_text(of, outer), whom)
        : wp_pool_printf(&of->facts->pool, "%s waits%s for %s; that one", who, wp_cause_location_text(of, outer), whom);
}

/* "make", or "make waits in `build` (run.c:8) for cc1, which". */
const char *wp_cause_who(const struct wp_cause_case *of)
{
    const struct wp_cause_fact *cause = of->cause;
    uint64_t ns;
    bool is_own = is_itself(of, cause);
    uint32_t waiting = is_own ? waiting_for_thread(of, cause) : wp_cause_waiting(of->causes, of->facts, of->row, &ns);
    uint32_t behind = is_own && !waiting ? waiting_for_lock(of, cause) : 0;
    if (behind)
        return wp_pool_printf(&of->facts->pool, "%s waits for a lock%s until %s releases it; that one",
            wp_cause_process_text(of, cause->base), wp_cause_location_text(of, behind), other_text(of, cause));
    if (is_own && !waiting)
        return cause->has_threads ? of_threads(of, cause->base) : wp_cause_process_text(of, cause->base);
    return wp_pool_printf(&of->facts->pool, "%s waits%s%s for %s, which", outer_text(of, cause, is_own ? 0 : waiting),
        waiting ? wp_cause_location_text(of, waiting) : "", wp_cause_behind_text(of), other_text(of, cause));
}

bool wp_cause_is_told_by_waiter(const struct wp_cause_case *of)
{
    return waiting_for_thread(of, of->cause) != 0;
}
