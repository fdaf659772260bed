/* SPDX-License-Identifier: Apache-2.0 */
#include "common/selector.h"

#include "common/cgroup_path.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ID 4194304u /* PID_MAX_LIMIT */

static const struct {
    const char *prefix;
    enum wp_selector_field field;
} fields[] = {
    {"comm=", WP_SELECT_COMM},
    {"exe=", WP_SELECT_EXE},
    {"cgroup=", WP_SELECT_CGROUP},
    {"unit=", WP_SELECT_UNIT},
    {"container=", WP_SELECT_CONTAINER},
    {"pod=", WP_SELECT_POD},
    {"namespace=", WP_SELECT_NAMESPACE},
    {"pid=", WP_SELECT_PID},
    {"cmdline~", WP_SELECT_CMDLINE},
    {"thread=", WP_SELECT_THREAD},
    {"tid=", WP_SELECT_TID},
    {"between=", WP_SELECT_BETWEEN},
};

static const char *const views[] = {
    [WP_VIEW_BUSY] = "busy", [WP_VIEW_PROGRESS] = "progress", [WP_VIEW_THREADS] = "threads"};
#define VIEWS (sizeof(views) / sizeof(views[0]))

static unsigned view_of(const char *word)
{
    unsigned view = 0;
    while (view < VIEWS && strcmp(word, views[view]))
        view++;
    return view;
}

void wp_selector_fini(struct wp_selector *selector)
{
    for (unsigned i = 0; i < selector->count; i++)
        free(selector->terms[i].text);
    selector->count = 0;
}

static char *print_term(const struct wp_selector_term *term)
{
    const char *prefix = "";
    struct wp_buffer text = {0};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
        if (fields[i].field == term->field)
            prefix = fields[i].prefix;
    wp_buffer_puts(&text, prefix);
    for (const char *at = term->text; *at; at++)
        wp_buffer_printf(&text, *at == ',' || *at == '\\' ? "\\%c" : "%c", *at);
    wp_buffer_putc(&text, 0);
    if (!text.failed)
        return (char *)text.data;
    wp_buffer_fini(&text);
    return NULL;
}

