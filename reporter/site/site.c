/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site.h"

#include "common/strings.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_method.h"
#include "reporter/data/exemplar_data.h"
#include "reporter/data/origin_data.h"
#include "reporter/data/time_data.h"
#include "reporter/data/view_data.h"
#include "reporter/export/format_json.h"
#include "reporter/facts/beside.h"
#include "reporter/facts/commit_line.h"
#include "reporter/findings/finding_since.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_parts.h"
#include "reporter/recording/origins.h"
#include "reporter/recording/supervisor_finding.h"
#include "reporter/recording/process_tree.h"
#include "reporter/recording/release_facts.h"
#include "reporter/recording/release_overlap.h"
#include "reporter/site/site_compare.h"
#include "reporter/site/site_files.h"
#include "reporter/site/site_jobs.h"
#include "reporter/site/site_own.h"
#include "reporter/site/site_parts.h"
#include "reporter/site/site_reuse.h"
#include "reporter/site/site_sources.h"
#include "reporter/site/site_system.h"
#include "reporter/window/window_data.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct site {
    const struct wp_site_options *options;
    struct wp_stores stores;
    struct wp_release_order order;
    struct wp_site_tree tree;
    struct wp_site_files files;
    struct wp_site_summary summary;
    struct wp_site_reuse reuse;
    struct wp_buffer main_json; /* summary.json of the aggregate that speaks for the release, the last release seen */
    uint64_t main_total;
    bool main_found, has_system;
    struct wp_page_context context; /* of the aggregate in hand */
    struct wp_genealogy *genealogy; /* owned; of the release in hand, NULL: not read yet */
    size_t damaged;
    char parts[PATH_MAX]; /* made by other processes; "": none */
};

static int write_buffer(struct site *site, const char *path, const struct wp_buffer *content, struct wp_error *err)
{
    return wp_site_files_put(&site->files, path, content->data, content->size, err);
}

/* `rc` and `reason`: what its builder said. */
static int write_display(
    struct site *site, struct wp_display *display, int rc, const struct wp_error *reason, struct wp_error *err)
{
    rc = wp_site_files_put_page(&site->files, display, rc, reason, err);
    wp_display_fini(display);
    return rc;
}

/* number: of the window that it is of; 0: of none. */
static int write_page(
    struct site *site, const struct wp_facts *facts, enum wp_page_kind page, unsigned number, struct wp_error *err)
{
    struct wp_display display;
    struct wp_error reason = {0};
    wp_display_init(&display, &(struct wp_page_id){page, facts->release, facts->aggregate});
    display.context = &site->context;
    int rc = number ? wp_page_exemplar(&display, facts, number, &reason) : wp_page_build(&display, facts, &reason);
    return write_display(site, &display, rc, &reason, err);
}

/* A file beside the aggregate's pages. */
static int write_content(struct site *site, const struct wp_facts *facts, const char *name,
    const struct wp_buffer *content, struct wp_error *err)
{
    struct wp_buffer path = {0};
    wp_page_id_folder(&path, facts->release);
    wp_buffer_putc(&path, '/');
    wp_page_id_folder(&path, facts->aggregate);
    wp_buffer_printf(&path, "/%s", name);
    int rc = path.failed ? wp_error_set(err, -ENOMEM, "out of memory")
                         : write_buffer(site, (const char *)path.data, content, err);
    wp_buffer_fini(&path);
    return rc;
}

static int write_beside(struct site *site, const struct wp_facts *facts, const char *name,
    int (*make)(struct wp_buffer *, const struct wp_facts *, struct wp_error *), struct wp_error *err)
{
    struct wp_buffer content = {0};
    struct wp_error reason = {0};
    int rc = 0;
    if (make(&content, facts, &reason))
        site->files.failed++; /* its page says that there is nothing to draw */
    else
        rc = write_content(site, facts, name, &content, err);
    wp_buffer_fini(&content);
    return rc;
}

