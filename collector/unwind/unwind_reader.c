/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_reader.h"

#include "collector/elf/cfi_check.h"
#include "collector/elf/elf_go.h"
#include "collector/elf/frame_rules.h"
#include "collector/elf/frame_sections.h"
#include "collector/unwind/code_rows.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FRAMES_LIMIT ((uint64_t)512 << 20) /* of what is loaded with .eh_frame */
#define WORK_LIMIT                                                                                                     \
    ((uint64_t)1 << 30) /* of rows that libdw looks up, times 64 bytes of rules of the longest function: a minute */
#define TOPS 32u

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

struct reader {
    Elf *elf;
    GElf_Ehdr header;
    const struct wp_frame_machine *machine;
    struct wp_unwind_rows *rows;
    uint64_t work;
    size_t longest; /* cfi_check.h */
};

/* The rows of the function that begins at `start`, up to the next one. */
static int read_function(struct reader *r, Dwarf_CFI *cfi, uint64_t start, uint64_t next)
{
    uint64_t at = start;
    int rc = 0;
    while (!rc && at < next) {
        Dwarf_Frame *frame;
        Dwarf_Addr from, to;
        bool is_signal = false;
        r->work += 1 + r->longest / 64;
        if (r->work > WORK_LIMIT)
            return -E2BIG;
        if (dwarf_cfi_addrframe(cfi, at, &frame))
            break;
        if (dwarf_frame_info(frame, &from, &to, &is_signal) < 0 || to <= at) {
            free(frame);
            break;
        }
        struct wp_unwind_row rule = wp_frame_rules_of(r->machine, frame, is_signal);
        rc = wp_unwind_rows_add(r->rows, at, &rule);
        free(frame);
        at = to;
    }
    return rc || at >= next ? rc : wp_unwind_rows_gap(r->rows, at); /* code between functions has no rule */
}

/* .eh_frame, of which .eh_frame_hdr has a table: where functions begin and their descriptions stand. */
struct frames {
    Elf *elf;
    const GElf_Phdr *table;
    const Elf_Data *header; /* .eh_frame_hdr; NULL: there is none */
    Dwarf_CFI *cfi;         /* owned; only when something is read by libdw */
    bool has_tried;
    struct wp_frame_section section; /* for what can be read quickly */
    int64_t offset;                  /* of it in the file */
    struct wp_frame_function function;
};

static int32_t number_at(const void *bytes)
{
    int32_t number;
    memcpy(&number, bytes, sizeof(number));
    return number;
}

/* Whether libdw may read what the table names, or all of the section when there is none. read_functions() has looked at
 * the table's head and count. libdw goes by places in the file, and must find there what is looked at here. */
static bool is_modest(struct reader *r, const struct frames *f)
{
    Elf_Data data = {.d_buf = (void *)(uintptr_t)f->section.bytes,
        .d_type = ELF_T_BYTE,
        .d_version = EV_CURRENT,
        .d_size = f->section.size};
    struct wp_cfi_check check = {
        .ident = (const unsigned char *)elf_getident(f->elf, NULL), .data = &data, .is_eh_frame = true};
    bool is = false;
    if (check.ident && !f->header) {
        is = wp_cfi_check_all(&check);
    } else if (check.ident && f->section.bytes) {
        const uint8_t *bytes = f->header->d_buf;
        int64_t distance = 4 + (int64_t)number_at(bytes + 4);
        is = f->offset == (int64_t)f->table->p_offset + distance &&
            wp_cfi_check_table(&check, bytes + 12, (uint32_t)number_at(bytes + 8), distance);
    }
    r->longest = check.longest;
    return is;
}

static Dwarf_CFI *cfi_of(struct reader *r, struct frames *f)
{
    if (!f->has_tried && is_modest(r, f))
        f->cfi = dwarf_getcfi_elf(f->elf);
    f->has_tried = true;
    return f->cfi;
}

static int read_quickly(struct reader *r, const struct wp_frame_function *function, uint64_t next)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < function->count; i++) {
        struct wp_unwind_row rule = wp_frame_rules_row(r->machine, &function->rows[i], function->is_signal);
        rc = wp_unwind_rows_add(r->rows, function->rows[i].address, &rule);
    }
    return rc || function->end >= next ? rc : wp_unwind_rows_gap(r->rows, function->end);
}

