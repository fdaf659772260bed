/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_system.h"

#include "common/buffer.h"
#include "common/path.h"
#include "reporter/display/page_id.h"
#include "reporter/window/window_data.h"
#include "reporter/window/window_fit.h"
#include "storage/report/trace_decode.h"

#include <errno.h>

#define FILE_BYTES (256u << 20)

static int read_window(const char *path, struct wp_trace **trace, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = wp_file_read(path, FILE_BYTES, &bytes, err);
    if (!rc)
        rc = wp_trace_decode(trace, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    return rc;
}

bool wp_site_system_put(struct wp_site_files *files, const struct wp_site_options *options, const char *release)
{
    const char *path = options->system_window;
    struct wp_trace *trace = NULL;
    struct wp_buffer content = {0}, name = {0};
    struct wp_error err = {0};
    int rc = path ? read_window(path, &trace, &err) : -ENOENT;
    if (!rc)
        rc = wp_window_fit(&trace, WP_SYSTEM_BYTES, &err);
    if (!rc)
        rc = wp_window_data(&content, trace, "system", &err);
    wp_page_id_folder(&name, release);
    wp_buffer_puts(&name, "/system-data.js");
    if (!rc)
        rc =
            name.failed ? -ENOMEM : wp_site_files_put(files, (const char *)name.data, content.data, content.size, &err);
    files->failed += rc && rc != -ENOENT;
    wp_trace_destroy(trace);
    wp_buffer_fini(&content);
    wp_buffer_fini(&name);
    return !rc;
}
