/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/perl_file.h"

#include "collector/interp/code_part.h"
#include "collector/interp/interp_image.h"

#include <errno.h>

#define LOOP "Perl_runops_standard"

enum { LOOP_FUNCTION, MAJOR, MINOR, KEY, EVAL, COLD, WANTED };

static const char *const names[WANTED] = {[LOOP_FUNCTION] = LOOP,
    [MAJOR] = "PL_revision",
    [MINOR] = "PL_version",
    [KEY] = "PL_thr_key",
    [EVAL] = "Perl_pp_entertry",
    [COLD] = LOOP ".cold"};

/* intrpvar.h. */
static const struct wp_perl_offsets perl_5_36 = {.place = 0xd0, .stack = 0xe0};

const struct wp_perl_offsets *wp_perl_offsets(uint32_t version)
{
    return version == WP_INTERP_VERSION(WP_INTERP_PERL, 5, 36) ? &perl_5_36 : NULL;
}

static uint32_t version_of(const struct wp_elf_file *file, const struct wp_interp_symbol *found)
{
    uint8_t major = 0, minor = 0;
    if (!wp_interp_image_bytes(file, found[MAJOR].address, &major, 1) ||
        !wp_interp_image_bytes(file, found[MINOR].address, &minor, 1))
        major = minor = 0;
    return WP_INTERP_VERSION(WP_INTERP_PERL, major, minor);
}

int wp_perl_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    const struct wp_interp_symbol *loop = &found[LOOP_FUNCTION];
    struct wp_code_part docatch;
    uint64_t shift;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 1}, found);
    if (!loop->size || !found[MINOR].address || !wp_interp_image_shift(file, loop->address, &shift))
        return wp_error_set(err, -ENOENT, "no Perl interpreter");
    *version = version_of(file, found);
    const struct wp_perl_offsets *known = wp_perl_offsets(*version);
    if (!known || !found[KEY].address || !wp_code_part_tail(file, found[EVAL].address, found[EVAL].size, &docatch))
        return wp_error_set(
            err, -ENOTSUP, "Perl %u.%u, or this build of it, is not known", *version >> 8 & 0xff, *version & 0xff);
    *out = (struct wp_interp_file){.runtime = found[KEY].address + shift,
        .inner = docatch.start + shift,
        .inner_end = docatch.end + shift,
        .perl = *known,
        .version = *version};
    wp_interp_image_loop(file, loop, &found[COLD], shift, out);
    return 0;
}
