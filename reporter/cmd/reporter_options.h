/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_REPORTER_OPTIONS_H
#define WP_REPORTER_CMD_REPORTER_OPTIONS_H
/* The command line of wakepath-reporter. */
#include "reporter/cmd/common_options.h"
#include "reporter/cmd/print.h"
#include "reporter/read/named.h"
#include "reporter/source/source_text.h"
#include "storage/kind/selection.h"

#include <argp.h>
#include <stdbool.h>

struct wp_config;

struct wp_reporter_options {
    struct wp_common_options common;
    const char *canary;                            /* borrowed from argv; NULL none */
    const char *metrics_file;                      /* borrowed from argv; NULL none */
    const char *out, *release, *aggregate, *parts; /* borrowed from argv; NULL not given */
    const char *system_window;                     /* likewise */
    enum wp_format format;
    struct wp_export_choice tables; /* of csv and ndjson */
    bool format_given, is_single, is_gzipped, is_unsynced, has_own_pages, quiet;
    int wait_s; /* -1: as long as it takes */
    unsigned jobs;
    unsigned exemplar;               /* of perfetto; 0 none */
    bool prints;                     /* one report, not the site */
    int own_words;                   /* of the command line, behind those of file and environment */
    bool system_given;               /* system_window is of the command line */
    struct wp_source_options source; /* its git is the common one */
    struct wp_selection selection;
    struct wp_reference named; /* what release and aggregate point into when a reference was given */
    struct wp_config *config;  /* owned by main; strings point into it */
};

/* Prints help or a usage error and ends the program where the command line asks for that (argp). */
void wp_reporter_options_parse(struct wp_reporter_options *options, int argc, char **argv);

#endif
