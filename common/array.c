/* SPDX-License-Identifier: Apache-2.0 */
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16u             /* rows of the first room */
#define ROWS_LIMIT (1u << 31) /* so that 32 bits hold every room */

static char *resize(void *rows, size_t wanted, size_t row_size)
{
    char *old;
    memcpy(&old, rows, sizeof(old));
    char *grown = reallocarray(old, wanted, row_size);
    if (grown)
        memcpy(rows, &grown, sizeof(grown));
    return grown;
}

int wp_array_fit(void *rows, size_t *room, const struct wp_array_wish *wish)
{
    if (wish->rows > ROWS_LIMIT)
        return -ENOMEM;
    size_t wanted = *room ? *room : FIRST;
    while (wanted < wish->rows)
        wanted *= 2;
    char *grown = resize(rows, wanted, wish->row_size);
    if (!grown)
        return -ENOMEM;
    if (wish->is_zero)
        memset(grown + *room * wish->row_size, 0, (wanted - *room) * wish->row_size);
    *room = wanted;
    return 0;
}

int wp_array_next(void *rows, size_t count, size_t row_size)
{
    bool is_full = !(count & (count - 1)); /* the room is the power of two at or above the count */
    return is_full && !resize(rows, count ? count * 2 : 1, row_size) ? -ENOMEM : 0;
}
