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
    WP_MEASURED_BROKEN, /* the commit cannot be checked out or built: cell "" and repeat 0, in no other row */
    WP_MEASURED_ADDING  /* the recording is whole, and about to be added to the store: a row SOUND follows */
};

struct wp_measure_row {
    char commit[WP_COMMIT_ROOM], cell[WP_ID_ROOM], release[WP_ID_ROOM];
    uint32_t repeat;
    enum wp_measured what;
    uint64_t ns, steady_ns; /* the figure, and what it is less the time runnable */
    uint64_t waits;         /* how often there was something to wait for; 0: not known */
};

/* Init with {0}. One process at a time holds the file. */
struct wp_measure_log {
    int fd; /* 0: not open */
    struct wp_measure_row *rows;
    uint32_t count, earlier; /* the first ones are of earlier runs */
};

/* Opens the file and reads it. A last line that is not whole is cut off. `may_begin`: its folder holds nothing else, so
 * one that is missing or ends within its first line is begun. What is refused stays as it is. -EEXIST: it is of another
 * digest; -EBUSY: another process measures there; -EBADMSG: it is no such file, or has a line that is none of its. */
int wp_measure_log_open(
    struct wp_measure_log *log, const char *path, uint64_t digest, bool may_begin, struct wp_error *err);
/* Appends, and returns when the line is on the disk. */
int wp_measure_log_add(struct wp_measure_log *log, const struct wp_measure_row *row, struct wp_error *err);
/* NULL: not done. What failed in an earlier run is not done; the cell "" finds a BROKEN one. */
const struct wp_measure_row *wp_measure_log_find(
    const struct wp_measure_log *log, const char *commit, const char *cell, uint32_t repeat);
/* The last row when that is ADDING, else NULL: whether the store has the recording is not known. */
const struct wp_measure_row *wp_measure_log_pending(const struct wp_measure_log *log);
/* Gives each commit the release under which the store has it. -EEXIST: two commits would have one. */
int wp_measure_log_name(const struct wp_measure_log *log, struct wp_revisions *revisions, struct wp_error *err);
/* Zeroed ones are allowed. */
void wp_measure_log_close(struct wp_measure_log *log);

#endif
