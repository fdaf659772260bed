/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_HISTORY_H
#define WP_COMMON_HISTORY_H
/*
 * Where releases stand in the history of a version control system: their order by ancestry and each one's nearest
 * measured ancestor. A release id is asked for as git would say it (`git describe`, a tag, a branch, a commit);
 * "-dirty" at its end means that the tree was changed and counts as standing right above its commit.
 */
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_history; /* opaque */

/* True for an id that says that its tree was not committed. */
bool wp_release_is_dirty(const char *release);

/* What is asked of whom; borrowed during the read. */
struct wp_history_question {
    const char *dir; /* a work tree or a bare clone */
    char *const *releases;
    size_t count;
    const char *against; /* what wp_history_against starts from, NULL nothing */
};

/* Releases that git does not know are in no place. Errors as wp_git_run's; -ENOENT also when git does not know
 * `against`. */
int wp_history_read(struct wp_history **history, const struct wp_history_question *question, struct wp_error *err);
/* Frees the commits with all positions; NULL is allowed. */
void wp_history_destroy(struct wp_history *history);
/* Its place in the order, the newest has 0; UINT32_MAX when git does not know it. */
uint32_t wp_history_position(const struct wp_history *history, size_t release);
/* The nearest measured ancestor (fewest commits away, then the newest); never a dirty one; SIZE_MAX none. */
size_t wp_history_baseline(const struct wp_history *history, size_t release);
/* As it, seen from the commit `against`, which may be the measured one itself. */
size_t wp_history_against(const struct wp_history *history, size_t release);

/* The release of the commit `against`; else, unless it shall be that very one, its nearest measured ancestor. SIZE_MAX:
 * none. */
size_t wp_history_named(const struct wp_history *history, bool is_exact);

#endif
