/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_files.h"

#include "reporter/base/gzip.h"
#include "reporter/html/format_html.h"
#include "reporter/site/assets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

#define WORTH_GZIP 1024u /* bytes */

static int put_gzip(struct wp_site_files *files, const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    struct wp_buffer packed = {0};
    char name[PATH_MAX];
    int rc = (size_t)snprintf(name, sizeof(name), "%s.gz", path) < sizeof(name)
        ? wp_gzip(&packed, bytes, size, err)
        : wp_error_set(err, -ENAMETOOLONG, "'%.200s' is too long a name", path);
    if (!rc)
        rc = wp_tree_write(files->tree, name, packed.data, packed.size, err);
    wp_buffer_fini(&packed);
    return rc;
}

int wp_site_files_put(
    struct wp_site_files *files, const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    int rc = wp_tree_write(files->tree, path, bytes, size, err);
    return !rc && files->is_gzipped && size >= WORTH_GZIP ? put_gzip(files, path, bytes, size, err) : rc;
}

static int put_display(struct wp_site_files *files, const struct wp_display *display, struct wp_error *err)
{
    struct wp_buffer path = {0}, html = {0};
    wp_page_id_path_part(&path, &display->page_id, display->part);
    int rc = path.failed ? wp_error_set(err, -ENOMEM, "out of memory") : wp_format_html(&html, display, err);
    if (!rc)
        rc = wp_site_files_put(files, (const char *)path.data, html.data, html.size, err);
    wp_buffer_fini(&path);
    wp_buffer_fini(&html);
    return rc;
}

int wp_site_files_put_page(struct wp_site_files *files, const struct wp_display *display, int rc,
    const struct wp_error *reason, struct wp_error *err)
{
    if (!rc)
        return put_display(files, display, err);
    struct wp_display instead;
    wp_display_init(&instead, &display->page_id);
    instead.part = display->part;
    instead.title = wp_page_title(display->page_id.page);
    instead.tab_release = display->tab_release;
    instead.tab_aggregate = display->tab_aggregate;
    instead.tab_compare = display->tab_compare;
    wp_display_add(&instead, WP_ITEM_NOTICE,
        wp_pool_printf(&instead.pool,
            "This page could not be made: %s. The other pages do not "
            "rest on it. It is tried again the next time.",
            *reason->text ? reason->text : "the reason is not known"));
    files->failed++;
    rc = put_display(files, &instead, err);
    wp_display_fini(&instead);
    return rc;
}

int wp_site_files_put_assets(struct wp_site_files *files, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < wp_asset_count && !rc; i++) {
        char path[256];
        snprintf(path, sizeof(path), "assets/%s", wp_assets[i].name);
        rc = wp_site_files_put(files, path, wp_assets[i].bytes, wp_assets[i].size, err);
    }
    return rc;
}
