/* SPDX-License-Identifier: Apache-2.0 */
/* What physical lines are called: directives of the C preprocessor and of Perl count, comments of scripts do not. */
#include "reporter/source/source_physical.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void line_numbers(void **state)
{
    static const struct {
        const char *path, *text;
        uint32_t third; /* what the third line is called */
        bool has_directives;
    } rows[] = {{"/src/parser.c", "int a;\n#line 40 \"/src/parser.c\"\nint b;\n", 40, true},
        {"/src/parser.c", "int a;\n# 40 \"/src/parser.c\" 2\nint b;\n", 40, true},
        {"/src/parser.c", "int a;\n#line 40\nint b;\n", 40, true},
        {"/src/parser.c", "int a;\n# 40 things\nint b;\n", 3, false},
        {"/src/shop.py", "a()\n# 12 things to do\nb()\n", 3, false}, {"/src/shop.py", "a()\n# 12\nb()\n", 3, false},
        {"/src/shop.rb", "a\n#line 12\nb\n", 3, false}, {"/src/shop.pl", "a();\n# line 12\nb();\n", 12, true},
        {"/src/shop.pl", "a();\n# 12\nb();\n", 3, false},
        {"/src/shop.pl", "a();\n# line 12 is long\nb();\n", 3, false}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_source_file file = {.path = rows[i].path};
        struct wp_source_lines lines = {.files = &file, .file_count = 1};
        struct wp_source_physical physical;
        struct wp_pool pool = {0};
        wp_source_physical_build(&physical, &pool, &lines, 0, rows[i].text, strlen(rows[i].text));
        if (physical.count != 3 || physical.logical[2].line != rows[i].third ||
            physical.has_directives != rows[i].has_directives)
            fail_msg("%s", rows[i].text);
        wp_pool_fini(&pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(line_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
