/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/perl_file.h"

#include "collector/interp/code_part.h"
#include "collector/interp/interp_image.h"

#include <errno.h>
#include <string.h>

#define LOOP "Perl_runops_standard"
#define TRY "entertry"
#define OPERATIONS 512u /* of the language */

enum { LOOP_FUNCTION, MAJOR, MINOR, KEY, EVAL, OPERATION_NAMES, OPERATION_CODE, COLD, WANTED };

static const char *const names[WANTED] = {[LOOP_FUNCTION] = LOOP,
    [MAJOR] = "PL_revision",
    [MINOR] = "PL_version",
    [KEY] = "PL_thr_key",
    [EVAL] = "Perl_pp_" TRY,
    [OPERATION_NAMES] = "PL_op_name",
    [OPERATION_CODE] = "PL_ppaddr",
    [COLD] = LOOP ".cold"};

/* intrpvar.h; the same in all of them. */
static const struct wp_perl_offsets perl_5_36 = {.place = 0xd0, .stack = 0xe0};

const struct wp_perl_offsets *wp_perl_offsets(uint32_t version)
{
    switch (version) {
    case WP_INTERP_VERSION(WP_INTERP_PERL, 5, 36):
    case WP_INTERP_VERSION(WP_INTERP_PERL, 5, 38): /* not tried: the releases on both sides are alike */
    case WP_INTERP_VERSION(WP_INTERP_PERL, 5, 40):
    case WP_INTERP_VERSION(WP_INTERP_PERL, 5, 42):
        return &perl_5_36;
    default:
        return NULL;
    }
}

/* The function that begins an eval {}: 5.40 does not export it, but has it in a table; 0: it is nowhere. */
static uint64_t find_try(const struct wp_elf_file *file, const struct wp_interp_symbol *found)
{
    uint64_t texts[OPERATIONS], code[OPERATIONS];
    char text[sizeof(TRY)];
    if (found[EVAL].address || !found[OPERATION_NAMES].address || !found[OPERATION_CODE].address)
        return found[EVAL].address;
    wp_interp_image_pointers(file, found[OPERATION_NAMES].address, texts, OPERATIONS);
    wp_interp_image_pointers(file, found[OPERATION_CODE].address, code, OPERATIONS);
    for (unsigned i = 0; i < OPERATIONS; i++)
        if (texts[i] && wp_interp_image_bytes(file, texts[i], text, sizeof(text)) && !memcmp(text, TRY, sizeof(text)))
            return code[i];
    return 0;
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
    if (!known || !found[KEY].address || !wp_code_part_given(file, find_try(file, found), &docatch))
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
