/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SYMBOLIZER_H
#define WP_COLLECTOR_SYMBOLIZER_H
/* Names for addresses. Each object's table is read once, when it is first needed. */
#include "collector/address_space.h"

struct wp_symbolizer;

struct wp_frame_name {
    const char *function;  /* "" unknown */
    const char *object;    /* a file, "[kernel]", "[module]", "[vdso]", "[jit]" */
    const uint8_t *build_id;
    uint32_t build_id_size;
    uint64_t offset;       /* of the address: in the file, from _text, or (modules) from the function */
    bool is_kernel;
};

struct wp_symbolizer *wp_symbolizer_create(void);
void wp_symbolizer_destroy(struct wp_symbolizer *symbolizer);
/* Reads the kernel's names now rather than when the first is asked for. */
void wp_symbolizer_prepare(struct wp_symbolizer *symbolizer);
/* A return address belongs to the call before it. Texts are valid until the next call. -ENOENT: in no mapping. */
int wp_symbolizer_user(struct wp_symbolizer *symbolizer, const struct wp_address_spaces *spaces, uint32_t pid,
    uint64_t address, bool is_return, struct wp_frame_name *name);
/* Never fails: a frame without a name is one too. */
int wp_symbolizer_kernel(struct wp_symbolizer *symbolizer, uint64_t address, bool is_return, struct wp_frame_name *name);

#endif