static int read_one(struct reader *r, struct frames *f, uint64_t start, uint64_t description, uint64_t next)
{
    if (wp_frame_program_read(&f->section, description, &f->function) && f->function.begin == start &&
        f->function.end <= next)
        return read_quickly(r, &f->function, next);
    return cfi_of(r, f) ? read_function(r, f->cfi, start, next) : -ENOEXEC;
}

static uint64_t entry_at(const uint8_t *entry, uint64_t base)
{
    return base + (uint64_t)(int64_t)number_at(entry);
}

/* The sorted table of .eh_frame_hdr (Linux Standard Base, 10.6.2), in the one form that is made. */
static int read_functions(struct reader *r, struct frames *f, uint64_t address, const Elf_Data *data)
{
    const uint8_t *bytes = data->d_buf;
    if (data->d_size < 12 || bytes[0] != 1 || bytes[2] != DW_EH_PE_udata4 ||
        bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
        return -ENOEXEC;
    unsigned skip = (bytes[1] & 15) == DW_EH_PE_sdata4 || (bytes[1] & 15) == DW_EH_PE_udata4 ? 4 : 8;
    uint32_t count;
    memcpy(&count, bytes + 4 + skip, 4);
    if (count > (data->d_size - 8 - skip) / 8)
        return -ENOEXEC;
    int rc = 0;
    for (uint32_t i = 0; !rc && i < count; i++) {
        const uint8_t *entry = bytes + 8 + skip + 8 * (size_t)i;
        uint64_t next = i + 1 < count ? entry_at(entry + 8, address) : UINT64_MAX;
        rc = read_one(r, f, entry_at(entry, address), entry_at(entry + 4, address), next);
    }
    return rc;
}

/* Where .eh_frame_hdr says that .eh_frame begins, up to the end of the file's part that is loaded there. */
static void find_section(const struct reader *r, struct frames *f, const GElf_Phdr *table, const Elf_Data *data)
{
    const uint8_t *bytes = data->d_buf;
    f->section.bp = r->machine->bp;
    f->section.ra = r->machine->ra;
    if (data->d_size < 12 || bytes[1] != (DW_EH_PE_pcrel | DW_EH_PE_sdata4))
        return;
    uint64_t address = entry_at(bytes + 4, table->p_vaddr + 4);
    size_t count = 0;
    elf_getphdrnum(f->elf, &count);
    for (size_t i = 0; i < count && i < 4096; i++) {
        GElf_Phdr load;
        if (!gelf_getphdr(f->elf, (int)i, &load) || load.p_type != PT_LOAD || address < load.p_vaddr ||
            address - load.p_vaddr >= load.p_filesz)
            continue;
        uint64_t size = load.p_filesz - (address - load.p_vaddr);
        Elf_Data *frames = size > FRAMES_LIMIT
            ? NULL
            : elf_getdata_rawchunk(f->elf, (int64_t)(load.p_offset + (address - load.p_vaddr)), size, ELF_T_BYTE);
        if (frames) {
            f->offset = (int64_t)(load.p_offset + (address - load.p_vaddr));
            f->section.bytes = frames->d_buf;
            f->section.size = frames->d_size;
            f->section.address = address;
        }
        return;
    }
}

/* One after the other: programs that are linked statically have no table (they bring an unwinder of their own). */
static int read_each(struct reader *r, struct frames *f)
{
    int rc = 0;
    for (uint64_t at = f->section.address; !rc && at; at = wp_frame_program_next(&f->section, at)) {
        if (!wp_frame_program_range(&f->section, at, &f->function))
            continue;
        uint64_t begin = f->function.begin, end = f->function.end;
        rc = read_one(r, f, begin, at, end);
        if (!rc)
            rc = wp_unwind_rows_gap(r->rows, end); /* until the next one begins */
    }
    return rc || wp_unwind_rows_count(r->rows) ? rc : -ENOEXEC;
}

static int read_section(struct reader *r, Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *section = wp_frame_section_find(elf, ".eh_frame");
    Elf_Data *data =
        section && gelf_getshdr(section, &header) && header.sh_size <= FRAMES_LIMIT ? elf_rawdata(section, NULL) : NULL;
    struct frames *f = data && data->d_buf ? calloc(1, sizeof(*f)) : NULL;
    if (!f)
        return data ? -ENOMEM : -ENOEXEC;
    f->elf = elf;
    f->section = (struct wp_frame_section){.bytes = data->d_buf,
        .size = data->d_size,
        .address = header.sh_addr,
        .bp = r->machine->bp,
        .ra = r->machine->ra};
    int rc = read_each(r, f);
    if (f->cfi)
        dwarf_cfi_end(f->cfi);
    free(f);
    return rc;
}

static int read_eh_frame(struct reader *r, Elf *elf, const GElf_Phdr *table)
{
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)table->p_offset, table->p_filesz, ELF_T_BYTE);
    struct frames *f = data ? calloc(1, sizeof(*f)) : NULL;
    if (!f)
        return data ? -ENOMEM : -ENOEXEC;
    f->elf = elf;
    f->table = table;
    f->header = data;
    find_section(r, f, table, data);
    int rc = read_functions(r, f, table->p_vaddr, data);
    if (f->cfi)
        dwarf_cfi_end(f->cfi);
    free(f);
    return rc;
}

