/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/check.h"

#include "common/history.h"
#include "common/strings.h"
#include "reporter/compare/compare_order.h"
#include "reporter/compare/stored_checks.h"
#include "reporter/export/format_check.h"
#include "reporter/export/format_text.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_compare.h"
#include "reporter/read/named.h"
#include "reporter/recording/release_overlap.h"
#include "reporter/site/single_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Which release NEW is, and which one it stands on. */
static int find_operands(const struct wp_stores *stores, const struct wp_check_options *options,
    struct wp_operand_spec operand[2], struct wp_error *err)
{
    struct wp_release_order order;
    int rc = wp_release_order_read(&order, stores, &options->common.order, err);
    if (rc)
        return rc;
    size_t after = *operand[WP_AFTER].release ? wp_release_order_find(&order, operand[WP_AFTER].release)
        : order.count                         ? 0
                                              : SIZE_MAX;
    if (after == SIZE_MAX)
        rc = wp_error_set(err, -ENOENT,
            *operand[WP_AFTER].release ? "no store has a release %s" : "the store has no releases%s",
            operand[WP_AFTER].release);
    size_t before = rc ? SIZE_MAX : order.rows[after].baseline;
    if (!rc && before == SIZE_MAX)
        rc = wp_error_set(err, -ENOENT, "nothing measured comes before release %s: there is nothing to compare it with",
            order.rows[after].id);
    if (!rc) {
        snprintf(operand[WP_AFTER].release, sizeof(operand[WP_AFTER].release), "%s", order.rows[after].id);
        snprintf(operand[WP_BEFORE].release, sizeof(operand[WP_BEFORE].release), "%s", order.rows[before].id);
        /* What else was asked of the newer one holds for both. */
        memcpy(operand[WP_BEFORE].aggregate, operand[WP_AFTER].aggregate, sizeof(operand[WP_BEFORE].aggregate));
        memcpy(operand[WP_BEFORE].host, operand[WP_AFTER].host, sizeof(operand[WP_BEFORE].host));
    }
    wp_release_order_fini(&order);
    return rc;
}

/* With --git a side may be a commit that no release is called after: OLD its release or nearest measured ancestor, NEW
 * that very one's. */
static int find_commit(
    struct wp_operand_spec *spec, const struct wp_stores *stores, const char *git, bool is_exact, struct wp_error *err)
{
    char **releases = NULL, name[sizeof(spec->release) + 16];
    size_t count = 0;
    struct wp_history *history = NULL;
    int rc = wp_stores_releases(stores, NULL, NULL, &releases, &count, err);
    bool is_release = rc;
    for (size_t i = 0; i < count && !is_release; i++)
        is_release = !strcmp(releases[i], spec->release);
    if (is_release) {
        wp_strings_free(releases, count);
        return rc;
    }
    snprintf(name, sizeof(name), spec->back ? "%s~%u" : "%s", spec->release, (unsigned)spec->back);
    rc = wp_history_read(&history, &(struct wp_history_question){git, releases, count, name}, err);
    size_t row = rc ? SIZE_MAX : wp_history_named(history, is_exact);
    if (!rc && row == SIZE_MAX)
        rc = wp_error_set(err, -ENOENT,
            is_exact ? "no release was measured at commit %s" : "nothing was measured at commit %s or before it", name);
    if (!rc) {
        snprintf(spec->release, sizeof(spec->release), "%s", releases[row]);
        spec->back = 0;
    }
    wp_history_destroy(history);
    wp_strings_free(releases, count);
    return rc ? wp_error_wrap(err, rc, "no store has a release %s", name) : 0;
}

/* The same release on both sides: all hosts but the canaries, and these. */
static int canary_operands(struct wp_operand_spec operand[2], const char *canary, struct wp_error *err)
{
    if (*operand[WP_AFTER].host)
        return wp_error_set(err, -EINVAL, "--canary says which hosts, and so does '%s'", operand[WP_AFTER].host);
    operand[WP_BEFORE] = operand[WP_AFTER];
    snprintf(operand[WP_AFTER].host, sizeof(operand[WP_AFTER].host), "%.254s", canary);
    snprintf(operand[WP_BEFORE].host, sizeof(operand[WP_BEFORE].host), "!%.254s", canary);
    return 0;
}

