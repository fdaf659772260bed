/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_FUZZ_H
#define WP_TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif
