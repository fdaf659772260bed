/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/java_file.h"

#include "collector/interp/interp_image.h"
#include "common/array.h"

#include <errno.h>
#include <string.h>

#define STRUCTS "gHotSpotVMStructs"
#define CODE "JNI_CreateJavaVM"
#define RELOCATIONS_BYTES ((uint64_t)64 << 20)
#define VERSION_KNOWN 17u
/* Of an entry of the table: names of a type and its member, and the address of one that is static. */
#define ENTRY_BYTES 48u
#define ENTRY_MEMBER 8u
#define ENTRY_ADDRESS 40u
#define ENTRIES 4096u
#define NAME_BYTES 32u

enum { TABLE, FUNCTION, WANTED };

/* What the loader writes into a file's own data: its addresses, sorted. */
struct relocations {
    Elf_Data *data;
    size_t count;
};

struct member {
    const char *type, *name;
    uint64_t address; /* 0: not found */
};

static bool find_relocations(const struct wp_elf_file *file, struct relocations *found)
{
    GElf_Shdr header;
    found->data = wp_elf_file_section(file, ".rela.dyn", RELOCATIONS_BYTES, &header);
    if (!found->data || header.sh_type != SHT_RELA)
        return false;
    found->count = (size_t)(header.sh_size / sizeof(Elf64_Rela));
    return found->count <= INT32_MAX;
}

/* Addresses that are written to as the file is loaded come first (ld, -z combreloc). */
static bool is_before(const struct relocations *all, size_t i, uint64_t address)
{
    GElf_Rela relocation;
    return gelf_getrela(all->data, (int)i, &relocation) && GELF_R_TYPE(relocation.r_info) == R_X86_64_RELATIVE &&
        relocation.r_offset < address;
}

/* What is written at an address; 0: nothing, or they are not sorted. */
static uint64_t written_at(const struct relocations *all, uint64_t address)
{
    GElf_Rela relocation;
    size_t at = WP_LOWER_BOUND(i, (size_t)0, all->count, is_before(all, i, address));
    if (at == all->count || !gelf_getrela(all->data, (int)at, &relocation) || relocation.r_offset != address ||
        GELF_R_TYPE(relocation.r_info) != R_X86_64_RELATIVE)
        return 0;
    return (uint64_t)relocation.r_addend;
}

/* Whether that text is at an address. */
static bool is_text(const struct wp_elf_file *file, uint64_t address, const char *text)
{
    char bytes[NAME_BYTES];
    size_t size = strlen(text) + 1;
    return size <= sizeof(bytes) && address && wp_interp_image_bytes(file, address, bytes, size) &&
        !memcmp(bytes, text, size);
}

/* Where the static members are. */
static void find_members(const struct wp_elf_file *file, const struct relocations *all, uint64_t table,
    struct member *members, unsigned count)
{
    for (unsigned i = 0; i < ENTRIES; i++) {
        uint64_t entry = table + (uint64_t)i * ENTRY_BYTES, type = written_at(all, entry);
        uint64_t address = type ? written_at(all, entry + ENTRY_ADDRESS) : 0;
        if (!type)
            return;
        for (unsigned j = 0; address && j < count; j++)
            if (is_text(file, type, members[j].type) &&
                is_text(file, written_at(all, entry + ENTRY_MEMBER), members[j].name))
                members[j].address = address;
    }
}

int wp_java_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    static const char *const names[WANTED] = {[TABLE] = STRUCTS, [FUNCTION] = CODE};
    struct member members[] = {{"CodeCache", "_heaps", 0}, {"Abstract_VM_Version", "_vm_major_version", 0}};
    struct wp_interp_symbol found[WANTED];
    struct relocations all;
    GElf_Ehdr header;
    uint64_t shift, table = 0;
    uint32_t major = 0;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 0}, found);
    if (!found[TABLE].address)
        return wp_error_set(err, -ENOENT, "no HotSpot JVM");
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 || !find_relocations(file, &all) ||
        !(table = written_at(&all, found[TABLE].address)))
        return wp_error_set(err, -ENOTSUP, "this build of HotSpot is not known");
    find_members(file, &all, table, members, 2);
    if (members[1].address && wp_interp_image_bytes(file, members[1].address, &major, sizeof(major)))
        *version = WP_INTERP_VERSION(WP_INTERP_JAVA, major & 255, 0);
    if (major != VERSION_KNOWN || !members[0].address || !wp_interp_image_shift(file, found[FUNCTION].address, &shift))
        return wp_error_set(err, -ENOTSUP, "Java %u, or this build of it, is not known", major & 255);
    *out = (struct wp_interp_file){.runtime = members[0].address + shift, .version = *version};
    return 0;
}
