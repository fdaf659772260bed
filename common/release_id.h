/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_RELEASE_ID_H
#define WP_COMMON_RELEASE_ID_H
/*
 * The id, and so the folder, of a release that is called `name` by whoever recorded it. A name that is an id is its
 * own; of another one each byte that is none of an id's is '_', and the digest of the whole name is behind it as "+"
 * and 32 hexadecimal digits. A name that looks like that already gets one too, so two names never have one id.
 */
#include "common/path.h"

#include <stddef.h>

/* Never "". The same for what this has made: an id is a name that was not changed, and is asked for as it is with
 * wp_id_valid(). */
void wp_release_id(const char *name, char id[WP_ID_ROOM]);

#endif
