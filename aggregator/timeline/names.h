/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_NAMES_H
#define WP_AGGREGATOR_TIMELINE_NAMES_H
/* What the frames of a pseudo-stack are called. Each writes a terminated name into the given room. */
#include "aggregator/timeline/timeline.h"
#include "storage/report/report.h"

/* "[comm]". */
void wp_name_process(const struct wp_timeline *timeline, uint32_t identity, char *name, size_t room);
/* A function without a compiler's marks of copies, or "[object]" when its name is not known; *object is the file's path
 * ("" unknown). */
enum wp_frame_style wp_name_frame(
    const struct wp_dictionary *dictionary, uint32_t frame, char *name, size_t room, const char **object);
/* "sleep:wait4", and behind it what the call waits for, when `wait` is not empty: "sleep:read pipe"; of a thread in no
 * system call "sleep:fault" (user; "sleep:fault file") or "sleep:kernel" (kernel thread). */
void wp_name_sleep(const struct wp_slice *slice, bool is_kernel, const char *wait, char *name, size_t room);
/* What the functions of the kernel on the sleep's stack say of memory: "memory.high", "writeback throttling", and of a
 * sleep in no call the kind of its page fault, "file", "swap", "copy on write"; or that it is for a "lease"; ""
 * nothing. */
const char *wp_name_memory(const struct wp_dictionary *dictionary, const struct wp_slice *slice);
/* "io:vda read", and behind it the file, when it is known: "io:vda write /var/lib/db/wal". */
void wp_name_io(const struct wp_dictionary *dictionary, const struct wp_blockop *op, char *name, size_t room);
/* "tcp:127.0.0.1:80": the other end; "tcp:127.0.0.1:*" where that is a client, whose ports come and go. */
void wp_name_socket(const struct wp_socket_entry *entry, enum wp_opener opener, char *name, size_t room);

#endif
