/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/elf_plt.h"

#include "common/intmap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define STUBS_BYTES ((size_t)16 << 20)
#define RELOCATIONS_BYTES ((size_t)256 << 20)
#define STUB 16u /* bytes; those of .plt.got without CET are 8 long */
#define NAME_BYTES 1024

struct slots {
    struct wp_intmap by_address; /* -> symbol */
    Elf_Data *symbols;
    size_t names; /* the section */
};

/* Whose address each slot gets. */
static int read_slots(struct slots *slots, const struct wp_elf_file *f, const char *name)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(f, name, RELOCATIONS_BYTES, &header);
    if (!data || header.sh_type != SHT_RELA)
        return 0;
    size_t size = gelf_fsize(f->elf, ELF_T_RELA, 1, EV_CURRENT);
    for (size_t i = 0; size && i < data->d_size / size && i < INT32_MAX; i++) {
        GElf_Rela rela;
        if (!gelf_getrela(data, (int)i, &rela))
            break;
        unsigned type = (unsigned)GELF_R_TYPE(rela.r_info);
        if ((type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) &&
            wp_intmap_put(&slots->by_address, (struct wp_intkey){rela.r_offset, 0}, (uint32_t)GELF_R_SYM(rela.r_info)))
            return -ENOMEM;
    }
    return 0;
}

/* A stub has one "jmp *slot(%rip)" (ff 25 and 32 bits), behind an endbr64 and a bnd prefix where there are any. */
static bool slot_of(const uint8_t *stub, size_t size, uint64_t address, uint64_t *slot)
{
    for (size_t i = 0; i + 6 <= size; i++) {
        int32_t distance;
        if (stub[i] != 0xff || stub[i + 1] != 0x25)
            continue;
        memcpy(&distance, stub + i + 2, sizeof(distance));
        *slot = address + i + 6 + (uint64_t)(int64_t)distance;
        return true;
    }
    return false;
}

static int read_stubs(const struct slots *slots, const struct wp_elf_file *f, const char *section,
    int (*stub)(void *context, uint64_t address, uint64_t size, const char *name), void *context)
{
    GElf_Shdr header;
    Elf_Data *data = wp_elf_file_section(f, section, STUBS_BYTES, &header);
    size_t step = data && header.sh_entsize == STUB / 2 ? STUB / 2 : STUB;
    int rc = 0;
    for (size_t at = 0; data && !rc && at + step <= data->d_size; at += step) {
        uint64_t slot, address = header.sh_addr + at;
        uint32_t index;
        GElf_Sym symbol;
        if (!slot_of((const uint8_t *)data->d_buf + at, step, address, &slot) ||
            !wp_intmap_get(&slots->by_address, (struct wp_intkey){slot, 0}, &index) || index > INT32_MAX ||
            !gelf_getsym(slots->symbols, (int)index, &symbol))
            continue;
        const char *function = elf_strptr(f->elf, slots->names, symbol.st_name);
        char name[NAME_BYTES];
        if (!function || !*function || snprintf(name, sizeof(name), "%s@plt", function) >= (int)sizeof(name))
            continue;
        rc = stub(context, address, step, name);
    }
    return rc;
}

int wp_elf_plt_read(const struct wp_elf_file *f,
    int (*stub)(void *context, uint64_t address, uint64_t size, const char *name), void *context)
{
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    struct slots slots = {0};
    GElf_Ehdr elf;
    GElf_Shdr header, names;
    int rc = 0;
    if (!gelf_getehdr(f->elf, &elf) || elf.e_machine != EM_X86_64)
        return 0;
    slots.symbols = wp_elf_file_section(f, ".dynsym", RELOCATIONS_BYTES, &header);
    if (!slots.symbols || !gelf_getshdr(elf_getscn(f->elf, header.sh_link), &names) ||
        names.sh_flags & SHF_COMPRESSED || names.sh_size > RELOCATIONS_BYTES)
        return 0;
    slots.names = header.sh_link;
    rc = read_slots(&slots, f, ".rela.plt");
    if (!rc)
        rc = read_slots(&slots, f, ".rela.dyn");
    for (size_t i = 0; !rc && i < sizeof(sections) / sizeof(sections[0]); i++)
        rc = read_stubs(&slots, f, sections[i], stub, context);
    wp_intmap_fini(&slots.by_address);
    return rc;
}
