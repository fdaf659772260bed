/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_INTERN_H
#define WP_COMMON_INTERN_H
/*
 * Byte strings to dense ids and back. Id 0 is always the empty string. Strings are kept in one block, with their
 * terminator; a pointer from wp_intern_text is valid until the next wp_intern_id. Not thread safe.
 */
#include <stddef.h>
#include <stdint.h>

struct wp_intern;

/* NULL when out of memory. */
struct wp_intern *wp_intern_create(void);
/* NULL is allowed. Ends every pointer that wp_intern_text gave. */
void wp_intern_destroy(struct wp_intern *intern);
/* The id of `size` bytes at `bytes`, made if new; UINT32_MAX when out of memory. */
uint32_t wp_intern_id(struct wp_intern *intern, const char *bytes, size_t size);
/* As wp_intern_id, of a text that ends with NUL. */
uint32_t wp_intern_str(struct wp_intern *intern, const char *text);
/* The id, or UINT32_MAX if the string was never seen. */
uint32_t wp_intern_find(const struct wp_intern *intern, const char *bytes, size_t size);
/* Terminated; "" for an id out of range. */
const char *wp_intern_text(const struct wp_intern *intern, uint32_t id);
/* Bytes of the string without its terminator; 0 for an id out of range. */
size_t wp_intern_size(const struct wp_intern *intern, uint32_t id);
/* How many ids there are, the empty string included. */
uint32_t wp_intern_count(const struct wp_intern *intern);
/* What it takes of memory. */
size_t wp_intern_bytes(const struct wp_intern *intern);

#endif
