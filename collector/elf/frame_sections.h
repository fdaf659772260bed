/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_FRAME_SECTIONS_H
#define WP_COLLECTOR_ELF_FRAME_SECTIONS_H
/* Where an object has its call frame information. */
#include <libelf.h>
#include <stdbool.h>

/* With contents; NULL: there is none of that name. */
Elf_Scn *wp_frame_section_find(Elf *elf, const char *name);
/* Whether there is a .debug_frame that libdw may be told to read: it unpacks all debug sections at once, and what would
 * not fit says so before. */
bool wp_frame_section_has_debug(Elf *elf);
/* Its contents, when libdw has unpacked them; NULL. */
Elf_Data *wp_frame_section_debug(Elf *elf);

#endif
