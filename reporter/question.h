/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_QUESTION_H
#define WP_REPORTER_QUESTION_H
/* `wakepath-reporter query`: sums over the stacks of one or several releases, as a table, JSON or CSV. */
#include "common/buffer.h"
#include "common/log.h"
#include "reporter/group.h"
#include "reporter/named.h"

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

/* Ends the program where the command line asks for that (argp). argv[0] is "query". */
void wp_question_parse(struct wp_question *question, int argc, char **argv);
/* Appends the answer. *damaged: values that could not be read and are left out. -ENOENT: a release that was named is not
 * there, or none has the aggregate. */
int wp_question_answer(struct wp_buffer *out, const struct wp_question *question, size_t *damaged, struct wp_error *err);
/* All of it: parses, answers, writes. */
int wp_question_run(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err);

#endif