/* "main" speaks for a release, else the aggregate of the largest total: its summary is the site's summary.json. */
static int write_summary(struct site *site, const struct wp_facts *facts, struct wp_error *err)
{
    bool is_main = !strcmp(facts->aggregate, "main");
    struct wp_buffer content = {0};
    int rc = wp_format_summary(&content, facts, site->context.findings, err);
    if (!rc)
        rc = write_content(site, facts, "summary.json", &content, err);
    if (!rc && !site->main_found && (is_main || !site->main_json.size || facts->total_ns > site->main_total)) {
        wp_buffer_fini(&site->main_json);
        site->main_json = content;
        content = (struct wp_buffer){0};
        site->main_found = is_main;
        site->main_total = facts->total_ns;
    }
    wp_buffer_fini(&content);
    return rc;
}

/* Callers and callees, a page for every few functions, and a page for each cycle. */
static int write_parts(struct site *site, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_page_parts parts;
    int rc = wp_page_parts_build(&parts, facts, err);
    if (rc)
        return rc;
    for (unsigned number = 1; number <= wp_page_parts_count(&parts) && !rc; number++) {
        struct wp_display display;
        struct wp_error reason = {0};
        wp_display_init(&display, &(struct wp_page_id){WP_PAGE_FUNCTION, facts->release, facts->aggregate});
        display.context = &site->context;
        rc = wp_page_parts_page(&display, &parts, number, &reason);
        rc = write_display(site, &display, rc, &reason, err);
    }
    wp_page_parts_fini(&parts);
    return rc;
}

/* Two pages of each window, their data, and what the flame looks through for one that shows a frame. */
static int write_exemplars(struct site *site, const struct wp_facts *facts, struct wp_error *err)
{
    int rc = 0;
    for (unsigned i = 1; i <= facts->exemplars.count && !rc; i++) {
        char name[64];
        struct wp_buffer content = {0};
        snprintf(name, sizeof(name), "exemplar-%u-data.js", i);
        rc = wp_window_data(&content, facts->exemplars.rows[i - 1].trace, "trace", err);
        if (!rc)
            rc = write_content(site, facts, name, &content, err);
        if (!rc)
            rc = write_page(site, facts, WP_PAGE_EXEMPLAR, i, err);
        if (!rc)
            rc = write_page(site, facts, WP_PAGE_EXEMPLAR_ROWS, i, err);
        wp_buffer_fini(&content);
    }
    return rc ? rc : write_beside(site, facts, "exemplars-data.js", wp_exemplar_data, err);
}

/* Whose time it is: the list, and what each has of the flame when there are several. */
static int write_origins(struct site *site, const struct wp_facts *facts, struct wp_error *err)
{
    const struct wp_origins *origins = &site->context.origins;
    struct wp_buffer list = {0};
    struct wp_error reason = {0};
    int rc = 0;
    if (wp_origin_list(&list, &site->context, &reason))
        site->files.failed++;
    else
        rc = write_content(site, facts, "origins-data.js", &list, err);
    wp_buffer_fini(&list);
    for (size_t i = 0; i < origins->count && !rc; i++) {
        char name[64];
        struct wp_buffer content = {0};
        if (!origins->rows[i].report)
            continue;
        snprintf(name, sizeof(name), "origin-%zu-data.js", i + 1);
        rc = wp_origin_data(&content, &site->context, i, err);
        if (!rc)
            rc = write_content(site, facts, name, &content, err);
        wp_buffer_fini(&content);
    }
    return rc;
}

static int write_pages(struct site *site, const struct wp_facts *facts, struct wp_error *err)
{
    int rc = 0;
    for (int page = WP_PAGE_OVERVIEW; page < WP_PAGES && !rc; page++)
        if (wp_page_is_of_facts((enum wp_page_kind)page, facts)) /* two releases, and parts: below */
            rc = write_page(site, facts, (enum wp_page_kind)page, 0, err);
    if (!rc)
        rc = write_parts(site, facts, err);
    return rc ? rc : write_exemplars(site, facts, err);
}

static int write_part(void *context, const struct wp_display *display, struct wp_error *err)
{
    struct site *site = context;
    return wp_site_files_put_page(&site->files, display, 0, NULL, err);
}

