/* SPDX-License-Identifier: Apache-2.0 */
#include "common/version.h"

const char *wp_version(void)
{
    return WP_VERSION;
}
