/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "proto/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_hello hello;
    struct wp_welcome welcome;
    struct wp_bye bye;
    if (!wp_hello_decode(&hello, bytes, size, NULL))
        wp_hello_fini(&hello);
    wp_welcome_decode(&welcome, bytes, size, NULL);
    wp_bye_decode(&bye, bytes, size, NULL);
    return 0;
}
