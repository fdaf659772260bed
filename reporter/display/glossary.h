/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DISPLAY_GLOSSARY_H
#define WP_REPORTER_DISPLAY_GLOSSARY_H
/* The words of the pages: what a term in a heading, a label or a category means, in one sentence. */
#include <stddef.h>

struct wp_term {
    const char *key; /* of its anchor, "term-KEY": [a-z_] */
    const char *title;
    const char *meaning;
};

/* In the order in which the glossary has them: categories first. */
const struct wp_term *wp_glossary(size_t *count);
/* By its title, as pages write it; NULL: no term. */
const struct wp_term *wp_glossary_find(const char *title);

#endif
