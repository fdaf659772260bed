/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of a new session: what decodes is encoded again and must decode to the same; the dictionary may refuse it. */
#include "fuzz.h"

#include "proto/batch_decode.h"
#include "proto/batch_encode.h"
#include "proto/dictionary.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_batch batch = {0}, again = {0};
    struct wp_buffer packed = {0};
    struct wp_error err = {0};
    if (!wp_batch_decode(&batch, bytes, size, &err)) {
        if (wp_batch_encode(&batch, &packed, &err) || wp_batch_decode(&again, packed.data, packed.size, &err))
            abort();
        if (again.event_count != batch.event_count || again.string_count != batch.string_count ||
            (batch.event_count && memcmp(again.events, batch.events, batch.event_count * sizeof(*batch.events))))
            abort();
        struct wp_dictionary *dictionary = wp_dictionary_create();
        if (dictionary)
            wp_dictionary_apply(dictionary, &batch, &err);
        wp_dictionary_destroy(dictionary);
    } else if (!*err.text) {
        abort(); /* refused without a reason */
    }
    wp_batch_fini(&batch);
    wp_batch_fini(&again);
    wp_buffer_fini(&packed);
    return 0;
}
