/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_COMMIT_STORE_H
#define WP_STORAGE_KIND_COMMIT_STORE_H
/*
 * What people know a release's commit by. `wakepath record` keeps it in the release's metadata ("commit.subject" ...),
 * so that it is known where the repository is not.
 */
#include "storage/env/txn.h"

#define WP_COMMIT_PREFIX "commit." /* of the keys of metadata */
#define WP_COMMIT_TEXTS 5u
#define WP_COMMIT_SHOWN 12 /* digits of the id that people see */

/* UTF-8 without control characters, cut to fit; "" unknown. */
struct wp_commit {
    char id[65];       /* hexadecimal digits; "": no commit */
    char subject[161]; /* the first line of its message */
    char author[81];
    char date[11];    /* of the author, UTC: YYYY-MM-DD */
    char branch[128]; /* a local branch that has it, the one it is nearest to */
};

/* "commit.id", "commit.subject", "commit.author", "commit.date", "commit.branch". */
extern const char *const wp_commit_keys[WP_COMMIT_TEXTS];
/* The text of that key's number, which belongs to the commit, and its room. */
char *wp_commit_text_at(struct wp_commit *commit, unsigned key, size_t *room);
/* Copies whole characters as long as there is room for them and a 0; a control character becomes a blank. */
void wp_commit_put_text(char *to, size_t room, const char *from, size_t size);
/* What the metadata of the release says; the id is "" when it says nothing. -EBADMSG: it is damaged. */
int wp_txn_commit_of(struct wp_txn *txn, struct wp_commit *commit, struct wp_error *err);

#endif
