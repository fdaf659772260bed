/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/site_run.h"

#include "common/clock.h"
#include "common/version.h"
#include "reporter/base/progress.h"
#include "reporter/site/run_figures.h"
#include "reporter/site/site.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int make_site(const struct wp_reporter_options *options, struct wp_site_result *result, struct wp_error *err)
{
    struct wp_site_options site = {.stores = options->common.stores,
        .store_count = options->common.store_count,
        .order = options->common.order,
        .compare = options->common.compare,
        .out = options->out,
        .release = options->release,
        .aggregate = options->aggregate,
        .selection = options->selection,
        .source = options->source,
        .parts = options->parts,
        .canary = options->canary,
        .wait_s = options->wait_s,
        .is_gzipped = options->is_gzipped,
        .is_unsynced = options->is_unsynced,
        .has_own_pages = options->has_own_pages,
        .system_window = options->system_window,
        .jobs = options->jobs,
        .progress = wp_progress_tell};
    struct wp_progress progress;
    wp_progress_init(&progress, STDERR_FILENO, options->quiet);
    site.progress_context = &progress;
    int rc = wp_site_write(&site, result, err);
    wp_progress_clear(&progress);
    if (rc)
        memset(result, 0, sizeof(*result)); /* nothing of it is there */
    return rc;
}

/* What is wrong with a site that is written. */
static int judge(const struct wp_reporter_options *options, const struct wp_site_result *result,
    const struct wp_logger *logger, struct wp_error *err)
{
    if (result->damaged)
        wp_log(logger, WP_LOG_WARN, "values could not be read and are left out; the pages say which. damaged=%zu",
            result->damaged);
    if (result->failed)
        wp_log(logger, WP_LOG_WARN,
            "pages could not be made; they say why, and are tried again the next time. failed=%zu", result->failed);
    if (!options->quiet)
        wp_log(logger, WP_LOG_INFO, "site written. out=%s releases=%zu aggregates=%zu changed=%zu unchanged=%zu",
            options->out, result->releases, result->aggregates, result->written, result->kept);
    return !result->unread
        ? 0
        : wp_error_set(err, -EBADMSG,
              "nothing of %zu of %zu releases could be read: the site is written, its pages say why; `wakepath-store "
              "verify` names them",
              result->unread, result->releases);
}

/* What went wrong before is what the program says at its end; a file that cannot be written is said beside it. */
static int tell_figures(const char *file, const struct wp_run_figures *figures, int rc, const struct wp_logger *logger,
    struct wp_error *err)
{
    struct wp_error reason = {0};
    int told = wp_run_figures_write(file, figures, &reason);
    if (told && rc)
        wp_log(logger, WP_LOG_WARN, "%s", reason.text);
    return rc || !told ? rc : wp_error_set(err, told, "%s", reason.text);
}

int wp_site_run(struct wp_reporter_options *options, const struct wp_logger *logger, struct wp_error *err)
{
    struct wp_run_figures figures = {.site = options->out};
    uint64_t began_ns = wp_clock_ns();
    int rc = wp_named_resolve(
        &(struct wp_named){&options->release, &options->aggregate, &options->selection, options->common.order.git},
        &options->named, options->common.stores, options->common.store_count, err);
    if (!rc)
        rc = make_site(options, &figures.result, err);
    figures.is_made = !rc;
    if (!rc)
        rc = judge(options, &figures.result, logger, err);
    figures.took_ns = wp_clock_ns() - began_ns;
    figures.ended_s = (uint64_t)time(NULL);
    figures.status = rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
    return options->metrics_file ? tell_figures(options->metrics_file, &figures, rc, logger, err) : rc;
}