/* Go's own tracebacks end here too: these begin a stack, or leave one for another (runtime/traceback.go of Go 1.19). 0:
 * it is another function. */
static uint16_t end_of(const char *name)
{
    static const struct {
        const char *name;
        uint16_t end;
    } tops[] = {{"runtime.mcall", WP_CFA_GOROUTINE}, {"runtime.mstart", WP_CFA_END}, {"runtime.goexit", WP_CFA_END},
        {"runtime.rt0_go", WP_CFA_END}, {"runtime.morestack", WP_CFA_END}, {"runtime.clone", WP_CFA_END},
        {"runtime.systemstack", WP_CFA_END}};
    for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
        size_t size = strlen(tops[i].name);
        if (!strncmp(name, tops[i].name, size) && (!name[size] || !strcmp(name + size, ".abi0")))
            return tops[i].end;
    }
    return 0;
}

static void end_at_tops(struct reader *r)
{
    unsigned found = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(r->elf, section));) {
        GElf_Shdr header;
        Elf_Data *data =
            gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB ? elf_getdata(section, NULL) : NULL;
        size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count && found < TOPS; i++) {
            GElf_Sym symbol;
            const char *name =
                gelf_getsym(data, (int)i, &symbol) ? elf_strptr(r->elf, header.sh_link, symbol.st_name) : NULL;
            uint16_t end = name ? end_of(name) : 0;
            if (!end)
                continue;
            wp_unwind_rows_end(r->rows, symbol.st_value, symbol.st_size, end);
            found++;
        }
    }
}

/* .debug_frame, whose addresses are plain: of Go, and of functions that were compiled without .eh_frame
 * (-fno-asynchronous-unwind-tables). */
static int read_debug_frame(struct reader *r)
{
    Dwarf *dwarf = wp_frame_section_has_debug(r->elf) ? dwarf_begin_elf(r->elf, DWARF_C_READ, NULL) : NULL;
    Elf_Data *data = dwarf ? wp_frame_section_debug(r->elf) : NULL;
    struct wp_cfi_check check = {.ident = r->header.e_ident, .data = data};
    Dwarf_CFI *cfi = data && wp_cfi_check_all(&check) ? dwarf_getcfi(dwarf) : NULL;
    r->longest = check.longest;
    int rc = cfi ? 0 : -ENOEXEC;
    Dwarf_CFI_Entry entry;
    Dwarf_Off at = 0, next = 0;
    for (; !rc && !dwarf_next_cfi(r->header.e_ident, data, false, at, &next, &entry) && next > at; at = next) {
        uint64_t range[2];
        if (dwarf_cfi_cie_p(&entry) || (size_t)(entry.fde.end - entry.fde.start) < sizeof(range))
            continue;
        memcpy(range, entry.fde.start, sizeof(range));
        if (wp_unwind_rows_has(r->rows, range[0]))
            continue;
        if (range[1] && range[0] <= UINT64_MAX - range[1])
            rc = read_function(r, cfi, range[0], range[0] + range[1]);
        if (!rc)
            rc = wp_unwind_rows_gap(r->rows, range[0] + range[1]); /* until the next one begins */
    }
    if (dwarf)
        dwarf_end(dwarf);
    return rc;
}

static int add_go_frame(void *context, uint64_t address, int64_t frame)
{
    struct reader *r = context;
    struct wp_frame_row row = {.cfa_register = r->machine->sp, .cfa_offset = frame};
    struct wp_unwind_row rule = wp_frame_rules_row(r->machine, &row, false);
    return frame < 0 ? wp_unwind_rows_gap(r->rows, address) : wp_unwind_rows_add(r->rows, address, &rule);
}

