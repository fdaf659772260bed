/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind_rows.h"

#include "collector/cfi_check.h"
#include "collector/frame_rules.h"
#include "collector/frame_sections.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <xxhash.h>

#define FILE_LIMIT ((off_t)2 << 30)
#define FRAMES_LIMIT ((uint64_t)512 << 20) /* of what is loaded with .eh_frame */
#define ROWS_LIMIT (8u << 20)
#define WORK_LIMIT ((uint64_t)1 << 30) /* of rows that libdw looks up, times 64 bytes of rules of the longest function: a minute */
#define LOADS 64u
#define TOPS 32u

#if defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_X86_64
#endif

struct row {
    uint32_t offset; /* in the file; below FILE_LIMIT */
    uint16_t cfa;
    int16_t bp;
};

_Static_assert(sizeof(struct row) == 8, "kept on disk as it is");

struct load {
    uint64_t address, offset, size;
};

struct wp_unwind_rows {
    const struct wp_frame_machine *machine;
    struct row *rows;
    uint32_t count, room;
    uint64_t odd_rules, work;
    size_t longest;                 /* cfi_check.h */
    struct load loads[LOADS];
    unsigned load_count;
};

void wp_unwind_rows_destroy(struct wp_unwind_rows *r)
{
    if (!r)
        return;
    free(r->rows);
    free(r);
}

static int add_row(struct wp_unwind_rows *r, uint64_t address, uint16_t cfa, int16_t bp)
{
    unsigned i = 0;
    while (i < r->load_count && (address < r->loads[i].address || address - r->loads[i].address >= r->loads[i].size))
        i++;
    if (i == r->load_count)
        return 0;
    uint64_t offset = address - r->loads[i].address + r->loads[i].offset;
    if (offset >= (uint64_t)FILE_LIMIT) /* a header that lies */
        return 0;
    if (r->count == r->room) {
        uint32_t room = r->room ? r->room * 2 : 4096;
        struct row *rows = room > ROWS_LIMIT ? NULL : realloc(r->rows, room * sizeof(*rows));
        if (!rows)
            return room > ROWS_LIMIT ? -E2BIG : -ENOMEM;
        r->rows = rows;
        r->room = room;
    }
    r->rows[r->count++] = (struct row){(uint32_t)offset, cfa, bp};
    return 0;
}

static int add_rule(struct wp_unwind_rows *r, uint64_t address, const struct wp_unwind_row *rule)
{
    r->odd_rules += rule->cfa == WP_CFA_NONE;
    return add_row(r, address, rule->cfa, rule->bp);
}

/* The rows of the function that begins at `start`, up to the next one. */
static int read_function(struct wp_unwind_rows *r, Dwarf_CFI *cfi, uint64_t start, uint64_t next)
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
        rc = add_rule(r, at, &rule);
        free(frame);
        at = to;
    }
    return rc || at >= next ? rc : add_row(r, at, WP_CFA_NONE, WP_BP_SAME); /* code between functions has no rule */
}

/* .eh_frame, of which .eh_frame_hdr has a table: where functions begin and their descriptions stand. */
struct frames {
    Elf *elf;
    const GElf_Phdr *table;
    const Elf_Data *header;          /* .eh_frame_hdr; NULL: there is none */
    Dwarf_CFI *cfi;                  /* owned; only when something is read by libdw */
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

/* Whether libdw may read what the table names, or all of the section when there is none. read_functions() has looked at the table's head
 * and count. libdw goes by places in the file, and must find there what is looked at here. */
static bool is_modest(struct wp_unwind_rows *r, const struct frames *f)
{
    Elf_Data data = {.d_buf = (void *)(uintptr_t)f->section.bytes, .d_type = ELF_T_BYTE, .d_version = EV_CURRENT, .d_size = f->section.size};
    struct wp_cfi_check check = {.ident = (const unsigned char *)elf_getident(f->elf, NULL), .data = &data, .is_eh_frame = true};
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

static Dwarf_CFI *cfi_of(struct wp_unwind_rows *r, struct frames *f)
{
    if (!f->has_tried && is_modest(r, f))
        f->cfi = dwarf_getcfi_elf(f->elf);
    f->has_tried = true;
    return f->cfi;
}

static int read_quickly(struct wp_unwind_rows *r, const struct wp_frame_function *function, uint64_t next)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < function->count; i++) {
        struct wp_unwind_row rule = wp_frame_rules_row(r->machine, &function->rows[i], function->is_signal);
        rc = add_rule(r, function->rows[i].address, &rule);
    }
    return rc || function->end >= next ? rc : add_row(r, function->end, WP_CFA_NONE, WP_BP_SAME);
}

