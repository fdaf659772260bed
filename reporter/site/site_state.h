/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_STATE_H
#define WP_REPORTER_SITE_SITE_STATE_H
/*
 * What a site was made from, kept in it as ".wakepath-state", so that the next run builds only what has changed. A
 * release rests on the files of its stores: the same inode, size and time of change of data.mdb mean the same content,
 * unless the change was so close to the run that a later one may have the same time (as git treats its index). The time
 * of the state file itself is when the run began. A state that cannot be read, of another version of the program or of
 * other options is no state: all is built.
 */
#include "reporter/page/site_summary.h"

#define WP_SITE_STATE ".wakepath-state"

/* A release in the state; texts live in the state's pool. */
struct wp_state_row {
    const char *release, *inputs, *baseline; /* baseline "": none */
    const char *overlaps;                    /* releases of the same time with their inputs, "" none */
    const char *commit;                      /* a line, "" none */
    uint64_t first_ns, last_ns;
    size_t aggregate_count, damaged;
    const char *aggregates; /* lines */
};

/* A state that was read; empty when there is none. */
struct wp_site_state {
    struct wp_pool pool;
    struct wp_state_row *rows; /* by release */
    size_t count;
    uint64_t began_ns; /* realtime */
};

/* Reads the state in `folder`; empty unless its key is `key`. -ENOMEM. */
int wp_site_state_read(struct wp_site_state *state, const char *folder, uint64_t key, struct wp_error *err);
/* Frees the pool with all rows; a zeroed state is allowed. */
void wp_site_state_fini(struct wp_site_state *state);
/* The row of a release, valid until fini; NULL: there is none. */
const struct wp_state_row *wp_site_state_find(const struct wp_site_state *state, const char *release);
/* A text that is the same as long as the release's files are; *changed_ns: when the last of them was. */
const char *wp_site_inputs(
    struct wp_pool *pool, const struct wp_stores *stores, const char *release, uint64_t *changed_ns);
/* Before which what last changed had been read as it is by the run that made the state; 0: there is none. */
uint64_t wp_site_state_settled_ns(const struct wp_site_state *state);
/* Whether what last changed then had been read as it is by the run that made the state. */
bool wp_site_state_is_settled(const struct wp_site_state *state, uint64_t changed_ns);
/* Whether the row's release is as it was when the state was made. */
bool wp_site_state_is_same(
    const struct wp_site_state *state, const struct wp_state_row *row, const char *inputs, uint64_t changed_ns);
/* The aggregates of a row, added to a release of the summary. -EBADMSG: the state is damaged. */
int wp_site_state_restore(
    const struct wp_state_row *row, struct wp_site_summary *site, struct wp_release_summary *release);

/* The text of a state: begin, every release, finish. */
void wp_site_state_begin(struct wp_buffer *out, uint64_t key);
/* Appends a release with its aggregates; `inputs` is what wp_site_inputs gave. */
void wp_site_state_put(struct wp_buffer *out, const struct wp_release_summary *release, const char *inputs,
    uint64_t first_ns, uint64_t last_ns);
/* Writes key and checksum into the head that begin left room for. Does nothing when `out` has failed. */
void wp_site_state_finish(struct wp_buffer *out, uint64_t key);

#endif
