/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/frame_sections.h"

#include <endian.h>
#include <gelf.h>
#include <stdint.h>
#include <string.h>

#define DEBUG_LIMIT ((uint64_t)512 << 20) /* of debug sections, unpacked */

Elf_Scn *wp_frame_section_find(Elf *elf, const char *wanted)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names))
        return NULL;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (name && header.sh_type != SHT_NOBITS && !strcmp(name, wanted))
            return section;
    }
    return NULL;
}

static Elf_Scn *find_debug_frame(Elf *elf)
{
    Elf_Scn *section = wp_frame_section_find(elf, ".debug_frame");
    return section ? section : wp_frame_section_find(elf, ".zdebug_frame");
}

/* The older form says its size in its data. */
bool wp_frame_section_has_debug(Elf *elf)
{
    uint64_t bytes = 0;
    if (!find_debug_frame(elf))
        return false;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        GElf_Chdr packed;
        Elf_Data *data;
        uint64_t size = 0;
        if (!gelf_getshdr(section, &header) || header.sh_type == SHT_NOBITS)
            continue;
        if (header.sh_flags & SHF_COMPRESSED && gelf_getchdr(section, &packed))
            size = packed.ch_size;
        else if ((data = elf_rawdata(section, NULL)) && data->d_size >= 12 && !memcmp(data->d_buf, "ZLIB", 4))
            memcpy(&size, (const uint8_t *)data->d_buf + 4, sizeof(size)), size = be64toh(size);
        bytes += size < DEBUG_LIMIT ? size : DEBUG_LIMIT;
    }
    return bytes < DEBUG_LIMIT;
}

Elf_Data *wp_frame_section_debug(Elf *elf)
{
    Elf_Scn *section = find_debug_frame(elf); /* libdw has unpacked it */
    GElf_Shdr header;
    return section && gelf_getshdr(section, &header) && !(header.sh_flags & SHF_COMPRESSED) ? elf_getdata(section, NULL)
                                                                                            : NULL;
}
