/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_PYTHON_NAMES_H
#define WP_COLLECTOR_INTERP_PYTHON_NAMES_H
#include "collector/host/source.h"
#include "common/buffer.h"

/* As put_texts of struct wp_interp_language, for CPython. A task of asyncio is called "task NAME", where each number is
 * "N". */
size_t wp_python_names_put(struct wp_buffer *out, const struct wp_fact_code *code);

#endif