static int read_one(struct wp_unwind_rows *r, struct frames *f, uint64_t start, uint64_t description, uint64_t next)
{
    if (wp_frame_program_read(&f->section, description, &f->function) && f->function.begin == start && f->function.end <= next)
        return read_quickly(r, &f->function, next);
    return cfi_of(r, f) ? read_function(r, f->cfi, start, next) : -ENOEXEC;
}

static uint64_t entry_at(const uint8_t *entry, uint64_t base)
{
    return base + (uint64_t)(int64_t)number_at(entry);
}

/* The sorted table of .eh_frame_hdr (Linux Standard Base, 10.6.2), in the one form that is made. */
static int read_functions(struct wp_unwind_rows *r, struct frames *f, uint64_t address, const Elf_Data *data)
{
    const uint8_t *bytes = data->d_buf;
    if (data->d_size < 12 || bytes[0] != 1 || bytes[2] != DW_EH_PE_udata4 || bytes[3] != (DW_EH_PE_datarel | DW_EH_PE_sdata4))
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
static void find_section(const struct wp_unwind_rows *r, struct frames *f, const GElf_Phdr *table, const Elf_Data *data)
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
        if (!gelf_getphdr(f->elf, (int)i, &load) || load.p_type != PT_LOAD || address < load.p_vaddr || address - load.p_vaddr >= load.p_filesz)
            continue;
        uint64_t size = load.p_filesz - (address - load.p_vaddr);
        Elf_Data *frames = size > FRAMES_LIMIT ? NULL :
            elf_getdata_rawchunk(f->elf, (int64_t)(load.p_offset + (address - load.p_vaddr)), size, ELF_T_BYTE);
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
static int read_each(struct wp_unwind_rows *r, struct frames *f)
{
    int rc = 0;
    for (uint64_t at = f->section.address; !rc && at; at = wp_frame_program_next(&f->section, at)) {
        if (!wp_frame_program_range(&f->section, at, &f->function))
            continue;
        uint64_t begin = f->function.begin, end = f->function.end;
        rc = read_one(r, f, begin, at, end);
        if (!rc)
            rc = add_row(r, end, WP_CFA_NONE, WP_BP_SAME); /* until the next one begins */
    }
    return rc || r->count ? rc : -ENOEXEC;
}

static int read_section(struct wp_unwind_rows *r, Elf *elf)
{
    GElf_Shdr header;
    Elf_Scn *section = wp_frame_section_find(elf, ".eh_frame");
    Elf_Data *data = section && gelf_getshdr(section, &header) && header.sh_size <= FRAMES_LIMIT ? elf_rawdata(section, NULL) : NULL;
    struct frames *f = data && data->d_buf ? calloc(1, sizeof(*f)) : NULL;
    if (!f)
        return data ? -ENOMEM : -ENOEXEC;
    f->elf = elf;
    f->section = (struct wp_frame_section){.bytes = data->d_buf, .size = data->d_size, .address = header.sh_addr, .bp = r->machine->bp,
        .ra = r->machine->ra};
    int rc = read_each(r, f);
    if (f->cfi)
        dwarf_cfi_end(f->cfi);
    free(f);
    return rc;
}

static int read_eh_frame(struct wp_unwind_rows *r, Elf *elf, const GElf_Phdr *table)
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

/* Go's own tracebacks end here too: these begin a stack, or leave one for another (runtime/traceback.go of Go 1.19). */
static bool is_top(const char *name)
{
    static const char *const names[] = {"runtime.mcall", "runtime.mstart", "runtime.goexit", "runtime.rt0_go", "runtime.morestack",
        "runtime.clone", "runtime.systemstack"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        size_t size = strlen(names[i]);
        if (!strncmp(name, names[i], size) && (!name[size] || !strcmp(name + size, ".abi0")))
            return true;
    }
    return false;
}

static void end_in(struct wp_unwind_rows *r, uint64_t address, uint64_t size)
{
    for (unsigned i = 0; i < r->load_count; i++) {
        const struct load *load = &r->loads[i];
        if (address < load->address || address - load->address >= load->size)
            continue;
        uint64_t begin = address - load->address + load->offset;
        for (uint32_t row = 0; row < r->count; row++)
            if (r->rows[row].offset >= begin && r->rows[row].offset - begin < size)
                r->rows[row].cfa = WP_CFA_END;
    }
}

static void end_at_tops(struct wp_unwind_rows *r, Elf *elf)
{
    unsigned found = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB ? elf_getdata(section, NULL) : NULL;
        size_t count = data && header.sh_entsize ? data->d_size / header.sh_entsize : 0;
        for (size_t i = 0; i < count && found < TOPS; i++) {
            GElf_Sym symbol;
            const char *name = gelf_getsym(data, (int)i, &symbol) ? elf_strptr(elf, header.sh_link, symbol.st_name) : NULL;
            if (!name || !is_top(name))
                continue;
            end_in(r, symbol.st_value, symbol.st_size);
            found++;
        }
    }
}

