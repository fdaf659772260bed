/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_JSON_PLAIN_H
#define WP_COMMON_JSON_PLAIN_H
/* JSON that may be shown on a terminal. */
#include "common/buffer.h"

/* Appends JSON as json-c prints it, with DEL and the controls from U+0080 to U+009F escaped too: terminals obey those.
 */
void wp_json_plain(struct wp_buffer *out, const char *json);

#endif
