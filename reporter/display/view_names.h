/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_VIEW_NAMES_H
#define WP_REPORTER_DISPLAY_VIEW_NAMES_H
/* Names in the data files of drawn views: hostile texts, escaped for a script. */
#include "common/buffer.h"

#include <stdint.h>

/* At most 400 bytes of it. Out of memory sets out->failed. */
void wp_view_name_put(struct wp_buffer *out, const char *name);
/* [style,name,object] */
void wp_view_frame_put(struct wp_buffer *out, uint32_t style, const char *name, const char *object);
/* "categories":[[key,title]...],\n of all of them, in their order. */
void wp_view_categories_put(struct wp_buffer *out);

#endif