/* Where there is no .eh_frame (Go): .debug_frame, whose addresses are plain. */
static int read_debug_frame(struct wp_unwind_rows *r, Elf *elf, const GElf_Ehdr *header)
{
    Dwarf *dwarf = wp_frame_section_has_debug(elf) ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    Elf_Data *data = dwarf ? wp_frame_section_debug(elf) : NULL;
    struct wp_cfi_check check = {.ident = header->e_ident, .data = data};
    Dwarf_CFI *cfi = data && wp_cfi_check_all(&check) ? dwarf_getcfi(dwarf) : NULL;
    r->longest = check.longest;
    int rc = cfi ? 0 : -ENOEXEC;
    Dwarf_CFI_Entry entry;
    Dwarf_Off at = 0, next = 0;
    for (; !rc && !dwarf_next_cfi(header->e_ident, data, false, at, &next, &entry) && next > at; at = next) {
        uint64_t range[2];
        if (dwarf_cfi_cie_p(&entry) || (size_t)(entry.fde.end - entry.fde.start) < sizeof(range))
            continue;
        memcpy(range, entry.fde.start, sizeof(range));
        if (range[1] && range[0] <= UINT64_MAX - range[1])
            rc = read_function(r, cfi, range[0], range[0] + range[1]);
        if (!rc)
            rc = add_row(r, range[0] + range[1], WP_CFA_NONE, WP_BP_SAME); /* until the next one begins */
    }
    if (dwarf)
        dwarf_end(dwarf);
    end_at_tops(r, elf);
    return rc || r->count ? rc : -ENOEXEC;
}

static int by_offset(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->cfa != WP_CFA_NONE) - (b->cfa != WP_CFA_NONE); /* what begins where another ends comes behind its end */
}

static bool are_sorted(const struct wp_unwind_rows *r)
{
    for (uint32_t i = 1; i < r->count; i++)
        if (by_offset(&r->rows[i], &r->rows[i - 1]) < 0)
            return false;
    return true;
}

static int read_elf(struct wp_unwind_rows *r, Elf *elf)
{
    GElf_Ehdr header;
    size_t count = 0;
    int rc = -ENOEXEC;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || header.e_machine != r->machine->elf)
        return rc;
    elf_getphdrnum(elf, &count);
    GElf_Phdr table = {0};
    for (size_t i = 0; i < count && i < 4096; i++) {
        GElf_Phdr program;
        if (!gelf_getphdr(elf, (int)i, &program))
            continue;
        if (program.p_type == PT_LOAD && program.p_flags & PF_X && r->load_count < LOADS)
            r->loads[r->load_count++] = (struct load){program.p_vaddr, program.p_offset, program.p_filesz};
        if (program.p_type == PT_GNU_EH_FRAME && !table.p_type) /* libdw, too, takes the first */
            table = program;
    }
    if (table.p_filesz && table.p_filesz < FILE_LIMIT)
        rc = read_eh_frame(r, elf, &table);
    else
        rc = read_section(r, elf);
    return rc == -ENOEXEC ? read_debug_frame(r, elf, &header) : rc;
}

