/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_JAVA_FILE_H
#define WP_COLLECTOR_INTERP_JAVA_FILE_H
/*
 * Whether an object file is a HotSpot JVM (libjvm, stripped or not), and where it has the list of its code heaps: the
 * table for debuggers says so (gHotSpotVMStructs, vmStructs.hpp). Offsets within structs are there only once a process
 * runs, so those of a version are constants (collector/bpf/interp_java.h, unwind_java.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* As wp_interp_languages_read. 17 on x86-64 is known. */
int wp_java_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
