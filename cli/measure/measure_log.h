/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_MEASURE_LOG_H
#define WP_CLI_MEASURE_MEASURE_LOG_H
/*
 * What a measurement has done, a line each in a file, so that one which was interrupted goes on: recordings with their
 * figures, and commits that cannot be built. Its first line has a digest of what is measured: a file of another
 * measurement is refused.
 */
#include "cli/measure/revisions.h"
#include "common/error.h"
#include "common/path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wp_measured {
    WP_MEASURED_SOUND,  /* `ns` is its figure */
    WP_MEASURED_FAILED, /* the command ended with a failure */
    WP_MEASURED_BROKEN  /* the commit cannot be checked out or built: cell "" and repeat 0 */
};

struct wp_measure_row {
    char commit[WP_COMMIT_ROOM], cell[WP_ID_ROOM];
    uint32_t repeat;
    enum wp_measured what;
    uint64_t ns;
};

/* Init with {0}. One process at a time holds the file. */
struct wp_measure_log {
    int fd; /* 0: not open */
    struct wp_measure_row *rows;
    uint32_t count;
};

/* Opens or begins the file and reads it. A last line that is not whole is cut off. -EEXIST: it is of another digest;
 * -EBUSY: another process measures there; -EBADMSG: a line that is none of this file's. */
int wp_measure_log_open(struct wp_measure_log *log, const char *path, uint64_t digest, struct wp_error *err);
/* Appends, and returns when the line is on the disk. */
int wp_measure_log_add(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err);
/* NULL: not done. */
const struct wp_measure_row *wp_measure_log_find(
    const struct wp_measure_log *log, const char *commit, const char *cell, uint32_t repeat);
/* Zeroed ones are allowed. */
void wp_measure_log_close(struct wp_measure_log *log);

#endif
