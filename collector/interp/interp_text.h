/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_INTERP_TEXT_H
#define WP_COLLECTOR_INTERP_INTERP_TEXT_H
/* Strings of interpreters as UTF-8. */
#include "collector/host/source.h"
#include "common/buffer.h"

/* Appends the text with its end (0). What is no character (a surrogate, 0, past U+10FFFF) is replaced; of one that was
 * cut "..." is the end. One that is not known is empty. */
void wp_interp_text_put(struct wp_buffer *out, const struct wp_fact_text *text);

#endif
