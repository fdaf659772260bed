/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/code_rows.h"

#include "collector/elf/code_flow.h"

#include <stdlib.h>
#include <string.h>

#define DATA_BYTES ((uint64_t)64 << 20) /* of a file that is read for it */
#define SAMPLE 64u                      /* every so many bytes are looked at for a rule */
#define LEAST 4u                        /* a fourth of a section without rules is worth it, padding is not */
#define SECTIONS 64u
#define SEGMENTS 64u

struct source {
    Elf *elf;
    struct wp_unwind_rows *rows;
    GElf_Phdr loads[SEGMENTS];
    Elf_Data *data[SEGMENTS]; /* of the Elf; what may hold tables of jumps */
    unsigned load_count;
};

static bool read_data(void *context, uint64_t address, void *bytes, size_t size)
{
    const struct source *s = context;
    for (unsigned i = 0; i < s->load_count; i++) {
        const GElf_Phdr *load = &s->loads[i];
        uint64_t inside = address - load->p_vaddr;
        if (address < load->p_vaddr || inside > load->p_filesz || load->p_filesz - inside < size)
            continue;
        if (!s->data[i] || s->data[i]->d_size != load->p_filesz)
            return false;
        memcpy(bytes, (const uint8_t *)s->data[i]->d_buf + inside, size);
        return true;
    }
    return false;
}

static int add(void *context, const struct wp_flow_place *place)
{
    struct source *s = context;
    if (wp_unwind_rows_has(s->rows, place->address)) /* its own rules begin there */
        return 0;
    int64_t cfa = place->cfa_sp ? place->cfa_sp : place->cfa_bp;
    if (!place->is_known || (!place->is_end && (cfa < 8 || cfa > INT16_MAX - 7)))
        return wp_unwind_rows_gap(s->rows, place->address);
    struct wp_unwind_row row = {.bp = place->bp_at ? (int16_t)(-place->bp_at / 8) : WP_BP_SAME};
    row.cfa = place->is_end ? WP_CFA_END : (uint16_t)((uint16_t)cfa | (place->cfa_sp ? WP_CFA_SP : WP_CFA_BP));
    return wp_unwind_rows_add(s->rows, place->address, &row);
}

static bool wants(const struct source *s, const GElf_Shdr *section)
{
    uint64_t without = 0, all = 0;
    for (uint64_t at = 0; at < section->sh_size; at += SAMPLE) {
        without += !wp_unwind_rows_has(s->rows, section->sh_addr + at);
        all++;
    }
    return without * LEAST >= all;
}

static void enter_symbols(const struct source *s, struct wp_code_flow *flow)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(s->elf, section));) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) || (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) ||
            header.sh_flags & SHF_COMPRESSED)
            continue;
        Elf_Data *data = header.sh_entsize ? elf_getdata(section, NULL) : NULL;
        size_t count = data ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count && i < INT32_MAX; i++) {
            GElf_Sym symbol;
            if (gelf_getsym(data, (int)i, &symbol) && symbol.st_shndx != SHN_UNDEF &&
                (GELF_ST_TYPE(symbol.st_info) == STT_FUNC || GELF_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC))
                wp_code_flow_enter(flow, symbol.st_value, false);
        }
    }
}

static int read_section(struct source *s, const GElf_Shdr *section)
{
    GElf_Ehdr header;
    Elf_Data *code = wants(s, section)
        ? elf_getdata_rawchunk(s->elf, (int64_t)section->sh_offset, section->sh_size, ELF_T_BYTE)
        : NULL;
    if (!code || code->d_size != section->sh_size)
        return 0;
    struct wp_code_flow *flow = wp_code_flow_create(code->d_buf, code->d_size, section->sh_addr, read_data, s);
    if (!flow)
        return 0;
    enter_symbols(s, flow);
    if (gelf_getehdr(s->elf, &header))
        wp_code_flow_enter(flow, header.e_entry, true);
    int rc = wp_code_flow_run(flow, add, s);
    wp_code_flow_destroy(flow);
    return rc;
}

/*
 * glibc's clone and clone3 (sysdeps/unix/sysv/linux/x86_64/clone3.S) end their table before the call, as it is not the
 * new thread's; whoever called sleeps there with CLONE_VFORK, as posix_spawn does: syscall, test rax, jl, jz, ret.
 */
static int add_clone_calls(struct source *s, const GElf_Shdr *section)
{
    static const uint8_t call[] = {0x0f, 0x05, 0x48, 0x85, 0xc0};
    enum { RET = 9, BYTES };
    const struct wp_unwind_row row = {.cfa = 8 | WP_CFA_SP, .bp = WP_BP_SAME};
    Elf_Data *code = elf_getdata_rawchunk(s->elf, (int64_t)section->sh_offset, section->sh_size, ELF_T_BYTE);
    if (!code || !code->d_buf) /* of a section without bytes */
        return 0;
    const uint8_t *bytes = code->d_buf, *at = bytes, *end = bytes + code->d_size;
    int rc = 0;
    while (!rc && (at = memmem(at, (size_t)(end - at), call, sizeof(call))) && end - at >= BYTES) {
        uint64_t address = section->sh_addr + (uint64_t)(at - bytes);
        if (at[5] == 0x7c && at[7] == 0x74 && at[RET] == 0xc3 && !wp_unwind_rows_has(s->rows, address)) {
            rc = wp_unwind_rows_add(s->rows, address, &row);
            rc = rc ? rc : wp_unwind_rows_gap(s->rows, address + BYTES);
        }
        at += sizeof(call);
    }
    return rc;
}

int wp_code_rows_read(Elf *elf, struct wp_unwind_rows *rows)
{
    struct source s = {.elf = elf, .rows = rows};
    size_t count = 0, names = 0;
    unsigned sections = 0, looked = 0;
    int rc = 0;
    GElf_Shdr found[SECTIONS];
    if (elf_getshdrstrndx(elf, &names))
        return 0;
    for (Elf_Scn *section = NULL; sections < SECTIONS && (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        bool is_code = name && header.sh_type == SHT_PROGBITS && header.sh_flags & SHF_EXECINSTR &&
            !(header.sh_flags & SHF_COMPRESSED) && strncmp(name, ".plt", 4) && header.sh_size <= WP_CODE_FLOW_BYTES;
        if (is_code && wants(&s, &header))
            found[sections++] = header;
        else if (is_code && header.sh_size && !rc && looked++ < SECTIONS)
            rc = add_clone_calls(&s, &header);
    }
    if (!sections || rc)
        return rc;
    uint64_t room = DATA_BYTES;
    elf_getphdrnum(elf, &count);
    for (size_t i = 0; i < count && s.load_count < SEGMENTS; i++) {
        GElf_Phdr *load = &s.loads[s.load_count];
        if (!gelf_getphdr(elf, (int)i, load) || load->p_type != PT_LOAD || load->p_filesz > room)
            continue;
        room -= load->p_filesz;
        s.data[s.load_count++] =
            load->p_filesz ? elf_getdata_rawchunk(elf, (int64_t)load->p_offset, load->p_filesz, ELF_T_BYTE) : NULL;
    }
    uint64_t left = WP_CODE_FLOW_BYTES; /* headers may all name the same code */
    for (unsigned i = 0; i < sections && !rc && found[i].sh_size <= left; i++) {
        left -= found[i].sh_size;
        rc = read_section(&s, &found[i]);
    }
    return rc;
}
