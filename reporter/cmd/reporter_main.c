/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-reporter: a store in, pages or one printed report out. */
#include "common/config.h"
#include "common/log.h"
#include "common/standard_output.h"
#include "common/version.h"
#include "reporter/base/output.h"
#include "reporter/cmd/check.h"
#include "reporter/cmd/query.h"
#include "reporter/cmd/release_log.h"
#include "reporter/cmd/reporter_options.h"
#include "reporter/cmd/site_run.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "wakepath-reporter %s\n", wp_version());
}

static int print_report(struct wp_reporter_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    int rc = wp_named_resolve(
        &(struct wp_named){&options->release, &options->aggregate, &options->selection, options->common.order.git},
        &options->named, options->common.stores, options->common.store_count, err);
    struct wp_print_options print = {.stores = options->common.stores,
        .store_count = options->common.store_count,
        .release = options->release,
        .aggregate = options->aggregate,
        .format = options->format,
        .tables = options->tables,
        .system_window = options->system_window,
        .logger = logger,
        .contour = &options->common.contour,
        .exemplar = options->exemplar,
        .selection = options->selection};
    struct wp_buffer out = {0};
    if (!rc)
        rc = wp_print_aggregate(&out, &print, err);
    if (!rc)
        rc = wp_output_write(options->out, &out, options->format == WP_FORMAT_PPROF, err);
    wp_buffer_fini(&out);
    return rc;
}

static int report(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err)
{
    struct wp_reporter_options options;
    wp_reporter_options_parse(&options, argc, argv);
    int rc = options.prints ? print_report(&options, logger, err) : wp_site_run(&options, logger, err);
    wp_config_destroy(options.config);
    return rc;
}

/* *code: 0, or WP_EXIT_DEGRADED. */
static int check(int argc, char **argv, int *code, struct wp_error *err)
{
    struct wp_check_options options;
    struct wp_buffer out = {0};
    bool is_degraded = false;
    wp_check_options_parse(&options, argc, argv);
    int rc = wp_check_run(&out, &options, &is_degraded, err);
    if (!rc)
        rc = wp_output_write(NULL, &out, false, err);
    wp_buffer_fini(&out);
    *code = is_degraded ? WP_EXIT_DEGRADED : WP_EXIT_OK;
    return rc;
}

static int print_log(int argc, char **argv, struct wp_error *err)
{
    struct wp_buffer out = {0};
    int rc = wp_release_log_run(argc, argv, &out, err);
    if (!rc)
        rc = wp_output_write(NULL, &out, false, err);
    wp_buffer_fini(&out);
    return rc;
}

int main(int argc, char **argv)
{
    bool is_word = argc && !strncmp(argv[0], "wakepath ", 9); /* of that command: `wakepath query` */
    struct wp_logger logger = {is_word ? argv[0] : "wakepath-reporter", WP_LOG_INFO, 2};
    struct wp_error err = {0};
    int code = WP_EXIT_OK;
    wp_standard_output_check_at_exit();
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version_hook = print_version;
    const char *mode = argc > 1 ? argv[1] : "";
    int rc = !strcmp(mode, "check") ? check(argc - 1, argv + 1, &code, &err)
        : !strcmp(mode, "log")      ? print_log(argc - 1, argv + 1, &err)
        : !strcmp(mode, "query")    ? wp_query_run(&logger, argc - 1, argv + 1, &err)
                                    : report(&logger, argc, argv, &err);
    if (!rc)
        return code;
    wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    return WP_EXIT_FAILURE;
}
