/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/option_values.h"

#include "common/path.h"
#include "reporter/cmd/default_store.h"
#include "reporter/compare/operand_spec.h"
#include "reporter/facts/contour.h"
#include "reporter/read/stores.h"
#include "storage/value/bucket.h"
#include "storage/value/category.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t wp_option_time(const struct argp_state *state, const char *text)
{
    uint64_t seconds = 0;
    if (wp_time_parse(text, &seconds))
        argp_error(state, "'%s' is not a time: give seconds since the epoch or 2026-11-20T22:14 (UTC)", text);
    return seconds;
}

void wp_option_times_end(const struct argp_state *state, uint64_t since_s, uint64_t until_s)
{
    if (until_s && since_s >= until_s)
        argp_error(state, "--since is not before --until: no time is between them");
}

const char *wp_option_aggregate(const struct argp_state *state, const char *text)
{
    if (!wp_aggregate_valid(text))
        argp_error(state, "'%s' is not a valid aggregate: letters, digits and ._+- (1 to 128 of them)", text);
    return text;
}

unsigned wp_option_count(const struct argp_state *state, const char *what, const char *text, unsigned limit)
{
    char *end = NULL;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || number > limit)
        argp_error(state, "'%s' is not a %s: 0 to %u", text, what, limit);
    return (unsigned)number;
}

const char *wp_option_hosts(const struct argp_state *state, const char *text)
{
    const char *hosts = NULL;
    if (wp_hosts_parse(text, &hosts))
        argp_error(state, "'%.100s' names no hosts: shell patterns parted by commas, as web-1 or web-*", text);
    return hosts;
}

const char *wp_option_canary(const struct argp_state *state, const char *text)
{
    const char *hosts = wp_option_hosts(state, text);
    if (*hosts == '!')
        argp_error(state, "'%.100s' is all hosts but some: name those that are compared with all others", text);
    return hosts;
}

void wp_option_store(const struct argp_state *state, const char **stores, size_t *count, const char *root)
{
    if (*count == WP_STORES_LIMIT)
        argp_error(state, "at most %u stores", WP_STORES_LIMIT);
    stores[(*count)++] = root;
}

bool wp_option_stores_end(const struct argp_state *state, const char **stores, size_t *count)
{
    if (*count)
        return false;
    stores[0] = wp_default_store();
    if (!stores[0])
        argp_error(state, "give the store to read with --store ROOT: there is no wakepath-report/store here");
    *count = stores[0] != NULL;
    return *count;
}

void wp_option_contour(const struct argp_state *state, struct wp_contour *contour, const char *text)
{
    int rc = wp_contour_add(contour, text);
    if (rc == -E2BIG)
        argp_error(state, "'%s' is one too many: at most %u of --leave-out", text, WP_CONTOUR_PARTS);
    else if (rc)
        argp_error(state, "'%s' cannot be left out: process=NAME, object=PATH or module=FILE, with * and ?", text);
}

struct wp_row_limit wp_option_limit(const struct argp_state *state, const char *text)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", 1}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end = NULL;
    double value = *text >= '0' && *text <= '9' ? strtod(text, &end) : -1;
    if (end && !strcmp(end, "%") && value <= 100)
        return (struct wp_row_limit){.percent = value};
    for (size_t i = 0; end && i < sizeof(units) / sizeof(*units); i++)
        if (!strcmp(end, units[i].name) && value * units[i].ns < 1e18)
            return (struct wp_row_limit){.least = (uint64_t)(value * units[i].ns), .has_unit = i > 0};
    argp_error(state, "'%s' is not a limit: a share as 1%%, a time as 10ms, or a number", text);
    return (struct wp_row_limit){0};
}

unsigned wp_option_category(const struct argp_state *state, const char *text)
{
    int found = wp_category_find(text);
    if (found < 0)
        argp_error(state, "'%s' is not a category, as blocking_io or remote_not_traced", text);
    return found < 0 ? 0 : 1u << found;
}
