/* SPDX-License-Identifier: Apache-2.0 */
#include "common/strings.h"

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
    char **grown = reallocarray(*strings, *count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    *strings = grown;
    grown[*count] = strdup(text);
    if (!grown[*count])
        return -ENOMEM;
    (*count)++;
    return 0;
}
