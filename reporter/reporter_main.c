/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-reporter: a store in, pages or one printed report out. */
#include "common/config.h"
#include "common/log.h"
#include "common/version.h"
#include "reporter/check.h"
#include "reporter/output.h"
#include "reporter/progress.h"
#include "reporter/question.h"
#include "reporter/reporter_options.h"
#include "reporter/site.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "wakepath-reporter %s\n", wp_version());
}

static int write_site(const struct wp_reporter_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_site_options site = {.stores = options->common.stores, .store_count = options->common.store_count,
        .order = options->common.order, .compare = options->common.compare, .out = options->out, .release = options->release,
        .aggregate = options->aggregate, .selection = options->selection, .source = options->source,
        .parts = options->parts, .canary = options->canary, .wait_s = options->wait_s,
        .is_gzipped = options->is_gzipped,
        .jobs = options->jobs, .progress = wp_progress_tell};
    struct wp_site_result result;
    struct wp_progress progress;
    wp_progress_init(&progress, STDERR_FILENO, options->quiet);
    site.progress_context = &progress;
    int rc = wp_site_write(&site, &result, err);
    wp_progress_clear(&progress);
    if (rc)
        return rc;
    if (result.damaged)
        wp_log(logger, WP_LOG_WARN, "values could not be read and are left out; the pages say which. damaged=%zu",
            result.damaged);
    if (result.failed)
        wp_log(logger, WP_LOG_WARN, "pages could not be made; they say why, and are tried again the next time. failed=%zu", result.failed);
    if (!options->quiet)
        wp_log(logger, WP_LOG_INFO, "site written. out=%s releases=%zu aggregates=%zu changed=%zu unchanged=%zu",
            options->out, result.releases, result.aggregates, result.written, result.kept);
    return !result.unread ? 0 : wp_error_set(err, -EBADMSG, "nothing of %zu of %zu releases could be read: the site is written, its pages say why; `wakepath-store "
        "verify` names them", result.unread, result.releases);
}

static int print_report(const struct wp_reporter_options *options, struct wp_error *err)
{
    struct wp_print_options print = {.stores = options->common.stores, .store_count = options->common.store_count,
        .release = options->release, .aggregate = options->aggregate, .format = options->format, .sheet = options->sheet, .exemplar = options->exemplar,
        .selection = options->selection};
    struct wp_buffer out = {0};
    int rc = wp_print_aggregate(&out, &print, err);
    if (!rc)
        rc = wp_output_write(options->out, &out, options->format == WP_FORMAT_PPROF, err);
    wp_buffer_fini(&out);
    return rc;
}

static int report(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err)
{
    struct wp_reporter_options options;
    wp_reporter_options_parse(&options, argc, argv);
    int rc = wp_named_resolve(&(struct wp_named){&options.release, &options.aggregate, &options.selection}, &options.named,
        options.common.stores, options.common.store_count, err);
    if (!rc)
        rc = options.prints ? print_report(&options, err) : write_site(&options, logger, err);
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

int main(int argc, char **argv)
{
    struct wp_logger logger = {"wakepath-reporter", WP_LOG_INFO, 2};
    struct wp_error err = {0};
    int code = WP_EXIT_OK;
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version_hook = print_version;
    const char *mode = argc > 1 ? argv[1] : "";
    int rc = !strcmp(mode, "check") ? check(argc - 1, argv + 1, &code, &err)
        : !strcmp(mode, "query")    ? wp_question_run(&logger, argc - 1, argv + 1, &err)
                                    : report(&logger, argc, argv, &err);
    if (!rc)
        return code;
    wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    return WP_EXIT_FAILURE;
}
