/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strings.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wp_strings_free(char **strings, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(strings[i]);
    free(strings);
}

int wp_strings_add(char ***strings, size_t *count, const char *text)
{
    if (WP_ARRAY_NEXT(*strings, *count))
        return -ENOMEM;
    (*strings)[*count] = strdup(text);
    if (!(*strings)[*count])
        return -ENOMEM;
    (*count)++;
    return 0;
}
