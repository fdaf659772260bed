/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_RECORD_OPTIONS_H
#define WP_CLI_RECORD_RECORD_OPTIONS_H
/* The command line of `wakepath record`. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct argp_state;

#define WP_RECORD_AGGREGATES 64u
#define WP_RECORD_PATTERNS 64u

struct wp_record_options {
    const char *out, *store, *release, *capture;  /* borrowed from argv; store, release, capture may be NULL */
    const char *workload;                         /* NULL: none */
    const char *aggregates[WP_RECORD_AGGREGATES]; /* "NAME=SELECTOR", checked */
    unsigned aggregate_count;
    char *patterns[WP_RECORD_PATTERNS]; /* owned; the cmdline~ terms of the selectors */
    unsigned pattern_count;
    uint64_t duration_ns; /* 0: as long as the command or process runs */
    uint32_t pid;         /* of a process that runs already; 0: none */
    unsigned frequency_hz;
    bool is_quiet, by_threads, is_json, is_verbose;
    bool has_no_line; /* the command's words stay out of the store */
    bool has_no_capture;
    bool is_opened; /* the page, in a browser */
    struct {        /* of `wakepath top` */
        bool is_on, is_once;
        uint64_t delay_ns;
        unsigned rows;
        const char *title;
    } top;
    char by_pid[64]; /* the aggregate of `pid` */
    char **command;  /* ends with NULL; NULL: the whole host */
};

/* "NAME=SELECTOR"; ends the program where it is none. */
void wp_record_options_aggregate(struct wp_record_options *options, struct argp_state *state, const char *text);
/* Of seconds, or a number with its unit, in ns; the same. */
uint64_t wp_record_options_duration(struct argp_state *state, const char *what, const char *text);
/* A process id, 1 to 4194304; ends the program on another text. */
uint32_t wp_record_options_pid(struct argp_state *state, const char *text);
/* Parses; prints usage and exits 64 on a bad command line (argp). */
void wp_record_options_parse(struct wp_record_options *options, int argc, char **argv);
/* Frees the patterns; everything else is borrowed from argv. */
void wp_record_options_fini(struct wp_record_options *options);

#endif