static int read_rows(struct wp_unwind_rows **rows, Elf *elf, unsigned machine, struct wp_error *err)
{
    struct wp_unwind_rows *r = calloc(1, sizeof(*r));
    if (r)
        r->machine = wp_frame_machine_of(machine);
    int rc = !r ? -ENOMEM : r->machine ? read_elf(r, elf) : -ENOEXEC;
    elf_end(elf);
    if (rc) {
        wp_unwind_rows_destroy(r);
        return wp_error_set(err, rc, rc == -ENOEXEC ? "no .eh_frame or .debug_frame of this machine" : "more rows than fit");
    }
    if (r->count && !are_sorted(r)) /* as linkers leave them */
        qsort(r->rows, r->count, sizeof(*r->rows), by_offset);
    *rows = r;
    return 0;
}

int wp_unwind_rows_read_of(struct wp_unwind_rows **rows, int fd, unsigned machine, struct wp_error *err)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size > FILE_LIMIT)
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

/* False: it is full. A row that says what the one before it says is left out. */
static bool put(struct wp_unwind_page *page, uint16_t start, const struct row *row)
{
    struct wp_unwind_row *last = page->count ? &page->rows[page->count - 1] : NULL;
    if (last && last->start == start) /* the later row of one place */
        last = --page->count ? last - 1 : NULL;
    if (last && last->cfa == row->cfa && last->bp == row->bp)
        return true;
    if (page->count == WP_UNWIND_ROWS - 1)
        return false;
    page->rows[page->count++] = (struct wp_unwind_row){start, row->cfa, row->bp};
    return true;
}

/* The rows of [begin, end), of which *next is the first; false: they do not fit. `whole`: begin of the whole page. */
static bool fill(const struct wp_unwind_rows *r, uint32_t *next, uint64_t whole, uint64_t begin, uint64_t end,
    struct wp_unwind_page *page)
{
    bool fits = true;
    uint32_t i = *next;
    *page = (struct wp_unwind_page){0};
    if (i && (i == r->count || r->rows[i].offset != begin))
        put(page, (uint16_t)(begin - whole), &r->rows[i - 1]); /* the rule goes on from the page before */
    for (; i < r->count && r->rows[i].offset < end; i++)
        fits = put(page, (uint16_t)(r->rows[i].offset - whole), &r->rows[i]) && fits;
    *next = i;
    return fits;
}

struct pages {
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page);
    void *context;
    struct wp_unwind_stats *stats;
    const struct wp_unwind_rows *rows;
};

static int give(const struct pages *p, uint32_t number, const struct wp_unwind_page *page)
{
    p->stats->pages++;
    return p->page(p->context, number, page);
}

/* The page of a level that begins at `begin`, and if it is full the finer ones in it. */
static int give_level(const struct pages *p, uint32_t *next, unsigned level, uint64_t begin)
{
    const uint64_t size = 1u << WP_UNWIND_LEVEL_BITS(level), whole = begin >> WP_UNWIND_PAGE_BITS << WP_UNWIND_PAGE_BITS;
    uint32_t before = *next;
    struct wp_unwind_page page;
    bool fits = fill(p->rows, next, whole, begin, begin + size, &page);
    if (!fits && level + 1 < WP_UNWIND_LEVELS) {
        page.count = WP_UNWIND_SPLIT;
        int rc = give(p, WP_UNWIND_NUMBER(level, begin), &page);
        *next = before;
        for (unsigned i = 0; !rc && i < 1u << WP_UNWIND_SPLIT_BITS; i++)
            rc = give_level(p, next, level + 1, begin + (i * size >> WP_UNWIND_SPLIT_BITS));
        return rc;
    }
    if (!fits) { /* no rule at all is better than one of another place */
        p->stats->crowded_pages++;
        page = (struct wp_unwind_page){.count = 1, .rows[0] = {(uint16_t)(begin - whole), WP_CFA_NONE, WP_BP_SAME}};
    }
    return page.count ? give(p, WP_UNWIND_NUMBER(level, begin), &page) : 0;
}

