/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_HEIR_H
#define WP_COLLECTOR_BATCH_HEIR_H
/*
 * A session's dictionary grows as long as it lives, so a long recording goes on in another session. What the new one
 * still speaks of is put into its dictionary when it is first used: an heir gives the new id for the old one. What the
 * old session does not know of an id becomes a nameless entry, or 0 where the kind has none.
 */
#include "collector/batch/dict_writer.h"

struct wp_heir;

/* The old session's entries; NULL for ids that are not there. All of one context. */
struct wp_heir_from {
    const void *context;                                     /* borrowed */
    const char *(*string)(const void *context, uint32_t id); /* "" for those */
    const struct wp_thread_entry *(*thread)(const void *context, uint32_t id);
    const struct wp_socket_entry *(*socket)(const void *context, uint32_t id); /* NULL: sockets are left as they are */
    const struct wp_object_entry *(*object)(const void *context, uint32_t id);
    const struct wp_frame_entry *(*frame)(const void *context, uint32_t id);
    const struct wp_stack_entry *(*stack)(const void *context, uint32_t id);
};

/* Sends what `to` has, which is a batchful; 0 or -errno. */
typedef int wp_heir_full(void *context);

/* `to` is borrowed. NULL when out of memory; later wp_dict_writer_failed(to) says so. */
struct wp_heir *wp_heir_create(
    const struct wp_heir_from *from, struct wp_dict_writer *to, wp_heir_full *full, void *context);
/* What `full` said when it failed; 0. */
int wp_heir_failed(const struct wp_heir *heir);
/* Frees the map of ids; both dictionaries stay as they are. NULL is allowed. */
void wp_heir_destroy(struct wp_heir *heir);

/* The new id of a string of the old session; 0 for 0, for an unknown id and for the empty string. */
uint32_t wp_heir_string(struct wp_heir *heir, uint32_t id);
/* The new id of a stack, whose frames are added as needed; 0 for an unknown id or without memory. May call `full`. */
uint32_t wp_heir_stack(struct wp_heir *heir, uint32_t id);
/* The entry with its strings and its creator, as far as that one is there, as the new session says them. */
struct wp_thread_entry wp_heir_thread_entry(struct wp_heir *heir, const struct wp_thread_entry *entry, uint32_t id);
/* That thread has this id in the new session. */
void wp_heir_put_thread(struct wp_heir *heir, uint32_t id, uint32_t new_id);
/* Before one more entry is put into `to` beside it. */
void wp_heir_make_room(struct wp_heir *heir);
/* All ids of an event. `has_waits`: what it waits for is a string's id, as it travels. */
void wp_heir_event(struct wp_heir *heir, struct wp_event *event, bool has_waits);

#endif
