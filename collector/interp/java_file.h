/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_JAVA_FILE_H
#define WP_COLLECTOR_INTERP_JAVA_FILE_H
/*
 * Whether an object file is a HotSpot JVM (libjvm, stripped or not), where it has the list of its code heaps, and which
 * entries of its table for debuggers (gHotSpotVMStructs, vmStructs.hpp) say where what is read lies in its structs. The
 * offsets themselves are there only once a process runs: collector/bpf/interp_java.h reads them.
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* As wp_interp_languages_read. 17, 21 and 25 on x86-64 are known; others, and builds without one of the entries, are
 * not. */
int wp_java_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
