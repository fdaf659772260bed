/* SPDX-License-Identifier: Apache-2.0 */
/* Frames one behind the other, as in a capture. Three of four inputs get sound check sums, or nothing behind those
 * would be reached. */
#include "fuzz.h"

#include "proto/frame.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SIZE_AT 12u
#define SUM_AT 16u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct wp_frame_reader *reader; /* for all inputs, as one reads all of a peer's */
    struct wp_frame frame;
    struct wp_error err = {0};
    size_t at = 0;
    if (!reader && !(reader = wp_frame_reader_create()))
        abort();
    while (at < size && !wp_frame_read(reader, bytes + at, size - at, &frame, &err)) {
        if (!frame.consumed || frame.consumed > size - at)
            abort();
        at += frame.consumed;
    }
    if (at < size && !*err.text)
        abort(); /* refused without a reason */
    return 0;
}

#ifdef WP_LIBFUZZER
static void seal(uint8_t *bytes, size_t size)
{
    for (size_t at = 0; size - at >= WP_FRAME_HEADER;) {
        uint32_t payload;
        size_t left = size - at - WP_FRAME_HEADER;
        memcpy(&payload, bytes + at + SIZE_AT, sizeof(payload));
        payload = le32toh(payload) < left ? le32toh(payload) : (uint32_t)left;
        uint32_t stored = htole32(payload);
        uint64_t sum = htole64(XXH3_64bits(bytes + at + WP_FRAME_HEADER, payload));
        memcpy(bytes + at + SIZE_AT, &stored, sizeof(stored));
        memcpy(bytes + at + SUM_AT, &sum, sizeof(sum));
        at += WP_FRAME_HEADER + payload;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, room);
    if (seed % 4)
        seal(bytes, size);
    return size;
}
#endif
