/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/view/busiest.h"

#include "cli/base/own_store.h"
#include "common/buffer.h"
#include "common/clock.h"
#include "common/path.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SUMMARY_LIMIT (64u << 20)
#define LEAST_NS (20 * WP_NS_PER_MS)

static uint64_t number_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    return json_object_object_get_ex(object, key, &value) ? json_object_get_uint64(value) : 0;
}

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value;
    const char *text = json_object_object_get_ex(object, key, &value) ? json_object_get_string(value) : NULL;
    return text ? text : "";
}

/* A PID has a row for each program that it ran, and one page: the larger row stands for it. False: it is there. */
static bool is_larger(struct wp_own_page pages[WP_BUSIEST], uint64_t ns[WP_BUSIEST], unsigned *count,
    const struct wp_own_page *page, uint64_t own_ns)
{
    unsigned at = 0;
    while (at < *count && pages[at].id != page->id)
        at++;
    if (at == *count)
        return true;
    if (ns[at] >= own_ns)
        return false;
    for ((*count)--; at < *count; at++) {
        pages[at] = pages[at + 1];
        ns[at] = ns[at + 1];
    }
    return true;
}

/* Keeps them sorted, the largest first. */
static void insert(struct wp_own_page pages[WP_BUSIEST], uint64_t ns[WP_BUSIEST], unsigned *count,
    const struct wp_own_page *page, uint64_t own_ns)
{
    unsigned at = *count;
    while (at && own_ns > ns[at - 1])
        at--;
    if (at == WP_BUSIEST)
        return;
    *count += *count < WP_BUSIEST;
    for (unsigned i = *count - 1; i > at; i--) {
        pages[i] = pages[i - 1];
        ns[i] = ns[i - 1];
    }
    pages[at] = *page;
    ns[at] = own_ns;
}

static void choose(struct json_object *root, uint32_t base, struct wp_own_page pages[WP_BUSIEST], unsigned *count)
{
    struct json_object *rows;
    uint64_t total = number_of(root, "total_ns"), ns[WP_BUSIEST];
    if (!json_object_object_get_ex(root, "processes", &rows) || !json_object_is_type(rows, json_type_array))
        return;
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        struct json_object *row = json_object_array_get_idx(rows, i);
        struct wp_own_page page = {.id = (uint32_t)number_of(row, "pid")};
        uint64_t own_ns = number_of(row, "total_ns");
        if (!page.id || page.id == base || own_ns < LEAST_NS || own_ns < total / 100)
            continue;
        snprintf(page.name, sizeof(page.name), "%.31s", text_of(row, "comm"));
        if (is_larger(pages, ns, count, &page, own_ns))
            insert(pages, ns, count, &page, own_ns);
    }
}

int wp_busiest_choose(
    const char *summary, uint32_t base, struct wp_own_page pages[WP_BUSIEST], unsigned *count, struct wp_error *err)
{
    struct wp_buffer text = {0};
    *count = 0;
    int rc = wp_file_read(summary, SUMMARY_LIMIT, &text, err);
    if (!rc && wp_buffer_putc(&text, 0))
        rc = wp_error_set(err, -ENOMEM, "out of memory for '%s'", summary);
    struct json_object *root = rc ? NULL : json_tokener_parse((const char *)text.data);
    if (json_object_is_type(root, json_type_object))
        choose(root, base, pages, count);
    json_object_put(root);
    wp_buffer_fini(&text);
    return rc;
}

int wp_busiest_list(
    const char *folder, const struct wp_own_page *pages, unsigned count, unsigned *listed, struct wp_error *err)
{
    char file[WP_OWN_NAME], key[WP_OWN_NAME], path[PATH_MAX];
    struct wp_buffer list = {0};
    *listed = 0;
    wp_buffer_puts(&list, "window.wakepath.payloads.own = [");
    for (unsigned i = 0; i < count; i++) {
        wp_own_page_file(&pages[i], file);
        snprintf(path, sizeof(path), "%.*s/%s", PATH_MAX - 128, folder, file);
        if (access(path, R_OK))
            continue;
        wp_own_page_key(&pages[i], key);
        wp_buffer_printf(&list, "%s\"%s\"", (*listed)++ ? ", " : "", key);
    }
    wp_buffer_puts(&list, "];\n");
    snprintf(path, sizeof(path), "%.*s/" WP_OWN_LIST, PATH_MAX - 64, folder);
    int rc = list.failed ? wp_error_set(err, -ENOMEM, "out of memory for a list")
                         : wp_file_write_cached(path, list.data, list.size, err);
    wp_buffer_fini(&list);
    return rc;
}
