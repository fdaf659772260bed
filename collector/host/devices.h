/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_DEVICES_H
#define WP_COLLECTOR_HOST_DEVICES_H
/* Names of block devices. */
#include <stddef.h>
#include <stdint.h>

/* "vda1", of the device mapper "vg-root", for a device number (major << 20 | minor) of this host; "8:16" when sysfs
 * does not know it. */
void wp_device_name(uint32_t device, char *name, size_t room);
/* The same by another place than /sys. */
void wp_device_name_in(const char *sys, uint32_t device, char *name, size_t room);

#endif
