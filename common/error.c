/* SPDX-License-Identifier: Apache-2.0 */
#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_text(struct wp_error *err, int code, const char *format, va_list args)
{
    err->code = code;
    vsnprintf(err->text, sizeof(err->text), format, args);
}

int(wp_error_set)(struct wp_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_text(err, code, format, args);
        va_end(args);
    }
    return code;
}

int(wp_error_errno)(struct wp_error *err, int code, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        set_text(err, code, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof(err->text) - used, ": %s", strerror(-code));
    }
    return code;
}

int wp_error_wrap(struct wp_error *err, int code, const char *format, ...)
{
    if (err) {
        char inner[WP_ERROR_TEXT];
        memcpy(inner, err->text, sizeof(inner));
        va_list args;
        va_start(args, format);
        set_text(err, code, format, args);
        va_end(args);
        size_t used = strlen(err->text);
        snprintf(err->text + used, sizeof(err->text) - used, ": %s", inner);
    }
    return code;
}
