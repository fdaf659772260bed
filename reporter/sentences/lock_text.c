/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/lock_text.h"

#include "common/lock_call.h"
#include "reporter/evidence/cause_lock.h"

#include <string.h>

#define NAME_BYTES 80u

/* "the GIL", "a monitor", "a `ReentrantLock`"; "" of no language's. */
static const char *language_lock_text(struct wp_facts *facts, uint32_t sleep)
{
    const char *name = wp_cause_language_lock(facts, sleep);
    if (!name)
        return "";
    if (wp_lock_is_of_interpreter(name))
        return wp_pool_printf(&facts->pool, "the %s", name);
    if (!strcmp(name, "monitor"))
        return "a monitor";
    return wp_pool_printf(&facts->pool, "%s `%s`", strcmp(name, "LWLock") ? "a" : "an", name);
}

/* "`cache_lock`" of "cache_lock (orders)"; "the lock of the file PATH"; "" of one without a name. */
const char *wp_lock_text(struct wp_facts *facts, uint32_t sleep)
{
    const char *name = "", *call = wp_facts_frame_name(facts, facts->flame.nodes[sleep].frame);
    if (!wp_cause_is_lock(facts, sleep, &name) || !*name || wp_lock_is_gil(name))
        return language_lock_text(facts, sleep);
    if (!strncmp(name, WP_KERNEL_LOCK, strlen(WP_KERNEL_LOCK)))
        return wp_pool_printf(&facts->pool, "`%s`", wp_pool_clip(&facts->pool, name, NAME_BYTES));
    if (strncmp(call, "sleep:futex", 11))
        return wp_pool_printf(&facts->pool, "the lock of %s", wp_pool_clip(&facts->pool, name, NAME_BYTES));
    size_t size = strlen(name);
    const char *object = name[size - 1] == ')' ? strrchr(name, '(') : NULL;
    size = object && object > name + 1 ? (size_t)(object - name - 1) : size;
    return wp_pool_printf(&facts->pool, "`%s`",
        wp_pool_clip(&facts->pool, wp_pool_printf(&facts->pool, "%.*s", (int)size, name), NAME_BYTES));
}
