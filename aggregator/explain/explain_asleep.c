/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_asleep.h"

#include "aggregator/explain/explain_node.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/timeline/names.h"
#include "aggregator/timeline/slices.h"
#include "common/cgroup_path.h"

#include <stdio.h>
#include <string.h>

const char *wp_explain_memory_group(const struct wp_explainer *x, const struct wp_slice *slice)
{
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    if (!wp_timeline_wait_is(x->timeline, slice, WP_WAIT_MEMORY))
        return NULL;
    const char *wait = wp_dictionary_string(dictionary, wp_timeline_wait(x->timeline, slice));
    const char *memory = wp_name_memory(dictionary, slice);
    bool is_for_it = !*memory || !strcmp(memory, "memory.high") || strstr(memory, "reclaim");
    return is_for_it ? wait + strlen(WP_MEMORY_GROUP) : NULL;
}

/* The cgroup of a page fault whose page had been given up for want of its memory; NULL: none such. */
static const char *read_again_for(const struct wp_explainer *x, const struct wp_slice *slice, const char *memory)
{
    if (slice->syscall || strcmp(memory, "file") != 0 || !wp_timeline_wait_is(x->timeline, slice, WP_WAIT_MEMORY))
        return NULL;
    return wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)) +
        strlen(WP_MEMORY_GROUP);
}

/* What it sleeps for: "/data", "/data, writeback throttling", "memory.high of nginx.service", "file, memory of
 * nginx.service". */
static void name_what(
    const struct wp_explainer *x, const struct wp_slice *slice, bool is_kernel, char *text, size_t room)
{
    const char *wait = wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice));
    const char *memory = is_kernel ? "" : wp_name_memory(x->timeline->dictionary, slice);
    const char *path = wp_explain_memory_group(x, slice), *again = read_again_for(x, slice, memory);
    char group[WP_EXPLAIN_NAME - 32];
    if (path && !*path) { /* of the whole machine */
        snprintf(text, room, "direct reclaim");
    } else if (path) {
        wp_cgroup_path_name(path, group, sizeof(group));
        snprintf(text, room, "%s of %s", strcmp(memory, "memory.high") ? "memory" : "memory.high", group);
    } else if (again) {
        wp_cgroup_path_name(again, group, sizeof(group));
        snprintf(text, room, "file, memory of %s", group);
    } else {
        wait = strncmp(wait, WP_MEMORY_GROUP, strlen(WP_MEMORY_GROUP)) ? wait : "";
        snprintf(text, room, "%s%s%s", wait, *wait && *memory ? ", " : "", memory);
    }
}

static __attribute__((noinline)) uint32_t make_node(
    struct wp_explainer *x, uint32_t node, const struct wp_slice *slice, bool is_kernel)
{
    uint32_t on = wp_explain_stack_node(x, node, slice->stack);
    char name[WP_EXPLAIN_NAME + 64], on_what[WP_EXPLAIN_NAME];
    name_what(x, slice, is_kernel, on_what, sizeof(on_what));
    wp_name_sleep(slice, is_kernel, on_what, name, sizeof(name));
    return wp_explain_label(x, on, WP_STYLE_SLEEP, name);
}

uint32_t wp_explain_sleep_node(struct wp_explainer *x, uint32_t node, const struct wp_slice *slice, bool is_kernel)
{
    uint64_t stop = slice->state == WP_STATE_STOPPED || slice->state == WP_STATE_TRACED ? slice->state : 0;
    uint64_t what = (uint64_t)1 << 40 | (uint64_t)is_kernel << 38 | (uint64_t)slice->wait << 20 | stop << 16;
    struct wp_intkey key = {(uint64_t)slice->stack << 32 | node, wp_explain_here(x, what | slice->syscall)};
    uint32_t found;
    if (wp_intmap_get(&x->sites, key, &found))
        return found;
    found = make_node(x, node, slice, is_kernel);
    wp_explain_remember(x, key, found);
    return found;
}
