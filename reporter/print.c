/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/print.h"

#include "reporter/format_folded.h"
#include "reporter/format_json.h"
#include "reporter/format_text.h"
#include "reporter/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int wp_format_parse(const char *name, enum wp_format *format)
{
    static const char *const names[] = {"html", "json", "text", "folded"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (!strcmp(name, names[i])) {
            *format = (enum wp_format)i;
            return 0;
        }
    return -EINVAL;
}

static int format_text(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_query){WP_PAGE_OVERVIEW, facts->release, facts->aggregate});
    int rc = wp_page_digest(&display, facts, err);
    if (!rc)
        rc = wp_format_text(out, &display, err);
    wp_display_fini(&display);
    return rc;
}

static int format(struct wp_buffer *out, const struct wp_facts *facts, enum wp_format as, struct wp_error *err)
{
    switch (as) {
    case WP_FORMAT_JSON:
        return wp_format_json(out, facts, err);
    case WP_FORMAT_TEXT:
        return format_text(out, facts, err);
    case WP_FORMAT_FOLDED:
        return wp_format_folded(out, facts, err);
    case WP_FORMAT_HTML:
        break;
    }
    return wp_error_set(err, -EINVAL, "html is a site of many files: give --out DIR");
}

static int choose_release(struct wp_store *store, const struct wp_print_options *options, char *chosen, size_t room,
    struct wp_error *err)
{
    char **releases = NULL;
    size_t count = 0;
    int rc = wp_store_releases(store, &releases, &count, err);
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
        rc = wp_error_set(err, -ENOENT, "store %s has no release %s", options->store, options->release);
    else if (!found && count)
        rc = wp_error_set(err, -EINVAL, "store %s has %zu releases: choose one with --release (%s ... %s)", options->store,
            count, releases[0], releases[count - 1]);
    else if (!found)
        rc = wp_error_set(err, -ENOENT, "store %s has no releases", options->store);
    wp_strings_free(releases, count);
    return rc;
}

/* "main" where there is one, else the aggregate of the largest total; totals are read only when they decide. */
static int choose_aggregate(struct wp_txn *txn, char **aggregates, size_t count, const struct wp_print_options *options,
    const char **chosen, struct wp_error *err)
{
    uint64_t largest = 0;
    const char *wanted = options->aggregate ? options->aggregate : "main";
    for (size_t i = 0; i < count; i++)
        if (!strcmp(aggregates[i], wanted)) {
            *chosen = aggregates[i];
            return 0;
        }
    if (options->aggregate)
        return wp_error_set(err, -ENOENT, "release has no aggregate %s (it has %zu%s%s)", wanted, count,
            count ? ", the first is " : "", count ? aggregates[0] : "");
    for (size_t i = 0; i < count; i++) {
        struct wp_report *report = NULL;
        struct wp_damage *damage = NULL;
        size_t damaged = 0;
        if (!wp_txn_read_report(txn, aggregates[i], &options->selection, &report, &damage, &damaged, NULL) &&
            (!*chosen || wp_report_total(report) > largest)) {
            *chosen = aggregates[i];
            largest = wp_report_total(report);
        }
        wp_report_destroy(report);
        wp_damage_free(damage, damaged);
    }
    return *chosen ? 0 : wp_error_set(err, -ENOENT, "the release has no readable report");
}

static int print_release(struct wp_buffer *out, struct wp_txn *txn, const char *release,
    const struct wp_print_options *options, struct wp_error *err)
{
    struct wp_facts facts = {0};
    char **aggregates = NULL;
    size_t count = 0;
    const char *aggregate = NULL;
    int rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    if (!rc)
        rc = choose_aggregate(txn, aggregates, count, options, &aggregate, err);
    if (!rc)
        rc = wp_facts_read(&facts, txn, release, aggregate, &options->selection, err);
    if (!rc)
        rc = format(out, &facts, options->format, err);
    wp_facts_fini(&facts);
    wp_strings_free(aggregates, count);
    return rc ? wp_error_wrap(err, rc, "release %s", release) : 0;
}

int wp_print_aggregate(struct wp_buffer *out, const struct wp_print_options *options, struct wp_error *err)
{
    struct wp_store *store = NULL;
    struct wp_txn *txn = NULL;
    char release[256] = "";
    int rc = wp_store_open(&store, options->store, false, err);
    if (rc)
        return rc;
    rc = choose_release(store, options, release, sizeof(release), err);
    if (!rc)
        rc = wp_txn_begin(&txn, store, release, false, err);
    if (!rc)
        rc = print_release(out, txn, release, options, err);
    wp_txn_abort(txn);
    wp_store_close(store);
    return rc;
}
