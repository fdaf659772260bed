/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/python_file.h"

#include "collector/interp/asyncio_file.h"
#include "collector/interp/interp_image.h"
#include "collector/interp/python_offsets.h"

#include <errno.h>

#define LOOP "_PyEval_EvalFrameDefault"
#define LOOP_BYTES                                                                                                     \
    16384u /* that has all instructions; they may be functions apart since 3.14 (--with-tail-call-interp) */

enum { RUNTIME, CODE_TYPE, LOOP_FUNCTION, VERSION, SINCE_3_9, SINCE_3_10, COLD, WANTED };

static const char *const names[WANTED] = {[RUNTIME] = "_PyRuntime",
    [CODE_TYPE] = "PyCode_Type",
    [LOOP_FUNCTION] = LOOP,
    [VERSION] = "Py_Version",
    [SINCE_3_9] = "PyFrame_GetBack",
    [SINCE_3_10] = "Py_NewRef",
    [COLD] = LOOP ".cold"};

/* 3.11 and later say it; before that by what each version brought. 0: older. */
static uint32_t version_of(const struct wp_elf_file *file, const struct wp_interp_symbol *found)
{
    uint64_t hex;
    if (found[VERSION].address)
        return wp_interp_image_bytes(file, found[VERSION].address, &hex, sizeof(hex)) ? (uint32_t)(hex >> 16) & 0xffff
                                                                                      : 0;
    return found[SINCE_3_10].address ? 0x030a : found[SINCE_3_9].address ? 0x0309 : 0;
}

static int find_offsets(const struct wp_elf_file *file, const struct wp_interp_symbol *found,
    struct wp_interp_file *out, struct wp_error *err)
{
    uint8_t own[WP_PYTHON_OWN_OFFSETS];
    const struct wp_interp_offsets *known = wp_python_offsets(out->version);
    if (known) {
        out->at = *known;
        return 0;
    }
    if (out->version > 0x030c && wp_interp_image_bytes(file, found[RUNTIME].address, own, sizeof(own)) &&
        wp_python_offsets_read(own, sizeof(own), &out->at, &out->version))
        return 0;
    return wp_error_set(
        err, -ENOTSUP, "CPython %u.%u, or this build of it, is not known", out->version >> 8, out->version & 0xff);
}

int wp_python_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    struct wp_interp_symbol found[WANTED];
    uint64_t shift;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 1}, found);
    if (!found[RUNTIME].address || !found[CODE_TYPE].address || !found[LOOP_FUNCTION].size ||
        !wp_interp_image_shift(file, found[LOOP_FUNCTION].address, &shift))
        return wp_asyncio_file_read(file, out, version, err);
    *out = (struct wp_interp_file){.version = version_of(file, found)};
    int rc = find_offsets(file, found, out, err);
    *version = out->version;
    if (rc)
        return rc;
    out->runtime = found[RUNTIME].address + shift;
    out->code_type = found[CODE_TYPE].address + shift;
    wp_interp_image_loop(file, &found[LOOP_FUNCTION], &found[COLD], shift, out);
    if (*version >= 0x030e && out->loop_end - out->loop + out->cold_end - out->cold < LOOP_BYTES)
        return wp_error_set(err, -ENOTSUP, "CPython %u.%u that has a function for each instruction is not known",
            *version >> 8, *version & 0xff);
    return 0;
}
