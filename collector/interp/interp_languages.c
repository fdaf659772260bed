/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_languages.h"

#include "collector/interp/java_file.h"
#include "collector/interp/java_lines.h"
#include "collector/interp/java_names.h"
#include "collector/interp/own_lines.h"
#include "collector/interp/perl_file.h"
#include "collector/interp/php_file.h"
#include "collector/interp/python_file.h"
#include "collector/interp/python_lines.h"
#include "collector/interp/ruby_file.h"
#include "collector/interp/ruby_lines.h"

#include <errno.h>

static const struct wp_interp_language languages[WP_INTERP_LANGUAGES] = {
    [WP_INTERP_PYTHON] = {"python", wp_python_file_read, wp_python_line, true, WP_INTERP_NO_PART, NULL, NULL},
    [WP_INTERP_RUBY] = {"ruby", wp_ruby_file_read, wp_ruby_line, true, WP_INTERP_INNER, NULL, NULL},
    [WP_INTERP_PHP] = {"php", wp_php_file_read, wp_own_line, false, WP_INTERP_NO_PART, "{main}", NULL},
    [WP_INTERP_PERL] = {"perl", wp_perl_file_read, wp_own_line, false, WP_INTERP_AGAIN, "{main}", NULL},
    [WP_INTERP_JAVA] = {"java", wp_java_file_read, wp_java_line, false, WP_INTERP_NO_PART, NULL, wp_java_names_put},
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
