/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_VIEW_OWN_PAGES_H
#define WP_CLI_VIEW_OWN_PAGES_H
/*
 * The pages of single processes and threads of a capture, one HTML file each: an import of the capture with an
 * aggregate for each of them, as `wakepath-store import --aggregate` does it, then the reporter for each file. The
 * programs run one after the other as children; who waits for them calls the step.
 */
#include "cli/base/child.h"
#include "common/error.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#define WP_OWN_PAGES 16u
#define WP_OWN_OTHERS 7u      /* of more, a selector names them */
#define WP_OWN_NAME 96u       /* room for "~own-pid-", eight numbers, ".html" */
#define WP_OWN_SELECTOR 1024u /* room for its text */

/* A process or a thread, or several as one; or what a selector picks, in which interval it says. */
struct wp_own_page {
    bool is_thread;
    uint32_t id;                    /* the least, 1 to 4194304; 0: by the selector */
    uint32_t others[WP_OWN_OTHERS]; /* ascending; 0: no more */
    char name[32];                  /* of it, for people; "" not known */
    char selector[WP_OWN_SELECTOR]; /* as wp_selector_print has it; "": by the ids */
};

/* Borrowed until the end, but `pages`. */
struct wp_own_pages_options {
    const char *capture;
    const char *folder;  /* private: the store, the aggregator's socket and the log go there; it exists */
    const char *out;     /* folder of the files that wp_own_page_file names */
    const char *release; /* of a capture that says none; NULL: it says one */
    const sigset_t *mask;
};

struct wp_own_pages {
    struct wp_own_pages_options options;
    struct wp_own_page pages[WP_OWN_PAGES];
    unsigned count, step;  /* step 0: the import; n: the n-th page */
    struct wp_child child; /* the one that runs; the caller may wait for it and signal it */
};

/* "pid-4711", "tid-4711+4712"; of a selector "of-" and its XXH3-64 */
void wp_own_page_key(const struct wp_own_page *page, char key[WP_OWN_NAME]);
/* "~own-pid-4711.html" */
void wp_own_page_file(const struct wp_own_page *page, char name[WP_OWN_NAME]);
/* Such a key, its numbers in any order; false: it is none. */
bool wp_own_page_parse(struct wp_own_page *page, const char *text);
/* Of what that selector picks; -EINVAL as wp_selector_parse says it, -E2BIG. */
int wp_own_page_choose(struct wp_own_page *page, const char *selector, struct wp_error *err);
/* Starts the import; 1 to WP_OWN_PAGES pages. On error nothing runs. */
int wp_own_pages_begin(struct wp_own_pages *own, const struct wp_own_pages_options *options,
    const struct wp_own_page *pages, unsigned count, struct wp_error *err);
/* When the child has ended: starts the next one; 1: all files are there. An error has the program's last words. */
int wp_own_pages_step(struct wp_own_pages *own, struct wp_error *err);
/* Ends what runs and removes the store. */
void wp_own_pages_end(struct wp_own_pages *own);

#endif
