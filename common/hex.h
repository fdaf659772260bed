/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_HEX_H
#define WP_COMMON_HEX_H
/* Bytes as hexadecimal digits: digests and build ids, of which a commit names thousands. */
#include <stddef.h>
#include <stdint.h>

/* Two digits a byte, a to f in lower case, and a terminator: `text` has room for 2 * size + 1. */
void wp_hex(char *text, const uint8_t *bytes, size_t size);

#endif
