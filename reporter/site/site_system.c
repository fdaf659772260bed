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

int wp_site_system_read(const char *path, size_t bytes, struct wp_trace **trace, struct wp_error *err)
{
    *trace = NULL;
    int rc = read_window(path, trace, err);
    if (!rc)
        rc = wp_window_fit(trace, bytes, err);
    if (!rc)
        return 0;
    wp_trace_destroy(*trace);
    *trace = NULL;
    return rc;
}

static int put(struct wp_site_files *files, const struct wp_trace *trace, const char *release, struct wp_error *err)
{
    struct wp_buffer content = {0}, name = {0};
    int rc = wp_window_data(&content, trace, "system", err);
    wp_page_id_folder(&name, release);
    wp_buffer_puts(&name, "/system-data.js");
    if (!rc)
        rc = name.failed ? -ENOMEM : wp_site_files_put(files, (const char *)name.data, content.data, content.size, err);
    wp_buffer_fini(&content);
    wp_buffer_fini(&name);
    return rc;
}

int wp_site_system_put(struct wp_site_files *files, const struct wp_site_options *options, const char *release,
    bool *is_put, struct wp_error *err)
{
    const char *path = options->system_window;
    struct wp_trace *trace = NULL;
    struct wp_error reason = {0};
    *is_put = false;
    if (!path)
        return 0;
    int rc = wp_site_system_read(path, WP_SYSTEM_BYTES, &trace, &reason);
    if (rc == -ENOENT) /* it was asked for: a wrong name, and nothing that another run would mend */
        return wp_error_set(err, rc, "%s", reason.text);
    if (!rc)
        rc = put(files, trace, release, &reason);
    files->failed += rc != 0;
    *is_put = !rc;
    wp_trace_destroy(trace);
    return 0;
}
