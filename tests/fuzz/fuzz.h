/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_FUZZ_H
#define WP_TESTS_FUZZ_H
#include <stddef.h>
#include <stdint.h>

/* What libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#ifdef WP_LIBFUZZER
/* A target's own way of changing an input, for formats with check sums that chance never finds; and what libFuzzer does
 * by itself. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
#endif

#endif