static int compare_terms(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

void wp_selector_print(const struct wp_selector *selector, struct wp_buffer *out)
{
    char *terms[WP_SELECTOR_TERMS];
    unsigned count = 0;
    for (unsigned i = 0; i < selector->count; i++)
        if ((terms[count] = print_term(&selector->terms[i])))
            count++;
    out->failed |= count < selector->count;
    qsort(terms, count, sizeof(*terms), compare_terms);
    for (unsigned i = 0; i < count; i++) {
        wp_buffer_printf(out, "%s%s", i ? "," : "", terms[i]);
        free(terms[i]);
    }
}

/* Copies one term up to an unescaped ',' without its escapes; *end is moved to the ',' or the terminator. */
static char *copy_term(const char *text, const char **end)
{
    char *copy = malloc(strlen(text) + 1), *out = copy;
    if (!copy)
        return NULL;
    for (; *text && *text != ','; text++) {
        if (*text == '\\' && (text[1] == ',' || text[1] == '\\'))
            text++;
        *out++ = *text;
    }
    *out = 0;
    *end = text;
    return copy;
}

/* "7" or "7+8+9" */
static int parse_ids(struct wp_selector_term *term, struct wp_error *err)
{
    const char *kind = term->field == WP_SELECT_PID ? "process" : "thread", *at = term->text;
    for (unsigned i = 0; i < WP_SELECTOR_IDS; i++) {
        char *end = NULL;
        unsigned long id = *at >= '0' && *at <= '9' && strspn(at, "0123456789") <= 10 ? strtoul(at, &end, 10) : 0;
        if (!id || id > MOST_ID || (*end && *end != '+'))
            return wp_error_set(err, -EINVAL, "'%s' is not a %s id", term->text, kind);
        term->ids[i] = (uint32_t)id;
        if (!*end)
            return 0;
        at = end + 1;
    }
    return wp_error_set(err, -E2BIG, "'%s' has more than %d %s ids", term->text, WP_SELECTOR_IDS, kind);
}

/* Up to the first byte that is no digit, to which *end is set; false: none, or more than 64 bits have. */
static bool parse_ns(const char *text, const char **end, uint64_t *ns)
{
    *ns = 0;
    for (*end = text; **end >= '0' && **end <= '9'; ++*end)
        if (__builtin_mul_overflow(*ns, 10u, ns) || __builtin_add_overflow(*ns, (uint64_t)(**end - '0'), ns))
            return false;
    return *end != text;
}

/* "FROM-TO" */
static int parse_interval(struct wp_selector_term *term, struct wp_error *err)
{
    struct wp_selector_interval *interval = &term->interval;
    const char *at = term->text;
    if (parse_ns(at, &at, &interval->from_ns) && *at++ == '-' && parse_ns(at, &at, &interval->to_ns) && !*at &&
        interval->from_ns < interval->to_ns)
        return 0;
    return wp_error_set(
        err, -EINVAL, "'%s' is not an interval: between=FROM-TO, in ns since 1970, FROM before TO", term->text);
}

static bool is_one_of(const struct wp_selector_term *term, uint32_t id)
{
    for (unsigned i = 0; i < WP_SELECTOR_IDS && term->ids[i]; i++)
        if (term->ids[i] == id)
            return true;
    return false;
}

static int parse_value(struct wp_selector_term *term, struct wp_error *err)
{
    if (!*term->text)
        return wp_error_set(err, -EINVAL, "a selector term has no value");
    if (term->field == WP_SELECT_PID || term->field == WP_SELECT_TID)
        return parse_ids(term, err);
    if (term->field == WP_SELECT_BETWEEN)
        return parse_interval(term, err);
    if (term->field == WP_SELECT_CMDLINE) {
        regex_t regex;
        int rc = regcomp(&regex, term->text, REG_EXTENDED | REG_NOSUB);
        if (rc)
            return wp_error_set(err, -EINVAL, "'%s' is not an extended regular expression", term->text);
        regfree(&regex);
    }
    return 0;
}

static int parse_term(struct wp_selector *selector, char *text, struct wp_error *err)
{
    struct wp_selector_term *term = &selector->terms[selector->count];
    *term = (struct wp_selector_term){.field = WP_SELECT_COMMAND, .text = text};
    selector->count++;
    if (!strcmp(text, "command"))
        return 0;
    if (view_of(text) < VIEWS) {
        term->field = WP_SELECT_VIEW;
        return 0;
    }
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        size_t size = strlen(fields[i].prefix);
        if (strncmp(text, fields[i].prefix, size))
            continue;
        term->field = fields[i].field;
        memmove(text, text + size, strlen(text + size) + 1);
        return parse_value(term, err);
    }
    return wp_error_set(err, -EINVAL,
        "'%s' is not a selector term; known are comm=, exe=, cgroup=, unit=, container=, pod=, namespace=, pid=, "
        "cmdline~, thread=, tid=, between=, "
        "command, progress, busy and threads",
        text);
}

static bool has_condition(const struct wp_selector *selector)
{
    for (unsigned i = 0; i < selector->count; i++)
        if (selector->terms[i].field != WP_SELECT_VIEW && selector->terms[i].field != WP_SELECT_BETWEEN)
            return true;
    return false;
}

/* When all terms are there. */
static int check_whole(const struct wp_selector *selector, struct wp_error *err)
{
    unsigned intervals = 0;
    for (unsigned i = 0; i < selector->count; i++)
        intervals += selector->terms[i].field == WP_SELECT_BETWEEN;
    if (intervals > 1)
        return wp_error_set(err, -EINVAL, "more than one between=");
    if (has_condition(selector))
        return 0;
    return wp_error_set(err, -EINVAL, "'%s' says whose time counts, and not of which process: add one, as comm=NAME,%s",
        selector->terms[0].text, intervals ? "between=FROM-TO" : selector->terms[0].text);
}

int wp_selector_parse(struct wp_selector *selector, const char *text, struct wp_error *err)
{
    *selector = (struct wp_selector){0};
    for (const char *at = text;; at++) {
        int rc;
        char *copy = NULL;
        if (selector->count == WP_SELECTOR_TERMS)
            rc = wp_error_set(err, -E2BIG, "more than %d terms", WP_SELECTOR_TERMS);
        else if (!(copy = copy_term(at, &at)))
            rc = wp_error_set(err, -ENOMEM, "out of memory");
        else
            rc = parse_term(selector, copy, err);
        if (!rc && !*at && !(rc = check_whole(selector, err)))
            return 0;
        if (rc) {
            wp_selector_fini(selector);
            return wp_error_wrap(err, rc, "bad selector '%.200s'", text);
        }
    }
}

static bool under(const char *path, const char *folder)
{
    size_t size = strlen(folder);
    while (size && folder[size - 1] == '/')
        size--;
    return !strncmp(path, folder, size) && (!path[size] || path[size] == '/');
}

static bool unit_is(const char *cgroup, const char *unit)
{
    size_t size = strlen(unit);
    for (const char *part = strchr(cgroup, '/'); part; part = strchr(part + 1, '/'))
        if (!strncmp(part + 1, unit, size) && (!part[1 + size] || part[1 + size] == '/'))
            return true;
    return false;
}

static bool container_is(const char *cgroup, const struct wp_selector_term *term)
{
    struct wp_cgroup_path parsed;
    wp_cgroup_path_parse(&parsed, cgroup);
    return term->field == WP_SELECT_POD ? wp_cgroup_path_in_pod(&parsed, term->text)
                                        : wp_cgroup_path_in_container(&parsed, term->text);
}

/* Names: of "shop/web-7d9f/app" the container is "app", the pod "web-7d9f" or "shop/web-7d9f", the namespace "shop". */
static bool workload_is(const char *workload, const struct wp_selector_term *term)
{
    const char *pod = strchr(workload, '/'), *container = pod ? strchr(pod + 1, '/') : NULL;
    size_t size = strlen(term->text);
    if (!container)
        return term->field == WP_SELECT_CONTAINER && *workload && !strcmp(workload, term->text);
    if (term->field == WP_SELECT_CONTAINER)
        return *term->text && !strcmp(container + 1, term->text);
    if (term->field == WP_SELECT_NAMESPACE)
        return size == (size_t)(pod - workload) && !strncmp(workload, term->text, size);
    const char *from = strchr(term->text, '/') ? workload : pod + 1;
    return size == (size_t)(container - from) && !strncmp(from, term->text, size);
}

static bool term_matches(const struct wp_selector_term *term, const struct wp_selector_subject *subject)
{
    switch (term->field) {
    case WP_SELECT_COMM:
        return !strcmp(subject->comm, term->text) ||
            (subject->process_comm && !strcmp(subject->process_comm, term->text));
    case WP_SELECT_THREAD:
        return !strcmp(subject->comm, term->text);
    case WP_SELECT_TID:
        return is_one_of(term, subject->tid);
    case WP_SELECT_VIEW:
    case WP_SELECT_BETWEEN:
        return true;
    case WP_SELECT_EXE:
        return !strcmp(subject->exe, term->text);
    case WP_SELECT_CGROUP:
        return under(subject->cgroup, term->text);
    case WP_SELECT_UNIT:
        return unit_is(subject->cgroup, term->text);
    case WP_SELECT_CONTAINER:
    case WP_SELECT_POD:
        return container_is(subject->cgroup, term) || (subject->workload && workload_is(subject->workload, term));
    case WP_SELECT_NAMESPACE:
        return subject->workload && workload_is(subject->workload, term);
    case WP_SELECT_PID:
        return is_one_of(term, subject->pid);
    case WP_SELECT_CMDLINE:
        return subject->cmdline_matches && subject->cmdline_matches(subject->context, term->text);
    case WP_SELECT_COMMAND:
        return subject->is_command;
    }
    return false;
}

enum wp_selector_view wp_selector_view(const struct wp_selector *selector)
{
    enum wp_selector_view view = WP_VIEW_BUSY;
    for (unsigned i = 0; i < selector->count; i++) {
        const struct wp_selector_term *term = &selector->terms[i];
        if (term->field == WP_SELECT_VIEW)
            return (enum wp_selector_view)view_of(term->text);
        if (term->field == WP_SELECT_THREAD || term->field == WP_SELECT_TID)
            return WP_VIEW_THREADS;
        if (term->field == WP_SELECT_COMMAND)
            view = WP_VIEW_PROGRESS;
    }
    return view;
}

struct wp_selector_interval wp_selector_interval(const struct wp_selector *selector)
{
    for (unsigned i = 0; i < selector->count; i++)
        if (selector->terms[i].field == WP_SELECT_BETWEEN)
            return selector->terms[i].interval;
    return (struct wp_selector_interval){0, UINT64_MAX};
}

bool wp_selector_matches(const struct wp_selector *selector, const struct wp_selector_subject *subject)
{
    for (unsigned i = 0; i < selector->count; i++)
        if (!term_matches(&selector->terms[i], subject))
            return false;
    return has_condition(selector);
}
