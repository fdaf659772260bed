/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_V8_BYTECODES_H
#define WP_COLLECTOR_INTERP_V8_BYTECODES_H
/* How many bytes each bytecode of a V8 has with its operands (Bytecodes::kBytecodeSizes, interpreter/bytecodes.cc). */
#include <stdint.h>

struct wp_v8_bytecodes {
    const uint8_t *sizes; /* with operands of one byte; a third further of two, then of four */
    uint32_t count;       /* of all three */
    uint32_t version;     /* WP_INTERP_VERSION */
};

/* Of the versions that wp_v8_offsets knows; NULL: of none of them. */
const struct wp_v8_bytecodes *wp_v8_bytecodes(uint32_t version);

#endif
