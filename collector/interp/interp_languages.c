/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_languages.h"

#include "collector/interp/go_file.h"
#include "collector/interp/java_file.h"
#include "collector/interp/java_lines.h"
#include "collector/interp/java_names.h"
#include "collector/interp/own_lines.h"
#include "collector/interp/perl_file.h"
#include "collector/interp/php_file.h"
#include "collector/interp/python_file.h"
#include "collector/interp/python_lines.h"
#include "collector/interp/python_names.h"
#include "collector/interp/ruby_file.h"
#include "collector/interp/ruby_lines.h"
#include "collector/interp/v8_file.h"
#include "collector/interp/v8_lines.h"

#include <errno.h>

static const struct wp_interp_language languages[WP_INTERP_LANGUAGES] = {
    [WP_INTERP_PYTHON] = {.name = "python",
        .read_file = wp_python_file_read,
        .line = wp_python_line,
        .put_texts = wp_python_names_put,
        .has_tables = true},
    [WP_INTERP_RUBY] = {.name = "ruby",
        .read_file = wp_ruby_file_read,
        .line = wp_ruby_line,
        .has_tables = true,
        .inner = WP_INTERP_INNER},
    [WP_INTERP_PHP] = {.name = "php", .read_file = wp_php_file_read, .line = wp_own_line, .unnamed = "{main}"},
    [WP_INTERP_PERL] = {.name = "perl",
        .read_file = wp_perl_file_read,
        .line = wp_own_line,
        .inner = WP_INTERP_AGAIN,
        .unnamed = "{main}"},
    [WP_INTERP_JAVA] = {.name = "java",
        .read_file = wp_java_file_read,
        .line = wp_java_line,
        .put_texts = wp_java_names_put},
    [WP_INTERP_V8] = {.name = "v8",
        .read_file = wp_v8_file_read,
        .put_texts = wp_v8_texts_put,
        .put_table = wp_v8_table_put},
    [WP_INTERP_GO] = {.name = "go", .read_file = wp_go_file_read, .line = wp_own_line},
};

const struct wp_interp_language *wp_interp_language(uint32_t version)
{
    uint32_t language = WP_INTERP_LANGUAGE(version);
    return &languages[language < WP_INTERP_LANGUAGES ? language : 0];
}

int wp_interp_languages_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    int rc = -ENOENT;
    for (uint32_t i = 0; i < WP_INTERP_LANGUAGES && rc == -ENOENT; i++) {
        *version = WP_INTERP_VERSION(i, 0, 0);
        rc = languages[i].read_file(file, out, version, err);
    }
    return rc;
}
