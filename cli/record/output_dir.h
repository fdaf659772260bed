/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_OUTPUT_DIR_H
#define WP_CLI_RECORD_OUTPUT_DIR_H
/*
 * Where a recording goes: the report's folder, the store, and a private folder for the socket.
 * Everything is judged before anything runs, and what this recording made can be taken back while it is not whole.
 */
#include "cli/record/earlier_report.h"
#include "common/scratch.h"
#include "common/error.h"
#include "common/path.h"

#include <limits.h>
#include <stdbool.h>

struct wp_output_dir_options {
    const char *out, /* NULL: no report, and a store in the private folder that goes with it */
        *store; /* store NULL: a new one inside `out`, beside that of the last recording until wp_output_dir_keep_store
                 */
    const char *release;
};

extern const struct wp_scratch_kind wp_record_scratch;

struct wp_output_dir {
    struct wp_earlier_report earlier; /* the report that was in `out` */
    char out[PATH_MAX], store[PATH_MAX], release[WP_ID_ROOM];
    struct wp_scratch scratch;
    int lock_fd;               /* holds `out` against other recordings; 0: none */
    bool made_out, made_store; /* they were not there before */
    bool is_own_store;         /* inside out, and new with each recording; else it is the user's, and is added to */
};

/* Refuses an --out that holds something else than a report of ours or that another recording has, and places that
 * cannot be written. Makes the folders. */
int wp_output_dir_prepare(
    struct wp_output_dir *output, const struct wp_output_dir_options *options, struct wp_error *err);
/* The recording is whole: its own store takes the place of the last one. When that was changed meanwhile both stay. */
int wp_output_dir_keep_store(struct wp_output_dir *output, struct wp_error *err);
/* Whether the recording's events can be kept beside its store: it is its own, and stays. */
bool wp_output_dir_has_capture(const struct wp_output_dir *output);
/* Removes the private folder, and with `undo` also what the recording made of out and store, but nothing that others
 * put there. */
void wp_output_dir_fini(struct wp_output_dir *output, bool undo);

#endif
