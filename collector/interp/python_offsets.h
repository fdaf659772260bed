/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PYTHON_OFFSETS_H
#define WP_COLLECTOR_INTERP_PYTHON_OFFSETS_H
/* Offsets in CPython's structs by version (x86-64 and arm64 alike: what comes before them are words). */
#include "collector/bpf/interp_row.h"

#include <stdbool.h>
#include <stddef.h>

#define WP_PYTHON_OWN_OFFSETS 696u /* bytes of _Py_DebugOffsets in 3.14 that are read */

/* Of 3.9 to 3.12; NULL: not of that version. */
const struct wp_interp_offsets *wp_python_offsets(uint32_t version);
/* What an interpreter says itself, from 3.13 on: the beginning of _PyRuntime. False: another version than 3.13 or
 * 3.14, one without a global lock, or nonsense; *version is filled in if it is there. */
bool wp_python_offsets_read(const uint8_t *bytes, size_t size, struct wp_interp_offsets *at, uint32_t *version);

#endif
