/* SPDX-License-Identifier: Apache-2.0 */
/* Frames one behind the other, as in a capture. */
#include "fuzz.h"

#include "proto/frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_frame_reader *reader = wp_frame_reader_create();
    struct wp_frame frame;
    struct wp_error err = {0};
    size_t at = 0;
    while (reader && at < size && !wp_frame_read(reader, bytes + at, size - at, &frame, &err)) {
        if (!frame.consumed || frame.consumed > size - at)
            abort();
        at += frame.consumed;
    }
    wp_frame_reader_destroy(reader);
    return 0;
}
