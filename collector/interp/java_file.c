/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/java_file.h"

#include "collector/interp/interp_image.h"
#include "common/array.h"

#include <errno.h>
#include <string.h>

#define STRUCTS "gHotSpotVMStructs"
#define TYPES "gHotSpotVMTypes"
#define CODE "JNI_CreateJavaVM"
#define RELOCATIONS_BYTES ((uint64_t)64 << 20)
/* Of an entry of the table of members: names of a type and its member, and the address of one that is static. */
#define ENTRY_MEMBER 8u
#define ENTRY_ADDRESS 40u
#define ENTRIES 4096u
/* Of an entry of the table of types: a name, and the size. */
#define TYPE_BYTES 40u
#define TYPE_SIZE 32u
#define NAME_BYTES 40u
#define PLACE_BYTES 16u /* of a PcDesc, as collector/bpf/interp_java.h reads it */

enum { TABLE, FUNCTION, TYPE_TABLE, WANTED };

/* What a release has beside its table; the bit is for what its table has. */
struct release {
    uint32_t major, bit;
    uint8_t has_offsets, number_least, continuation_bytes, thread_name;
};

enum { RELEASE_17 = 1, RELEASE_21 = 2, RELEASE_25 = 4, OLD = RELEASE_17 | RELEASE_21, ALL = OLD | RELEASE_25 };

static const struct release releases[] = {
    {17, RELEASE_17, 0, 0, 0, 0},
    {21, RELEASE_21, 0, 1, 64, 60},
    {25, RELEASE_25, 1, 1, 64, 60},
};

/* `at`: enum wp_java_member. */
struct wanted {
    const char *type, *name;
    unsigned at, releases;
};

static const struct wanted wanted[] = {
    {"CodeHeap", "_memory", WP_JAVA_HEAP_MEMORY, ALL},
    {"CodeHeap", "_segmap", WP_JAVA_HEAP_SEGMENTS, ALL},
    {"CodeHeap", "_log2_segment_size", WP_JAVA_HEAP_SEGMENT_BITS, ALL},
    {"CodeBlob", "_name", WP_JAVA_BLOB_NAME, ALL},
    {"CodeBlob", "_frame_complete_offset", WP_JAVA_BLOB_COMPLETE, ALL},
    {"CodeBlob", "_frame_size", WP_JAVA_BLOB_FRAME_SIZE, ALL},
    {"CodeBlob", "_code_begin", WP_JAVA_BLOB_CODE, OLD},
    {"CodeBlob", "_code_offset", WP_JAVA_BLOB_CODE, RELEASE_25},
    {"CodeBlob", "_code_end", WP_JAVA_BLOB_CODE_END, OLD},
    {"CodeBlob", "_data_offset", WP_JAVA_BLOB_CODE_END, RELEASE_25},
    {"CompiledMethod", "_deopt_handler_begin", WP_JAVA_CODE_DEOPT, OLD},
    {"nmethod", "_deopt_handler_offset", WP_JAVA_CODE_DEOPT, RELEASE_25},
    {"nmethod", "_orig_pc_offset", WP_JAVA_CODE_CALLER, ALL},
    {"CompiledMethod", "_method", WP_JAVA_CODE_METHOD, OLD},
    {"nmethod", "_method", WP_JAVA_CODE_METHOD, RELEASE_25},
    {"nmethod", "_metadata_offset", WP_JAVA_CODE_METHODS, OLD},
    {"CodeBlob", "_mutable_data", WP_JAVA_CODE_METHODS, RELEASE_25},
    {"CodeBlob", "_relocation_size", WP_JAVA_CODE_RELOCATIONS, RELEASE_25},
    {"CompiledMethod", "_scopes_data_begin", WP_JAVA_CODE_SCOPES, OLD},
    {"nmethod", "_scopes_data_offset", WP_JAVA_CODE_SCOPES, RELEASE_25},
    {"nmethod", "_scopes_pcs_offset", WP_JAVA_CODE_PLACES, ALL},
    {"nmethod", "_dependencies_offset", WP_JAVA_CODE_PLACES_END, OLD},
    {"nmethod", "_scopes_data_offset", WP_JAVA_CODE_PLACES_END, RELEASE_25},
    {"nmethod", "_immutable_data", WP_JAVA_CODE_IMMUTABLE, RELEASE_25},
    {"Method", "_constMethod", WP_JAVA_METHOD_CONST, ALL},
    {"ConstMethod", "_constants", WP_JAVA_CONST_POOL, ALL},
    {"ConstMethod", "_constMethod_size", WP_JAVA_CONST_SIZE, ALL},
    {"ConstMethod", "_flags", WP_JAVA_CONST_FLAGS, RELEASE_17},
    {"ConstMethod", "_flags._flags", WP_JAVA_CONST_FLAGS, RELEASE_21 | RELEASE_25},
    {"ConstMethod", "_code_size", WP_JAVA_CONST_CODE_SIZE, ALL},
    {"ConstMethod", "_name_index", WP_JAVA_CONST_NAME, ALL},
    {"ConstantPool", "_pool_holder", WP_JAVA_POOL_CLASS, ALL},
    {"ConstantPool", "_source_file_name_index", WP_JAVA_POOL_FILE, ALL},
    {"ConstantPool", "_length", WP_JAVA_POOL_LENGTH, ALL},
    {"Klass", "_name", WP_JAVA_CLASS_NAME, ALL},
    {"Symbol", "_length", WP_JAVA_SYMBOL_SIZE, ALL},
    {"Symbol", "_body", WP_JAVA_SYMBOL_TEXT, ALL},
};
#define MEMBERS (sizeof(wanted) / sizeof(wanted[0]))

