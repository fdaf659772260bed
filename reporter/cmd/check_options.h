/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_CHECK_OPTIONS_H
#define WP_REPORTER_CMD_CHECK_OPTIONS_H
/* The command line of `wakepath-reporter check`. */
#include "reporter/cmd/common_options.h"
#include "reporter/compare/operand_spec.h"

enum wp_check_format { WP_CHECK_TEXT, WP_CHECK_JSON, WP_CHECK_JUNIT, WP_CHECK_HTML };

struct wp_check_options {
    struct wp_common_options common;
    struct wp_operand_spec before, after; /* release "": to be found out */
    const char *aggregate;                /* NULL: main, else the largest */
    enum wp_check_format format;
    struct wp_compare_order rows; /* which are shown */
    const char *canary;           /* hosts, against all others of the same release at the same time; "": not asked */
    bool same_time;
    bool keeps;           /* what was found, in the store */
    const char *old_text; /* the older side as it was asked for, NULL: found out */
};

/* Ends the program where the command line asks for that (argp). argv[0] is "check". */
void wp_check_options_parse(struct wp_check_options *options, int argc, char **argv);

#endif
