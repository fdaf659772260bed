/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/leaders.h"

void wp_leaders_fini(struct wp_leaders *leaders)
{
    wp_intmap_fini(&leaders->of_pid);
    leaders->seen = 0;
}

/* What stands behind the entry is not looked at: how much there is depends on how the session's batches were cut. */
static bool see_before(struct wp_leaders *leaders, const struct wp_dictionary *dictionary, uint32_t entry)
{
    for (; leaders->seen + 1 < entry; leaders->seen++) {
        const struct wp_thread_entry *other = wp_dictionary_thread(dictionary, leaders->seen + 1);
        if (other && other->tid == other->pid &&
            wp_intmap_put(&leaders->of_pid, (struct wp_intkey){other->pid, 0}, leaders->seen + 1))
            return false;
    }
    return true;
}

const struct wp_thread_entry *wp_leaders_find(
    struct wp_leaders *leaders, const struct wp_dictionary *dictionary, uint32_t entry)
{
    const struct wp_thread_entry *thread = wp_dictionary_thread(dictionary, entry);
    uint32_t found;
    if (!thread || !see_before(leaders, dictionary, entry) ||
        !wp_intmap_get(&leaders->of_pid, (struct wp_intkey){thread->pid, 0}, &found))
        return NULL;
    const struct wp_thread_entry *leader = wp_dictionary_thread(dictionary, found);
    return leader && leader->start_ns && leader->start_ns <= thread->start_ns ? leader : NULL;
}

void wp_leaders_forget(struct wp_leaders *leaders, uint32_t pid, uint32_t entry)
{
    const struct wp_intkey key = {pid, 0};
    uint32_t known;
    if (wp_intmap_get(&leaders->of_pid, key, &known) && known == entry)
        wp_intmap_remove(&leaders->of_pid, key);
}