static int write_aggregate(struct site *site, struct wp_release_summary *release, const struct wp_snapshot *snapshot,
    const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_source_options source = site->options->source;
    source.git = site->options->order.git;
    int rc = write_pages(site, facts, err);
    if (!rc)
        rc = wp_site_sources(facts, snapshot, &source, write_part, site, err);
    if (!rc)
        rc = write_beside(site, facts, "flame-data.js", wp_view_data_flame, err);
    if (!rc)
        rc = write_beside(site, facts, "flame-times.js", wp_time_data, err);
    if (!rc)
        rc = write_origins(site, facts, err);
    if (!rc && facts->trace)
        rc = write_beside(site, facts, "trace-data.js", wp_view_data_trace, err);
    if (!rc)
        rc = write_summary(site, facts, err);
    site->damaged += facts->damage_count;
    if (!rc && !wp_summary_add(&site->summary, release, &site->context))
        rc = wp_error_set(err, -ENOMEM, "out of memory for the index");
    return rc;
}

/* As the repository says it, which knows more than the recordings. */
static void name_commits(const struct site *site, struct wp_compare *compare)
{
    for (int i = 0; i < 2; i++) {
        size_t row = wp_release_order_find(&site->order, compare->operand[i].release);
        if (row != SIZE_MAX && site->order.rows[row].commit)
            compare->operand[i].commit = wp_commit_line(&compare->pool, site->order.rows[row].commit);
    }
}

/* The same aggregate of the release that this one is compared with; the context says what came of it. */
static int compare_aggregate(struct site *site, const struct wp_facts *facts, const struct wp_snapshot *newer,
    size_t baseline, struct wp_error *err)
{
    struct wp_snapshot snapshot;
    char name[WP_ID_ROOM];
    struct wp_facts before = {0};
    struct wp_compare compare;
    int rc = wp_snapshot_begin(&snapshot, &site->stores, site->order.rows[baseline].id, err);
    if (rc == -EBADMSG || rc == -ENOENT) /* damaged, which its own page says, or just removed */
        return 0;
    if (rc)
        return rc;
    rc = wp_snapshot_counterpart(&snapshot, newer, facts->aggregate, name, err);
    if (!rc)
        rc = wp_facts_read(&before, &snapshot, name, &site->options->selection, err);
    if (!rc)
        rc = wp_compare_build(&compare, &before, facts, &site->options->compare, err);
    if (!rc) {
        struct wp_page_context *context = &site->context;
        name_commits(site, &compare);
        compare.operand[WP_AFTER].overlaps =
            wp_release_overlap_sentence(&compare.pool, context->overlaps, context->overlap_count);
        context->findings = wp_findings_since(&context->pool, facts, &before);
        context->change = wp_compare_summary(&context->pool, &compare);
        context->changed_worse = compare.worse;
        context->changed_better = compare.better;
        rc = wp_site_comparison(&site->files, context, &compare, WP_PAGE_COMPARE, err);
        wp_compare_fini(&compare);
    }
    wp_facts_fini(&before);
    wp_snapshot_end(&snapshot);
    return rc == -ENOENT || rc == -EINVAL
        ? 0
        : rc; /* the older one did not have this aggregate, or cannot tell the hosts apart */
}

static int read_aggregate(struct site *site, const struct wp_snapshot *snapshot, struct wp_release_summary *release,
    const char *aggregate, struct wp_error *err)
{
    struct wp_facts facts;
    site->context = (struct wp_page_context){
        .facts = &facts, .has_own_pages = site->options->has_own_pages, .has_system = site->has_system};
    size_t row = wp_release_order_find(&site->order, release->id);
    size_t baseline = row == SIZE_MAX ? SIZE_MAX : site->order.rows[row].baseline;
    int rc = wp_facts_read_windows(&facts, snapshot, aggregate, &site->options->selection,
        &(struct wp_facts_windows){.of_others = true, .fits_pages = true}, err);
    rc = rc ? rc : wp_process_tree_read(&facts, &site->genealogy, snapshot, err);
    if (!rc)
        wp_process_findings_add(&facts);
    if (!rc && !site->options->aggregate) /* then there are pages of it */
        wp_beside_find_other(&site->context, snapshot);
    rc = rc ? rc : wp_origins_read(&site->context, snapshot, &site->options->selection, err);
    rc = rc ? rc : wp_release_overlap_read(&site->context, &site->stores, &site->order, err);
    if (!rc && baseline != SIZE_MAX)
        rc = compare_aggregate(site, &facts, snapshot, baseline, err);
    if (!rc && site->options->canary)
        rc = wp_site_canary(&site->files, &site->context, &site->stores, site->options, err);
    if (!rc)
        rc = write_aggregate(site, release, snapshot, &facts, err);
    else if (rc == -ENOENT && !site->options->aggregate)
        rc = 0; /* nothing of it in the chosen time */
    wp_page_context_fini(&site->context);
    wp_facts_fini(&facts);
    return rc;
}

