/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_CORE_TYPES_H
#define WP_COLLECTOR_LIVE_CORE_TYPES_H
/*
 * Of the kernel's types those that an object's programs name, as a BTF of their own: what libbpf needs to relocate
 * accesses by (CO-RE, bpf_object_open_opts.btf_custom_path), instead of a hundred thousand. A type comes with what it
 * holds by value; what a pointer leads to is a type of its own where it is named. Numbers of types are not the
 * kernel's: programs take those from collector/live/program_marks.h.
 */
#include "collector/live/kernel_btf.h"

struct wp_core_types {
    int fd;        /* of memory; -1: none */
    char path[40]; /* by which this process can open it */
};

/* Empty as yet: libbpf is told the path as it opens an object, and reads it as it loads that. -errno. */
int wp_core_types_create(struct wp_core_types *types);
/* Those of the kernel that `local`, the object's own types, have namesakes of (without ___flavor). -ENOMEM, -EINVAL or
 * -errno of writing. */
int wp_core_types_fill(struct wp_core_types *types, const struct wp_kernel_btf *kernel, const struct btf *local);
/* Closes it; a second call does nothing. */
void wp_core_types_fini(struct wp_core_types *types);

#endif
