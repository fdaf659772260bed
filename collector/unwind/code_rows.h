/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_CODE_ROWS_H
#define WP_COLLECTOR_UNWIND_CODE_ROWS_H
/* Unwind rows of x86-64 code that no table describes, by code_flow.h: of sections that have none for a good part of
 * what is in them. */
#include "collector/unwind/unwind_rows.h"

#include <gelf.h>

/* Adds to rows that are settled; they have to be settled again. -E2BIG, -ENOMEM. Code that is not understood is no
 * error. */
int wp_code_rows_read(Elf *elf, struct wp_unwind_rows *rows);

#endif