static int write_release(
    struct site *site, struct wp_release_summary *release, const struct wp_release_facts *facts, struct wp_error *err)
{
    struct wp_display display;
    struct wp_error reason = {0};
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_RELEASE, release->id, NULL});
    int rc = wp_page_release(&display, release, facts, &reason);
    return write_display(site, &display, rc, &reason, err);
}

static void forget_release(struct site *site, struct wp_release_summary *release)
{
    site->summary.aggregate_count -= release->aggregate_count;
    release->first = release->last = NULL;
    release->aggregate_count = 0;
}

/* What the index says of a release whose pages are at hand. -ENOENT: it must be built. */
static int restore_release(struct site *site, struct wp_release_summary *release, const struct wp_state_row *row)
{
    int rc = wp_site_state_restore(row, &site->summary, release);
    if (rc == -EBADMSG) { /* somebody else wrote that file: as if it were not there */
        forget_release(site, release);
        return -ENOENT;
    }
    site->damaged += rc ? 0 : row->damaged;
    if (!rc && !*release->commit)
        release->commit = wp_pool_text(&site->summary.pool, row->commit);
    return rc;
}

/* The pages of a release that did not change. -ENOENT: it must be built. */
static int keep_release(
    struct site *site, struct wp_release_summary *release, const struct wp_state_row *row, struct wp_error *err)
{
    struct wp_buffer folder = {0};
    if (!row || site->order.count == 1) /* the index of one release says more than is kept */
        return -ENOENT;
    int rc = restore_release(site, release, row);
    if (rc)
        return rc;
    wp_page_id_folder(&folder, release->id);
    rc = folder.failed ? wp_error_set(err, -ENOMEM, "out of memory")
                       : wp_tree_hold(&site->tree, (const char *)folder.data, err);
    wp_buffer_fini(&folder);
    if (rc == -ENOENT) {
        site->damaged -= row->damaged;
        forget_release(site, release);
    }
    return rc;
}

/* The pages of a release that another run made as its part of this site. -ENOENT: it must be built. */
static int take_part(struct site *site, struct wp_release_summary *release, const char *inputs, struct wp_error *err)
{
    struct wp_site_part part;
    const char *parts = site->options->parts ? site->options->parts : *site->parts ? site->parts : NULL;
    if (!parts || site->order.count == 1)
        return -ENOENT;
    struct wp_site_options options = *site->options;
    options.parts = parts;
    struct wp_site_part_of of = {release->id, release->overlaps, release->baseline, inputs};
    int rc = wp_site_part_take(&part, &options, &site->reuse, &site->tree, &of, err);
    if (!rc)
        rc = part.row ? restore_release(site, release, part.row) : -ENOENT;
    wp_site_part_fini(&part);
    return rc;
}

static int build_release(
    struct site *site, const struct wp_release_row *row, struct wp_release_summary *release, struct wp_error *err);

/* Releases of the same time and the state of their files: windows in which releases are mixed rest on them. */
static const char *overlap_inputs(struct site *site, const struct wp_release_row *row)
{
    size_t others[WP_OVERLAP_CANDIDATES];
    size_t count = wp_release_overlap_candidates(&site->order, (size_t)(row - site->order.rows), others);
    const char *text = "";
    uint64_t changed_ns;
    for (size_t i = 0; i < count; i++) {
        const char *id = site->order.rows[others[i]].id;
        text = wp_pool_printf(
            &site->reuse.pool, "%s%s=%s;", text, id, wp_site_inputs(&site->reuse.pool, &site->stores, id, &changed_ns));
    }
    return text;
}

