/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_CODE_EXTENT_H
#define WP_COLLECTOR_ELF_CODE_EXTENT_H
/*
 * Where a function of x86-64 ends whose symbol has no size, as hand-written code often has. In a stripped file the
 * symbols behind it are gone, and without an end it would lend them its name: musl's memset, say, to all calls that may
 * sleep.
 */
#include <stddef.h>
#include <stdint.h>

#define WP_CODE_EXTENT_BYTES ((size_t)64 << 10) /* looked at, at most */

/* Bytes of the function that begins at `code`; 0: it cannot be told. */
size_t wp_code_extent(const uint8_t *code, size_t size);

#endif
