/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_ASSETS_H
#define WP_REPORTER_SITE_ASSETS_H
/* The files of reporter/assets, put into the program when it is built (reporter/embed.cmake). */
#include <stddef.h>

struct wp_asset {
    const char *name;
    const unsigned char *bytes;
    size_t size;
};

extern const struct wp_asset wp_assets[];
extern const size_t wp_asset_count;

#endif
