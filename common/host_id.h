/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_HOST_ID_H
#define WP_COMMON_HOST_ID_H
/* Who this host is: /etc/machine-id hashed, as machine-id(5) asks of those who publish it; without one it is made from
 * `hostname`. `part`: one of several that record here (NULL none). */
#include <stdint.h>

/* The same bytes for the same host and part, after a restart too. `hostname` is cut to 255 bytes, `part` to 200; a
 * machine-id that cannot be read counts as none. */
void wp_host_id(uint8_t host[16], const char *hostname, const char *part);

#endif