/* What the loader writes into a file's own data: its addresses, sorted. */
struct relocations {
    Elf_Data *data;
    size_t count;
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

/* The text at an address; "" when there is none. */
static void read_text(const struct wp_elf_file *file, uint64_t address, char text[NAME_BYTES])
{
    if (!address || !wp_interp_image_bytes(file, address, text, NAME_BYTES))
        text[0] = 0;
    text[NAME_BYTES - 1] = 0;
}

/* A file, and its tables. */
struct tables {
    const struct wp_elf_file *file;
    struct relocations all;
    uint64_t members, types;
};

struct entry {
    char type[NAME_BYTES], name[NAME_BYTES];
    uint64_t address; /* of a static one */
};

static bool read_entry(const struct tables *t, unsigned i, struct entry *entry)
{
    uint64_t at = t->members + (uint64_t)i * WP_JAVA_ENTRY_BYTES, type = written_at(&t->all, at);
    if (!type)
        return false;
    read_text(t->file, type, entry->type);
    read_text(t->file, written_at(&t->all, at + ENTRY_MEMBER), entry->name);
    entry->address = written_at(&t->all, at + ENTRY_ADDRESS);
    return true;
}

static bool is_entry(const struct entry *entry, const char *type, const char *name)
{
    return !strcmp(entry->type, type) && !strcmp(entry->name, name);
}

/* What the table of members says. */
struct told {
    uint64_t heaps, major, heap_base, heap_shift, class_base, class_shift;
    uint16_t entries[MEMBERS]; /* 0: there is none */
};

/* Compressed pointers to classes. */
static void read_class_pointers(const struct entry *entry, struct told *told)
{
    static const char type[] = "CompressedKlassPointers";
    if (is_entry(entry, type, "_narrow_klass._base") || is_entry(entry, type, "_base"))
        told->class_base = entry->address;
    if (is_entry(entry, type, "_narrow_klass._shift") || is_entry(entry, type, "_shift"))
        told->class_shift = entry->address;
}

static void read_members(const struct tables *t, struct told *told)
{
    struct entry entry;
    for (unsigned i = 0; i < ENTRIES && read_entry(t, i, &entry); i++) {
        if (is_entry(&entry, "CodeCache", "_heaps"))
            told->heaps = entry.address;
        if (is_entry(&entry, "Abstract_VM_Version", "_vm_major_version"))
            told->major = entry.address;
        if (is_entry(&entry, "CompressedOops", "_narrow_oop._base") || is_entry(&entry, "CompressedOops", "_base"))
            told->heap_base = entry.address;
        if (is_entry(&entry, "CompressedOops", "_narrow_oop._shift") || is_entry(&entry, "CompressedOops", "_shift"))
            told->heap_shift = entry.address;
        read_class_pointers(&entry, told);
        for (unsigned j = 0; j < MEMBERS; j++)
            if (is_entry(&entry, wanted[j].type, wanted[j].name))
                told->entries[j] = (uint16_t)(WP_JAVA_ENTRY | i);
    }
}

/* Bytes of a type, 0: it is not there, or they are more than `most`. */
static uint8_t size_of(const struct tables *t, const char *type, uint8_t most)
{
    char name[NAME_BYTES];
    uint64_t at = t->types, text, size = 0;
    for (unsigned i = 0; i < ENTRIES && (text = written_at(&t->all, at)); i++, at += TYPE_BYTES) {
        read_text(t->file, text, name);
        if (strcmp(name, type))
            continue;
        bool is_size = wp_interp_image_bytes(t->file, at + TYPE_SIZE, &size, sizeof(size)) && size <= most;
        return is_size ? (uint8_t)size : 0;
    }
    return 0;
}

static const struct release *find_release(uint32_t major)
{
    for (unsigned i = 0; i < sizeof(releases) / sizeof(releases[0]); i++)
        if (releases[i].major == major)
            return &releases[i];
    return NULL;
}

/* False: the release is not known, or does not have what it should. */
static bool find_layout(const struct tables *t, const struct told *told, uint32_t major, struct wp_java_layout *out)
{
    const struct release *release = find_release(major);
    if (!release)
        return false;
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!(wanted[i].releases & release->bit))
            continue;
        if (!told->entries[i])
            return false;
        out->at[wanted[i].at] = told->entries[i];
    }
    out->heap_base = (uint32_t)(told->heap_base - t->members);
    out->heap_shift = (uint32_t)(told->heap_shift - t->members);
    out->class_base = (uint32_t)(told->class_base - t->members);
    out->class_shift = (uint32_t)(told->class_shift - t->members);
    out->thread_name = told->class_base && told->class_shift ? release->thread_name : 0;
    out->has_offsets = release->has_offsets;
    out->number_least = release->number_least;
    out->continuation_bytes = told->heap_base && told->heap_shift ? release->continuation_bytes : 0;
    out->block_head = size_of(t, "HeapBlock", WP_JAVA_CONST_BYTES);
    out->const_bytes = size_of(t, "ConstMethod", WP_JAVA_CONST_BYTES);
    out->pool_bytes = size_of(t, "ConstantPool", WP_JAVA_POOL_BYTES);
    return out->block_head && out->const_bytes && out->pool_bytes && size_of(t, "PcDesc", UINT8_MAX) == PLACE_BYTES;
}

