/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_OPERAND_SPEC_H
#define WP_REPORTER_COMPARE_OPERAND_SPEC_H
/* Which operand of a comparison is asked for, and its parts as text. */
#include "common/error.h"
#include "common/path.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_contour;

struct wp_operand_spec {
    char release[WP_ID_ROOM], aggregate[WP_ID_ROOM]; /* aggregate "": the default */
    char host[256]; /* "": all; shell patterns parted by commas, '!' before them: all but those */
    uint64_t since_s, until_s;
    bool same_time;                   /* only timeboxes that the other operand has, too */
    bool fits_pages;                  /* its windows are as large as pages have them */
    const struct wp_contour *contour; /* left out of its stacks, borrowed; NULL: nothing */
    uint64_t back;                    /* releases before the named one; wp_named_find makes it 0 */
};

/* -EINVAL, with what is wrong. */
int wp_operand_parse(struct wp_operand_spec *spec, const char *text, struct wp_error *err);
/* Hosts as --hosts takes them, borrowed. -EINVAL: none are named. */
int wp_hosts_parse(const char *text, const char **hosts);
/* Seconds since the epoch from text as --since takes it: a date, or their number (0, or from March 1973 on). -EINVAL.
 */
int wp_time_parse(const char *text, uint64_t *seconds);

#endif