static bool wants_go_function(void *context, uint64_t address)
{
    return !wp_unwind_rows_has(((struct reader *)context)->rows, address);
}

static int end_go_top(void *context, uint64_t address, uint64_t size, const char *name)
{
    struct reader *r = context;
    uint16_t end = end_of(name);
    if (end)
        wp_unwind_rows_end(r->rows, address, size, end);
    return 0;
}

/* What Go's own tracebacks go by, which strip leaves. */
static int read_go(struct reader *r)
{
    if (!wp_elf_go_has(r->elf))
        return 0;
    int rc = r->header.e_machine == EM_X86_64 ? wp_elf_go_frames(r->elf, wants_go_function, add_go_frame, r) : 0;
    wp_unwind_rows_settle(r->rows);
    if (!rc && wp_elf_go_is_placed(r->elf))
        rc = wp_elf_go_functions(r->elf, end_go_top, r);
    else
        end_at_tops(r);
    return rc;
}

static int read_elf(struct reader *r)
{
    size_t count = 0;
    if (!r->elf || elf_kind(r->elf) != ELF_K_ELF || !gelf_getehdr(r->elf, &r->header) ||
        r->header.e_machine != r->machine->elf)
        return -ENOEXEC;
    elf_getphdrnum(r->elf, &count);
    GElf_Phdr table = {0};
    for (size_t i = 0; i < count && i < 4096; i++) {
        GElf_Phdr program;
        if (!gelf_getphdr(r->elf, (int)i, &program))
            continue;
        if (program.p_type == PT_LOAD && program.p_flags & PF_X)
            wp_unwind_rows_load(r->rows, program.p_vaddr, program.p_offset, program.p_filesz);
        if (program.p_type == PT_GNU_EH_FRAME && !table.p_type) /* libdw, too, takes the first */
            table = program;
    }
    int rc = table.p_filesz && table.p_filesz < WP_UNWIND_FILE_LIMIT ? read_eh_frame(r, r->elf, &table)
                                                                     : read_section(r, r->elf);
    if (rc && rc != -ENOEXEC)
        return rc;
    wp_unwind_rows_settle(r->rows);
    int more = read_debug_frame(r);
    if (more && more != -ENOEXEC)
        return more;
    wp_unwind_rows_settle(r->rows);
    uint32_t before = wp_unwind_rows_count(r->rows);
    int last = read_go(r);
    if (!last && r->header.e_machine == EM_X86_64 && !wp_elf_go_has(r->elf)) {
        last = wp_code_rows_read(r->elf, r->rows);
        wp_unwind_rows_settle(r->rows);
    }
    bool has_any = !rc || !more || wp_unwind_rows_count(r->rows) > before;
    return last || has_any ? last : -ENOEXEC;
}

static int read_rows(struct wp_unwind_rows **rows, Elf *elf, unsigned machine, struct wp_error *err)
{
    struct reader r = {.elf = elf, .machine = wp_frame_machine_of(machine), .rows = wp_unwind_rows_create()};
    int rc = !r.rows ? -ENOMEM : r.machine ? read_elf(&r) : -ENOEXEC;
    elf_end(elf);
    if (rc) {
        wp_unwind_rows_destroy(r.rows);
        return wp_error_set(
            err, rc, rc == -ENOEXEC ? "no .eh_frame or .debug_frame of this machine" : "more rows than fit");
    }
    *rows = r.rows;
    return 0;
}

int wp_unwind_rows_read_of(struct wp_unwind_rows **rows, int fd, unsigned machine, struct wp_error *err)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || (uint64_t)status.st_size > WP_UNWIND_FILE_LIMIT)
        return wp_error_set(err, -ENOEXEC, "no file that could hold code");
    elf_version(EV_CURRENT);
    return read_rows(rows, elf_begin(fd, ELF_C_READ, NULL), machine, err);
}

int wp_unwind_rows_read(struct wp_unwind_rows **rows, int fd, struct wp_error *err)
{
    return wp_unwind_rows_read_of(rows, fd, OWN_MACHINE, err);
}

int wp_unwind_rows_parse(struct wp_unwind_rows **rows, const void *image, size_t size, struct wp_error *err)
{
    elf_version(EV_CURRENT);
    return read_rows(rows, elf_memory((char *)image, size), OWN_MACHINE, err);
}