int wp_java_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err)
{
    static const char *const names[WANTED] = {[TABLE] = STRUCTS, [FUNCTION] = CODE, [TYPE_TABLE] = TYPES};
    struct wp_interp_symbol found[WANTED];
    struct tables tables = {.file = file};
    struct told told = {0};
    struct wp_java_layout layout = {0};
    GElf_Ehdr header;
    uint64_t shift;
    uint32_t major = 0;
    wp_interp_image_symbols(file, &(struct wp_interp_search){names, WANTED, 0}, found);
    if (!found[TABLE].address)
        return wp_error_set(err, -ENOENT, "no HotSpot JVM");
    if (!gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 || !find_relocations(file, &tables.all) ||
        !(tables.members = written_at(&tables.all, found[TABLE].address)))
        return wp_error_set(err, -ENOTSUP, "this build of HotSpot is not known");
    tables.types = written_at(&tables.all, found[TYPE_TABLE].address);
    read_members(&tables, &told);
    if (told.major && wp_interp_image_bytes(file, told.major, &major, sizeof(major)))
        *version = WP_INTERP_VERSION(WP_INTERP_JAVA, major & 255, 0);
    if (!told.heaps || !find_layout(&tables, &told, major, &layout) ||
        !wp_interp_image_shift(file, found[FUNCTION].address, &shift))
        return wp_error_set(err, -ENOTSUP, "Java %u, or this build of it, is not known", major & 255);
    *out = (struct wp_interp_file){
        .runtime = told.heaps + shift, .code_type = tables.members + shift, .java = layout, .version = *version};
    return 0;
}
