/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/print.h"

#include "common/log.h"
#include "common/path.h"
#include "common/strings.h"
#include "reporter/compare/operand.h"
#include "reporter/export/format_folded.h"
#include "reporter/export/format_json.h"
#include "reporter/export/format_perfetto.h"
#include "reporter/export/format_perun.h"
#include "reporter/export/format_pprof.h"
#include "reporter/export/format_rows.h"
#include "reporter/export/format_speedscope.h"
#include "reporter/export/format_text.h"
#include "reporter/export/stack_choice.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_overview.h"
#include "reporter/recording/origins.h"
#include "reporter/recording/supervisor_finding.h"
#include "reporter/recording/process_tree.h"
#include "reporter/site/single_file.h"
#include "reporter/site/site_system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int format_text(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_OVERVIEW, facts->release, facts->aggregate});
    int rc = wp_page_digest(&display, facts, err);
    if (!rc)
        rc = wp_format_text(out, &display, err);
    wp_display_fini(&display);
    return rc;
}

static const struct {
    const char *name;
    int (*write)(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err); /* NULL: it takes more */
} formats[WP_FORMATS] = {
    [WP_FORMAT_HTML] = {"html", NULL},
    [WP_FORMAT_JSON] = {"json", wp_format_json},
    [WP_FORMAT_TEXT] = {"text", format_text},
    [WP_FORMAT_FOLDED] = {"folded", wp_format_folded},
    [WP_FORMAT_PPROF] = {"pprof", wp_format_pprof},
    [WP_FORMAT_SPEEDSCOPE] = {"speedscope", wp_format_speedscope},
    [WP_FORMAT_PERFETTO] = {"perfetto", wp_format_perfetto},
    [WP_FORMAT_PERUN] = {"perun", wp_format_perun},
    [WP_FORMAT_PERUN_WHOLE] = {"perun-whole", wp_format_perun_whole},
    [WP_FORMAT_CSV] = {"csv", NULL},
    [WP_FORMAT_NDJSON] = {"ndjson", NULL},
};

int wp_format_parse(const char *name, enum wp_format *format)
{
    for (int i = 0; i < WP_FORMATS; i++)
        if (!strcmp(name, formats[i].name)) {
            *format = (enum wp_format)i;
            return 0;
        }
    return -EINVAL;
}

bool wp_format_is_stacks(enum wp_format format)
{
    return format == WP_FORMAT_FOLDED || format == WP_FORMAT_PPROF || format == WP_FORMAT_SPEEDSCOPE ||
        format == WP_FORMAT_PERUN || format == WP_FORMAT_PERUN_WHOLE;
}

/* All pages. */
static int format_pages(struct wp_buffer *out, const struct wp_page_context *context,
    const struct wp_print_options *options, struct wp_error *err)
{
    struct wp_trace *system = NULL;
    struct wp_error reason = {0};
    const char *path = options->system_window;
    int rc = path ? wp_site_system_read(path, WP_SINGLE_SYSTEM_BYTES, &system, &reason) : 0;
    if (rc == -ENOENT) /* it was asked for: a wrong name */
        return wp_error_set(err, rc, "%s", reason.text);
    if (rc)
        wp_log(options->logger, WP_LOG_WARN, "the Timeline shows the threads of the aggregate alone: %s", reason.text);
    struct wp_page_context with = *context;
    with.has_system = system != NULL;
    rc = wp_single_file(out, &with, &(struct wp_single_file_options){.system = system}, err);
    wp_trace_destroy(system);
    return rc;
}

static int format(struct wp_buffer *out, const struct wp_page_context *context, const struct wp_print_options *options,
    struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    if (options->format == WP_FORMAT_FOLDED)
        return wp_format_folded_chosen(out, facts, &options->tables, err);
    if (formats[options->format].write)
        return formats[options->format].write(out, facts, err);
    if (options->format == WP_FORMAT_HTML)
        return format_pages(out, context, options, err);
    return options->format == WP_FORMAT_CSV ? wp_format_csv(out, facts, &options->tables, err)
                                            : wp_format_ndjson(out, facts, &options->tables, err);
}

static int choose_release(const struct wp_stores *stores, const struct wp_print_options *options, char *chosen,
    size_t room, struct wp_error *err)
{
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_stores_releases(stores, NULL, NULL, &releases, &count, err);
    if (rc)
        return rc;
    bool found = !options->release && count == 1;
    if (found)
        snprintf(chosen, room, "%s", releases[0]);
    for (size_t i = 0; i < count && options->release; i++)
        if (!strcmp(releases[i], options->release)) {
            snprintf(chosen, room, "%s", releases[i]);
            found = true;
        }
    if (!found && options->release)
        rc = wp_error_set(err, -ENOENT, "store %s has no release %s", options->stores[0], options->release);
    else if (!found && count)
        rc = wp_error_set(err, -EINVAL, "store %s has %zu releases: choose one with --release (%s ... %s)",
            options->stores[0], count, releases[0], releases[count - 1]);
    else if (!found)
        rc = wp_error_set(err, -ENOENT, "store %s has no releases", options->stores[0]);
    wp_strings_free(releases, count);
    return rc;
}

static int print_release(struct wp_buffer *out, const struct wp_snapshot *snapshot,
    const struct wp_print_options *options, struct wp_error *err)
{
    bool is_pages = options->format == WP_FORMAT_HTML;
    const struct wp_facts_windows windows = {.of_others = is_pages || options->exemplar,
        .fits_pages = is_pages,
        .contour = options->contour,
        .exemplar = options->exemplar};
    struct wp_facts facts = {0};
    struct wp_page_context context = {.facts = &facts};
    struct wp_genealogy *genealogy = NULL;
    char aggregate[WP_ID_ROOM];
    int rc = wp_aggregate_choose(snapshot, options->aggregate, &options->selection, aggregate, err);
    if (!rc)
        rc = wp_facts_read_windows(&facts, snapshot, aggregate, &options->selection, &windows, err);
    if (!rc && (is_pages || options->format == WP_FORMAT_JSON))
        rc = wp_process_tree_read(&facts, &genealogy, snapshot, err);
    if (!rc)
        wp_process_findings_add(&facts);
    if (!rc && is_pages)
        rc = wp_origins_read(&context, snapshot, &options->selection, err);
    if (!rc && wp_format_is_stacks(options->format))
        rc = wp_stack_choice_apply(&facts.flame, &options->tables, facts.total_ns, err);
    if (!rc)
        rc = format(out, &context, options, err);
    wp_genealogy_fini(&genealogy);
    wp_page_context_fini(&context);
    wp_facts_fini(&facts);
    return rc ? wp_error_wrap(err, rc, "release %s", snapshot->release) : 0;
}

int wp_print_aggregate(struct wp_buffer *out, const struct wp_print_options *options, struct wp_error *err)
{
    struct wp_stores stores;
    struct wp_snapshot snapshot;
    char release[256] = "";
    int rc = wp_stores_open(&stores, options->stores, options->store_count, err);
    if (rc)
        return rc;
    rc = choose_release(&stores, options, release, sizeof(release), err);
    if (!rc)
        rc = wp_snapshot_begin(&snapshot, &stores, release, err);
    if (!rc) {
        rc = print_release(out, &snapshot, options, err);
        wp_snapshot_end(&snapshot);
    }
    wp_stores_close(&stores);
    return rc;
}