int wp_unwind_rows_pages(const struct wp_unwind_rows *r,
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page), void *context, struct wp_unwind_stats *stats)
{
    const uint64_t size = 1u << WP_UNWIND_PAGE_BITS;
    struct pages p = {page, context, stats, r};
    *stats = (struct wp_unwind_stats){.rows = r->count, .odd_rules = r->odd_rules};
    for (uint32_t i = 0; i < r->count;) {
        uint64_t first = r->rows[i].offset / size * size;
        int rc = give_level(&p, &i, 0, first);
        /* Pages that lie whole within the last rule. */
        uint64_t next = i < r->count ? r->rows[i].offset : first + size;
        bool has_rule = r->rows[i - 1].cfa != WP_CFA_NONE;
        for (uint64_t at = first + size; has_rule && at + size <= next && !rc; at += size) {
            struct wp_unwind_page whole = {0};
            put(&whole, 0, &r->rows[i - 1]);
            rc = give(&p, WP_UNWIND_NUMBER(0, at), &whole);
        }
        if (rc)
            return rc;
    }
    return 0;
}

uint32_t wp_unwind_rows_count(const struct wp_unwind_rows *r)
{
    return r->count;
}

bool wp_unwind_rows_find(const struct wp_unwind_rows *r, uint64_t offset, struct wp_unwind_row *row)
{
    uint32_t low = 0, high = r->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (r->rows[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return false;
    const struct row *found = &r->rows[low - 1];
    *row = (struct wp_unwind_row){.cfa = found->cfa, .bp = found->bp};
    return true;
}

struct kept_head {
    char magic[8];
    uint64_t checksum;  /* of what follows it */
    uint64_t odd_rules;
    uint32_t count, row_bytes;
};

static const char kept_magic[8] = "WPROWS4";

static uint64_t checksum(const uint8_t *bytes, size_t size)
{
    size_t skip = offsetof(struct kept_head, odd_rules);
    return XXH3_64bits(bytes + skip, size - skip);
}

int wp_unwind_rows_encode(const struct wp_unwind_rows *r, struct wp_buffer *out)
{
    struct kept_head head = {.odd_rules = r->odd_rules, .count = r->count, .row_bytes = sizeof(struct row)};
    size_t at = out->size;
    memcpy(head.magic, kept_magic, sizeof(head.magic));
    wp_buffer_append(out, &head, sizeof(head));
    wp_buffer_append(out, r->rows, r->count * sizeof(*r->rows)); /* nothing lies between the members */
    if (out->failed)
        return -ENOMEM;
    head.checksum = checksum(out->data + at, out->size - at);
    memcpy(out->data + at + offsetof(struct kept_head, checksum), &head.checksum, sizeof(head.checksum));
    return 0;
}

int wp_unwind_rows_decode(struct wp_unwind_rows **rows, const uint8_t *bytes, size_t size)
{
    struct kept_head head;
    if (size < sizeof(head))
        return -EINVAL;
    memcpy(&head, bytes, sizeof(head));
    if (memcmp(head.magic, kept_magic, sizeof(head.magic)) || head.row_bytes != sizeof(struct row) || head.count > ROWS_LIMIT ||
        size != sizeof(head) + (size_t)head.count * sizeof(struct row) || head.checksum != checksum(bytes, size))
        return -EINVAL;
    struct wp_unwind_rows *r = calloc(1, sizeof(*r));
    if (!r || !(r->rows = malloc(((size_t)head.count + 1) * sizeof(*r->rows)))) {
        free(r);
        return -ENOMEM;
    }
    memcpy(r->rows, bytes + sizeof(head), (size_t)head.count * sizeof(*r->rows));
    r->count = r->room = head.count;
    r->odd_rules = head.odd_rules;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].offset >= (uint64_t)FILE_LIMIT ||
            (i && r->rows[i].offset < r->rows[i - 1].offset)) {
            wp_unwind_rows_destroy(r);
            return -EINVAL;
        }
    *rows = r;
    return 0;
}
