/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUESTION_H
#define WP_REPORTER_CMD_QUESTION_H
/* `wakepath-reporter query`: sums over the stacks of one or several releases, as a table, JSON or CSV. */
#include "common/buffer.h"
#include "common/log.h"
#include "reporter/facts/group.h"
#include "reporter/read/named.h"
#include "storage/kind/selection.h"

#define WP_QUESTION_RELEASES 256u

enum wp_question_format { WP_QUESTION_TABLE, WP_QUESTION_JSON, WP_QUESTION_CSV };

struct wp_question {
    const char *stores[WP_STORES_LIMIT];       /* borrowed from argv */
    const char *releases[WP_QUESTION_RELEASES]; /* none: all that the stores have */
    size_t store_count, release_count;
    const char *aggregate;                     /* NULL: of each release main, else the largest */
    const char *out;                           /* file, NULL: standard output */
    struct wp_group_filter filter;
    enum wp_group_by by;
    enum wp_question_format format;
    size_t top;                                /* rows of each release; 0: all */
    struct wp_selection selection;
    struct wp_reference named[WP_QUESTION_RELEASES]; /* what releases and aggregate point into when references were given */
};

/* What is left out of an answer because it cannot be read. */
struct wp_question_gaps {
    size_t values, releases;
};

/* Ends the program where the command line asks for that (argp). argv[0] is "query". */
void wp_question_parse(struct wp_question *question, int argc, char **argv);
/* Appends the answer. -ENOENT: a release that was named is not there, or none has the aggregate; -EBADMSG: one that was named, or all
 * that there are, cannot be read. */
int wp_question_answer(struct wp_buffer *out, const struct wp_question *question, struct wp_question_gaps *gaps, struct wp_error *err);
/* All of it: parses, answers, writes. -EBADMSG: also when the answer is written, and some release could not be read. */
int wp_question_run(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err);

#endif