static int read_release(struct site *site, const struct wp_release_row *row, struct wp_error *err)
{
    const char *inputs, *baseline = row->baseline == SIZE_MAX ? NULL : site->order.rows[row->baseline].id;
    const char *overlaps = overlap_inputs(site, row);
    const struct wp_state_row *before = wp_site_reuse_find(&site->reuse, row->id, baseline, overlaps, &inputs);
    struct wp_release_summary *release = wp_summary_release(&site->summary, row->id);
    if (!release)
        return wp_error_set(err, -ENOMEM, "out of memory for the index");
    release->is_dirty = row->is_dirty;
    release->overlaps = wp_pool_text(&site->summary.pool, overlaps);
    release->baseline = baseline ? wp_pool_text(&site->summary.pool, baseline) : NULL;
    release->commit = row->commit ? wp_commit_line(&site->summary.pool, row->commit) : "";
    int rc = keep_release(site, release, before, err);
    if (rc == -ENOENT)
        rc = take_part(site, release, inputs, err);
    size_t failed = site->files.failed;
    if (rc == -ENOENT)
        rc = build_release(site, row, release, err);
    release->has_failed = site->files.failed > failed;
    if (!rc)
        wp_site_reuse_put(&site->reuse, release, inputs, row);
    return rc;
}

static const char *recorded_commit(struct site *site, const struct wp_metadata *metadata)
{
    struct wp_commit commit;
    wp_commit_from_metadata(&commit, metadata);
    return wp_commit_line(&site->summary.pool, &commit);
}

static int build_release(
    struct site *site, const struct wp_release_row *row, struct wp_release_summary *release, struct wp_error *err)
{
    struct wp_snapshot snapshot;
    char **aggregates = NULL;
    size_t count = 0;
    bool found = false;
    site->main_found = false;
    wp_buffer_clear(&site->main_json);
    int rc = wp_snapshot_begin(&snapshot, &site->stores, row->id, err);
    if (rc == -EBADMSG && !site->options->release) { /* the others are well */
        release->is_damaged = true;
        site->damaged++;
        return write_release(site, release, NULL, err);
    }
    if (rc)
        return rc;
    rc = wp_snapshot_aggregates(&snapshot, &aggregates, &count, err);
    if (!rc && site->order.count == 1)
        rc = wp_site_system_put(&site->files, site->options, row->id, &site->has_system, err);
    for (size_t i = 0; i < count && !rc; i++) {
        if (site->options->aggregate && strcmp(site->options->aggregate, aggregates[i]))
            continue;
        found = true;
        rc = read_aggregate(site, &snapshot, release, aggregates[i], err);
    }
    if (!rc && site->options->aggregate && site->options->release && !found)
        rc = wp_error_set(err, -ENOENT, "release %s has no aggregate %s", row->id, site->options->aggregate);
    struct wp_release_facts facts = {0};
    if (!rc)
        rc = wp_release_facts_read(&facts, &snapshot, err);
    if (!rc && !*release->commit)
        release->commit = recorded_commit(site, &facts.metadata);
    if (!rc)
        rc = write_release(site, release, &facts, err);
    wp_release_facts_fini(&facts);
    wp_strings_free(aggregates, count);
    wp_genealogy_fini(&site->genealogy);
    wp_snapshot_end(&snapshot);
    return rc;
}

static int run_jobs(struct site *site, const char *const *releases, size_t count, struct wp_error *err)
{
    struct wp_site_options options = *site->options;
    options.known_order = &site->order; /* each of them would look at every release */
    return wp_site_jobs_run(&(struct wp_site_jobs){&options, site->parts, releases, count, wp_site_write}, err);
}

/* Has other processes make what is to be made, in a folder beside the new tree. */
static int make_parts(struct site *site, struct wp_error *err)
{
    const char **releases = calloc(site->order.count + 1, sizeof(*releases)), *inputs;
    size_t count = 0;
    if (!releases)
        return wp_error_set(err, -ENOMEM, "out of memory for the parts of the site");
    for (size_t i = 0; i < site->order.count; i++) {
        const struct wp_release_row *row = &site->order.rows[i];
        const char *baseline = row->baseline == SIZE_MAX ? NULL : site->order.rows[row->baseline].id;
        if (!wp_site_reuse_find(&site->reuse, row->id, baseline, overlap_inputs(site, row), &inputs))
            releases[count++] = row->id;
    }
    int rc = 0;
    if (count > 1 &&
        (size_t)snprintf(site->parts, sizeof(site->parts), "%s-parts", site->tree.fresh) < sizeof(site->parts)) {
        rc = wp_site_scratch_remove(site->parts, err); /* what a crash left */
        if (!rc)
            rc = wp_site_scratch_make(site->parts, err);
        if (!rc)
            rc = run_jobs(site, releases, count, err);
    }
    free(releases);
    return rc;
}

