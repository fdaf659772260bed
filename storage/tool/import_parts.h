/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TOOL_IMPORT_PARTS_H
#define WP_STORAGE_TOOL_IMPORT_PARTS_H
/* What `wakepath-store import` needs for a capture: what it says of itself, and the two programs that make reports of
 * it. */
#include "storage/tool/tool.h"

struct wp_import_origin {
    char session[40];         /* its UUID as text */
    char release[WP_ID_ROOM]; /* "": it was recorded without one */
};

/* From the first frame of the capture. -EINVAL: it is none. */
int wp_origin_read(struct wp_import_origin *origin, const char *path, struct wp_error *err);

struct wp_import_options {
    const struct wp_tool *tool; /* its --aggregate options go on to the aggregator */
    const char *capture, *root, *release, *shard;
};

/* Removes private folders of imports that were killed. */
void wp_import_sweep(void);
/* Replays the capture into the store by an aggregator of its own, and waits until all of it is committed. The programs
 * are this one's siblings; what they complain about is on standard error. */
int wp_import_run(const struct wp_import_options *options, struct wp_error *err);

#endif
