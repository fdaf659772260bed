/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_DOING_H
#define WP_REPORTER_FACTS_DOING_H
/* Categories as what a process does, for sentences. */
#include "storage/value/category.h"

/* What a process does in a category, after its name: "waits for the disk". */
const char *wp_category_doing(enum wp_category category);

#endif
