/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_COMMAND_NOTE_H
#define WP_CLI_RECORD_COMMAND_NOTE_H
/* Notes in a store what was recorded (storage/value/recorded_keys.h): with each aggregate that the recording has
 * filled, and with its release the command line, the machine's load and the commit. */
#include "cli/base/child.h"
#include "common/buffer.h"
#include "common/path.h"
#include "storage/kind/commit_store.h"

/* What was recorded; all borrowed. */
struct wp_command_note {
    const char *root, *release;
    const char *line;             /* of wp_command_line; NULL: there was no command, or it is left out */
    const char *workload;         /* NULL: none was named */
    const char *directory;        /* NULL: not known */
    const struct wp_child *child; /* the command, which has ended; NULL: there was none */
    struct wp_commit *commit;     /* of wp_command_commit; NULL: not asked for */
    bool is_unsynced;             /* the store: wp_store_set_unsynced */
};

/* The words, which end with NULL, as a shell takes them, control characters as blanks, and a NUL behind. Of what is too
 * long for an option (2,048 bytes) the end is cut, and a digest of it all stands there. */
void wp_command_line(struct wp_buffer *line, char *const *words);
/* The release's commit as the current folder's repository knows it, asked for at most 5 seconds; without one its id is
 * "". */
void wp_command_commit(struct wp_commit *commit, const char *release);
/* Writes the note, and commit.* of the release where it is known. The recording's
 * aggregates are those of the release with the same command and workload; without a command, those that select one.
 * `aggregate`: the one among them that is called main, as pages name it; "" none. */
int wp_command_note(const struct wp_command_note *note, char aggregate[WP_ID_ROOM], struct wp_error *err);

#endif
