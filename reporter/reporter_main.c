/* SPDX-License-Identifier: Apache-2.0 */
/* wakepath-reporter: a store in, pages or one printed report out. */
#include "common/config.h"
#include "common/log.h"
#include "common/version.h"
#include "reporter/reporter_options.h"
#include "reporter/site.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "wakepath-reporter %s\n", wp_version());
}

static int write_site(const struct wp_reporter_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_site_options site = {.store = options->store, .out = options->out, .release = options->release,
        .aggregate = options->aggregate, .selection = options->selection, .wait = !options->no_wait};
    struct wp_site_result result;
    int rc = wp_site_write(&site, &result, err);
    if (rc)
        return rc;
    if (result.damaged)
        wp_log(logger, WP_LOG_WARN, "values could not be read and are left out; the pages say which. damaged=%zu",
            result.damaged);
    if (!options->quiet)
        wp_log(logger, WP_LOG_INFO, "site written. out=%s releases=%zu aggregates=%zu changed=%zu unchanged=%zu",
            options->out, result.releases, result.aggregates, result.written, result.kept);
    return 0;
}

static int print_report(const struct wp_reporter_options *options, struct wp_error *err)
{
    struct wp_print_options print = {.store = options->store, .release = options->release,
        .aggregate = options->aggregate, .format = options->format, .selection = options->selection};
    struct wp_buffer out = {0};
    int rc = wp_print_aggregate(&out, &print, err);
    if (!rc && (fwrite(out.data, 1, out.size, stdout) != out.size || fflush(stdout)))
        rc = wp_error_errno(err, -errno, "cannot write to standard output");
    wp_buffer_fini(&out);
    return rc;
}

int main(int argc, char **argv)
{
    struct wp_logger logger = {"wakepath-reporter", WP_LOG_INFO, 2};
    struct wp_reporter_options options;
    struct wp_error err = {0};
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version_hook = print_version;
    wp_reporter_options_parse(&options, argc, argv);
    int rc = options.out ? write_site(&options, &logger, &err) : print_report(&options, &err);
    if (rc)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    wp_config_destroy(options.config);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
