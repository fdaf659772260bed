/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/output.h"

#include "common/path.h"
#include "common/standard_output.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_stream(FILE *stream, const char *name, const struct wp_buffer *content, struct wp_error *err)
{
    if (fwrite(content->data, 1, content->size, stream) == content->size && !fflush(stream))
        return 0;
    int rc = wp_error_errno(err, -errno, "cannot write to %s", name);
    wp_standard_output_drop(stream);
    return rc;
}

/* A pipe or a device stays what it is: nothing is renamed onto it. */
static int write_special(const char *path, const struct wp_buffer *content, struct wp_error *err)
{
    FILE *stream = fopen(path, "we");
    if (!stream)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    int rc = write_stream(stream, path, content, err);
    if (fclose(stream) && !rc)
        rc = wp_error_errno(err, -errno, "cannot write '%s'", path);
    return rc;
}

int wp_output_write(const char *path, const struct wp_buffer *content, bool is_binary, struct wp_error *err)
{
    struct stat st;
    if (path && !stat(path, &st) && !S_ISREG(st.st_mode))
        return write_special(path, content, err);
    if (path)
        return wp_file_write_atomic(path, content->data, content->size, err);
    if (is_binary && isatty(STDOUT_FILENO))
        return wp_error_set(
            err, -EINVAL, "these bytes are not for a terminal: give --out FILE, or send them somewhere");
    return write_stream(stdout, "standard output", content, err);
}
