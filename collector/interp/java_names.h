/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_JAVA_NAMES_H
#define WP_COLLECTOR_INTERP_JAVA_NAMES_H
/* Methods of Java as people write them: HotSpot has "shop/Till.settle" of "Till.java". */
#include "collector/host/source.h"
#include "common/buffer.h"

#include <stddef.h>

/* Appends "shop.Till.settle" and "shop/Till.java", each with its end (0); where the latter begins. Classes that are
 * made at run time are without the address that is in their names. */
size_t wp_java_names_put(struct wp_buffer *out, const struct wp_fact_code *code);

#endif