static int read_stores(struct site *site, struct wp_error *err)
{
    bool found = false;
    struct wp_order_options order = site->options->order;
    order.known_time = wp_site_reuse_time;
    order.known_context = &site->reuse;
    int rc = 0;
    if (site->options->known_order)
        site->order = *site->options->known_order;
    else
        rc = wp_release_order_read(&site->order, &site->stores, &order, err);
    if (!rc && site->options->jobs > 1 && !site->options->parts && !site->options->release)
        rc = make_parts(site, err);
    for (size_t i = 0; i < site->order.count && !rc; i++) {
        if (site->options->release && strcmp(site->options->release, site->order.rows[i].id))
            continue;
        found = true;
        rc = read_release(site, &site->order.rows[i], err);
        if (!rc && site->options->progress && !*site->parts)
            site->options->progress(site->options->progress_context, i + 1, site->order.count);
    }
    if (*site->parts)
        wp_site_scratch_remove(site->parts, NULL);
    if (!rc && site->options->release && !found)
        rc = wp_error_set(err, -ENOENT, "store %s has no release %s", site->options->stores[0], site->options->release);
    return rc;
}

static int write_index(struct site *site, struct wp_error *err)
{
    struct wp_display display;
    struct wp_error reason = {0};
    site->summary.is_history = site->options->order.git != NULL;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    int rc = wp_page_index(&display, &site->summary, &reason);
    rc = write_display(site, &display, rc, &reason, err);
    if (!rc && site->summary.release_count == 1 && site->main_json.size)
        rc = write_buffer(site, "summary.json", &site->main_json, err);
    return rc;
}

static size_t count_unread(const struct site *site)
{
    size_t unread = 0;
    for (const struct wp_release_summary *release = site->summary.first; release; release = release->next)
        unread += release->is_damaged;
    return unread;
}

static int write_all(struct site *site, struct wp_site_result *result, struct wp_error *err)
{
    int rc = wp_site_files_put_assets(&site->files, err);
    if (!rc)
        rc = read_stores(site, err);
    rc = rc ? rc : write_index(site, err);
    if (!rc)
        rc = write_buffer(site, WP_SITE_STATE, wp_site_reuse_state(&site->reuse), err);
    *result = (struct wp_site_result){site->summary.release_count, site->summary.aggregate_count, site->tree.written,
        site->tree.kept, site->damaged, count_unread(site), site->files.failed};
    char *out = rc ? NULL : strdup(site->tree.out);
    if (rc)
        wp_tree_abort(&site->tree);
    else
        rc = wp_tree_commit(&site->tree, err);
    if (!rc && out)
        wp_site_reuse_stamp(&site->reuse, out);
    free(out);
    return rc;
}

int wp_site_write(const struct wp_site_options *options, struct wp_site_result *result, struct wp_error *err)
{
    struct site site = {.options = options, .files = {&site.tree, options->is_gzipped, 0}};
    memset(result, 0, sizeof(*result));
    int rc = wp_stores_open(&site.stores, options->stores, options->store_count, err);
    if (rc)
        return rc;
    rc = wp_tree_begin(&site.tree, options->out, options->wait_s, err);
    site.tree.is_unsynced = options->known_order || options->is_unsynced;
    if (!rc)
        rc = wp_site_reuse_begin(&site.reuse, options, &site.stores, &site.tree, err);
    if (!rc && !wp_site_reuse_all(&site.reuse, options, &site.tree, result))
        rc = write_all(&site, result, err);
    wp_tree_abort(&site.tree);
    wp_site_reuse_end(&site.reuse);
    wp_buffer_fini(&site.main_json);
    wp_summary_fini(&site.summary);
    if (!options->known_order)
        wp_release_order_fini(&site.order);
    wp_stores_close(&site.stores);
    return rc;
}
