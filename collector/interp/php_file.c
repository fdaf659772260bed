/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/php_file.h"

#include "collector/interp/interp_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LOOP "execute_ex"
#define RODATA_BYTES ((size_t)64 << 20)
#define INNERMOST 488u /* in executor_globals: current_execute_data */

enum { LOOP_FUNCTION, GLOBALS, COLD, WANTED };

static const char *const names[WANTED] = {
    [LOOP_FUNCTION] = LOOP, [GLOBALS] = "executor_globals", [COLD] = LOOP ".cold"};

/* Zend/zend_compile.h. */
static const struct wp_php_offsets php_8_2 = {.file = 152, .first_line = 160},
                                   php_8_4 = {.file = 168, .first_line = 176};

const struct wp_php_offsets *wp_php_offsets(uint32_t version)
{
    switch (version) {
    case WP_INTERP_VERSION(WP_INTERP_PHP, 8, 2):
        return &php_8_2;
    case WP_INTERP_VERSION(WP_INTERP_PHP, 8, 4):
        return &php_8_4;
    default:
        return NULL;
    }
}

/* No symbol says it, but the header that it puts into each answer does. */
static uint32_t version_of(const struct wp_elf_file *file)
{
    static const char sign[] = "X-Powered-By: PHP/";
    const size_t size = sizeof(sign) - 1;
    GElf_Shdr header;
    const Elf_Data *data = wp_elf_file_section(file, ".rodata", RODATA_BYTES, &header);
    const char *at = data && data->d_buf ? memmem(data->d_buf, data->d_size, sign, size) : NULL;
    char text[8] = "", *end;
    unsigned long minor = 0;
    if (!at || (const char *)data->d_buf + data->d_size - at < (ptrdiff_t)(size + 5))
        return WP_INTERP_VERSION(WP_INTERP_PHP, 0, 0);
    memcpy(text, at + size, 5);
    unsigned long major = strtoul(text, &end, 10);
    if (*end == '.')
        minor = strtoul(end + 1, NULL, 10);
    return WP_INTERP_VERSION(WP_INTERP_PHP, major & 255, minor & 255);
}

int wp_php_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    const struct wp_interp_symbol *loop = &found[LOOP_FUNCTION];
    uint64_t shift;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 1}, found);
    uint32_t is = loop->size ? version_of(file) : 0;
    if (!(is & 0xffff) || !wp_interp_image_shift(file, loop->address, &shift))
        return wp_error_set(err, -ENOENT, "no PHP interpreter");
    *version = is;
    const struct wp_php_offsets *known = wp_php_offsets(is);
    if (!known || !found[GLOBALS].address)
        return wp_error_set(err, -ENOTSUP, "PHP %u.%u, or this build of it, is not known", is >> 8 & 0xff, is & 0xff);
    *out = (struct wp_interp_file){.runtime = found[GLOBALS].address + INNERMOST + shift, .php = *known, .version = is};
    wp_interp_image_loop(file, loop, &found[COLD], shift, out);
    return 0;
}