/* Other releases that ran while a side was measured: what differs may be theirs. */
static int read_overlaps(
    struct wp_compare *compare, const struct wp_facts facts[2], const struct wp_stores *stores, struct wp_error *err)
{
    struct wp_release_order order;
    int rc = wp_release_order_read(&order, stores, &(struct wp_order_options){0}, err);
    for (int i = 0; i < 2 && !rc; i++) {
        struct wp_page_context context = {.facts = &facts[i]};
        rc = wp_release_overlap_read(&context, stores, &order, err);
        if (!rc)
            compare->operand[i].overlaps =
                wp_release_overlap_sentence(&compare->pool, context.overlaps, context.overlap_count);
        wp_page_context_fini(&context);
    }
    wp_release_order_fini(&order);
    return rc;
}

static int format_text(struct wp_buffer *out, const struct wp_compare *compare, struct wp_error *err)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    int rc = wp_page_compare_digest(&display, compare, err);
    if (!rc)
        rc = wp_format_text(out, &display, err);
    wp_display_fini(&display);
    return rc;
}

static int format(struct wp_buffer *out, const struct wp_compare *compare, const struct wp_facts *after,
    enum wp_check_format as, struct wp_error *err)
{
    return as == WP_CHECK_HTML ? wp_single_file(out, &(struct wp_page_context){.facts = after},
                                     &(struct wp_single_file_options){.compare = compare}, err)
        : as == WP_CHECK_JSON  ? wp_format_check_json(out, compare, err)
        : as == WP_CHECK_JUNIT ? wp_format_check_junit(out, compare, err)
                               : format_text(out, compare, err);
}

int wp_check_run(struct wp_buffer *out, const struct wp_check_options *options, bool *is_degraded, struct wp_error *err)
{
    struct wp_stores stores;
    struct wp_operand_spec operand[2] = {options->before, options->after};
    struct wp_facts facts[2] = {0};
    struct wp_compare compare;
    int rc = wp_stores_open(&stores, options->common.stores, options->common.store_count, err);
    if (rc)
        return rc;
    for (int i = 0; i < 2 && !rc && options->common.order.git; i++)
        rc = *operand[i].release ? find_commit(&operand[i], &stores, options->common.order.git, i == WP_AFTER, err) : 0;
    for (int i = 0; i < 2 && !rc; i++)
        rc = *operand[i].release
            ? wp_named_find(&stores, options->common.order.git, operand[i].release, &operand[i].back, err)
            : 0;
    if (!rc && !*operand[WP_BEFORE].release && (!*options->canary || !*operand[WP_AFTER].release))
        rc = find_operands(&stores, options, operand, err);
    if (!rc && *options->canary)
        rc = canary_operands(operand, options->canary, err);
    operand[WP_BEFORE].contour = operand[WP_AFTER].contour = &options->common.contour;
    operand[WP_AFTER].fits_pages = options->format == WP_CHECK_HTML;
    operand[WP_BEFORE].same_time = operand[WP_AFTER].same_time = options->same_time || *options->canary;
    if (!rc)
        rc = wp_operands_read(facts, &stores, operand, options->aggregate, err);
    if (!rc)
        rc = wp_compare_build(&compare, &facts[WP_BEFORE], &facts[WP_AFTER], &options->common.compare, err);
    if (!rc) {
        rc = read_overlaps(&compare, facts, &stores, err);
        wp_compare_arrange(&compare, &options->rows);
        if (!rc)
            rc = format(out, &compare, &facts[WP_AFTER], options->format, err);
        *is_degraded = compare.is_degraded;
        if (!rc && options->keeps)
            rc = wp_check_store(&stores, &compare, operand, options->old_text, err);
        wp_compare_fini(&compare);
    }
    wp_facts_fini(&facts[WP_BEFORE]);
    wp_facts_fini(&facts[WP_AFTER]);
    wp_stores_close(&stores);
    return rc;
}
