/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_MEASURE_OPTIONS_H
#define WP_CLI_MEASURE_MEASURE_OPTIONS_H
/* The command lines of `wakepath measure` and `wakepath bisect`, and the file of a matrix. */
#include "cli/base/args.h"
#include "cli/measure/workbench.h"

#include <stdbool.h>

#define WP_MEASURE_CELLS 256u
#define WP_BISECT_RECORDINGS 40u /* of one commit, at most */

struct wp_measure_options {
    const char *out, *repository, *build, *tags; /* build and tags may be NULL */
    const char *good, *bad;                      /* of bisect */
    struct wp_args ranges;                       /* of commits */
    struct wp_args filter;                       /* words for `wakepath query`; empty: the wall time */
    uint32_t repeats;
    bool is_quiet, is_json, is_dry;
    struct wp_measure_cell cells[WP_MEASURE_CELLS];
    uint32_t cell_count;
    /* inside */
    struct wp_args texts, commands, workloads; /* what the others point into */
    struct wp_args lines[WP_MEASURE_CELLS];    /* of the cells */
    char *const *command;
};

/* Of `wakepath measure`. Prints usage and exits 64 on a bad command line, or a matrix's file that cannot be read or is
 * none (argp). -errno: two things of one name, too many, out of memory. wp_measure_options_fini follows in any case. */
int wp_measure_options_parse(struct wp_measure_options *options, int argc, char **argv, struct wp_error *err);
/* The same of `wakepath bisect`: `bad` is set. */
int wp_bisect_options_parse(struct wp_measure_options *options, int argc, char **argv, struct wp_error *err);
/* What a workbench needs of them. */
struct wp_workbench_options wp_measure_options_bench(const struct wp_measure_options *options);
/* Frees what a parse has made. */
void wp_measure_options_fini(struct wp_measure_options *options);

#endif
