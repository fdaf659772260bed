/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "proto/name_talk.h"
#include "proto/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct wp_hello hello;
    struct wp_welcome welcome;
    struct wp_bye bye;
    struct wp_name_question question;
    struct wp_name_answer answer;
    void *owned;
    if (!wp_hello_decode(&hello, bytes, size, NULL))
        wp_hello_fini(&hello);
    wp_welcome_decode(&welcome, bytes, size, NULL);
    wp_bye_decode(&bye, bytes, size, NULL);
    if (!wp_name_question_decode(&question, &owned, bytes, size, NULL))
        wp_name_question_free(owned);
    if (!wp_name_answer_decode(&answer, bytes, size, NULL))
        wp_name_answer_fini(&answer);
    return 0;
}
