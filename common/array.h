/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_ARRAY_H
#define WP_COMMON_ARRAY_H
/*
 * Growing arrays of plain rows. The owner keeps the pointer (NULL at first, to be freed with free), the count and, but
 * for WP_ARRAY_NEXT, the room; all start as zero. A macro takes these themselves, evaluates them more than once, and is
 * 0, or -ENOMEM with the array as it was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for `wanted` rows at least; the room doubles, so that appending is linear. */
#define WP_ARRAY_FIT(rows, room, wanted) WP_ARRAY_FIT_AS(rows, room, wanted, false)
/* The same; the new rows are zero. */
#define WP_ARRAY_FIT_ZERO(rows, room, wanted) WP_ARRAY_FIT_AS(rows, room, wanted, true)
/* Room for the row number `count` of an array without a room, which has grown by this alone, a row at a time. */
#define WP_ARRAY_NEXT(rows, count) wp_array_next(&(rows), (count), sizeof((rows)[0]))

#define WP_ARRAY_FIT_AS(rows, room, wanted, is_zero)                                                                   \
    ((wanted) <= (room) ? 0 : __extension__({                                                                          \
        size_t wp_array_room = (room);                                                                                 \
        int wp_array_rc = wp_array_fit(                                                                                \
            &(rows), &wp_array_room, &(const struct wp_array_wish){(wanted), sizeof((rows)[0]), is_zero});             \
        (room) = (__typeof__(room))wp_array_room;                                                                      \
        wp_array_rc;                                                                                                   \
    }))

/*
 * The number of the first row, from `from` to before `end`, that `is_before` does not hold of: an expression of the row
 * number `at`, true of the rows at the beginning alone, as it is where they ascend. `end` when it holds of all.
 */
#define WP_LOWER_BOUND(at, from, end, is_before)                                                                       \
    (__extension__({                                                                                                   \
        __typeof__((end) + 0u) wp_low = (from), wp_high = (end);                                                       \
        while (wp_low < wp_high) {                                                                                     \
            const __typeof__(wp_low) wp_middle = wp_low + (wp_high - wp_low) / 2;                                      \
            const __typeof__(wp_low) at = wp_middle; /* NOLINT(bugprone-macro-parentheses): a name */                  \
            if (is_before)                                                                                             \
                wp_low = wp_middle + 1;                                                                                \
            else                                                                                                       \
                wp_high = wp_middle;                                                                                   \
        }                                                                                                              \
        wp_low;                                                                                                        \
    }))

/* What WP_ARRAY_FIT asks of wp_array_fit. */
struct wp_array_wish {
    size_t rows, row_size;
    bool is_zero;
};

/* Behind the macros: `rows` is a row_type **. */
int wp_array_fit(void *rows, size_t *room, const struct wp_array_wish *wish);
/* As WP_ARRAY_NEXT; `count` alone tells the room, so the array has grown by no other way. */
int wp_array_next(void *rows, size_t count, size_t row_size);

#endif
