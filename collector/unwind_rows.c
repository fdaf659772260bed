/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind_rows.h"

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
#define ROWS_LIMIT (8u << 20)
#define LOADS 64u
#define REG_BP 6  /* System V ABI, AMD64, figure 3.36 */
#define REG_SP 7
#define REG_RA 16

struct row {
    uint64_t offset; /* in the file */
    uint16_t cfa;
    int16_t bp;
};

struct load {
    uint64_t address, offset, size;
};

struct wp_unwind_rows {
    struct row *rows;
    uint32_t count, room;
    uint64_t odd_rules;
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
    struct row row = {.cfa = cfa, .bp = bp};
    unsigned i = 0;
    while (i < r->load_count && (address < r->loads[i].address || address - r->loads[i].address >= r->loads[i].size))
        i++;
    if (i == r->load_count)
        return 0;
    row.offset = address - r->loads[i].address + r->loads[i].offset;
    if (row.offset >= (uint64_t)FILE_LIMIT) /* a header that lies */
        return 0;
    if (r->count == r->room) {
        uint32_t room = r->room ? r->room * 2 : 4096;
        struct row *rows = room > ROWS_LIMIT ? NULL : realloc(r->rows, room * sizeof(*rows));
        if (!rows)
            return room > ROWS_LIMIT ? -E2BIG : -ENOMEM;
        r->rows = rows;
        r->room = room;
    }
    r->rows[r->count++] = row;
    return 0;
}

/* A register and an offset as libdw gives them; false for anything else. */
static bool is_register(const Dwarf_Op *op, unsigned *reg, int64_t *offset)
{
    if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
        *reg = op->atom - DW_OP_breg0;
        *offset = (int64_t)op->number;
        return true;
    }
    *reg = (unsigned)op->number;
    *offset = (int64_t)op->number2;
    return op->atom == DW_OP_bregx;
}

/* 8 + (((pc & 15) >= 11) << 3) on sp: what linkers write for .plt. */
static bool is_plt(const Dwarf_Op *ops, size_t count)
{
    static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit3,
        DW_OP_shl, DW_OP_plus};
    if (count != sizeof(atoms))
        return false;
    for (size_t i = 0; i < count; i++)
        if (ops[i].atom != atoms[i])
            return false;
    return ops[0].number == 8 && ops[1].number == 0;
}

static uint16_t cfa_of(Dwarf_Frame *frame, bool is_signal)
{
    Dwarf_Op *ops, memory[3];
    size_t count;
    unsigned reg;
    int64_t offset;
    if (is_signal)
        return WP_CFA_SIGNAL;
    if (!dwarf_frame_register(frame, REG_RA, memory, &ops, &count) && !count && ops == memory)
        return WP_CFA_END; /* the return address is said to be undefined */
    if (dwarf_frame_cfa(frame, &ops, &count) || !count)
        return WP_CFA_NONE;
    if (is_plt(ops, count))
        return WP_CFA_PLT;
    if (!is_register(&ops[0], &reg, &offset) || offset % 8 || offset < INT16_MIN || offset > INT16_MAX - 7)
        return WP_CFA_NONE;
    uint16_t high = (uint16_t)(int16_t)offset;
    if (count == 1 && reg == REG_SP)
        return (uint16_t)(high | WP_CFA_SP);
    if (count == 1 && reg == REG_BP)
        return (uint16_t)(high | WP_CFA_BP);
    if (count == 2 && reg == REG_BP && ops[1].atom == DW_OP_deref)
        return (uint16_t)(high | WP_CFA_BP_AT);
    return WP_CFA_NONE;
}

static int16_t bp_of(Dwarf_Frame *frame)
{
    Dwarf_Op *ops, memory[3];
    size_t count;
    unsigned reg;
    int64_t offset;
    if (dwarf_frame_register(frame, REG_BP, memory, &ops, &count) || !count)
        return WP_BP_SAME;
    if (ops[0].atom == DW_OP_call_frame_cfa) { /* put before every rule, also before those that do not use it */
        if (count == 2 && is_register(&ops[1], &reg, &offset) && reg == REG_BP && !offset)
            return WP_BP_AT_BP;
        int64_t at = count == 1 ? 0 : ops[1].atom == DW_OP_plus_uconst ? (int64_t)ops[1].number : 1;
        return at % 8 || at / 8 < -30000 || at / 8 > 30000 ? WP_BP_SAME : (int16_t)(at / 8);
    }
    return WP_BP_SAME;
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
        if (dwarf_cfi_addrframe(cfi, at, &frame))
            break;
        if (dwarf_frame_info(frame, &from, &to, &is_signal) < 0 || to <= at) {
            free(frame);
            break;
        }
        uint16_t cfa = cfa_of(frame, is_signal);
        rc = add_row(r, at, cfa, bp_of(frame));
        r->odd_rules += cfa == WP_CFA_NONE;
        free(frame);
        at = to;
    }
    return rc || at >= next ? rc : add_row(r, at, WP_CFA_NONE, WP_BP_SAME); /* code between functions has no rule */
}

/* Where functions begin: the sorted table of .eh_frame_hdr (Linux Standard Base, 10.6.2), in the one form that is made. */
static int read_functions(struct wp_unwind_rows *r, Dwarf_CFI *cfi, uint64_t address, const Elf_Data *data)
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
        int32_t start, next = INT32_MAX;
        memcpy(&start, bytes + 8 + skip + 8 * (size_t)i, 4);
        if (i + 1 < count)
            memcpy(&next, bytes + 8 + skip + 8 * (size_t)(i + 1), 4);
        rc = read_function(r, cfi, address + (uint64_t)(int64_t)start, next == INT32_MAX ? UINT64_MAX : address + (uint64_t)(int64_t)next);
    }
    return rc;
}

static int by_offset(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static int read_elf(struct wp_unwind_rows *r, Elf *elf)
{
    GElf_Ehdr header;
    size_t count = 0;
    int rc = -ENOEXEC;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64)
        return rc;
    elf_getphdrnum(elf, &count);
    GElf_Phdr table = {0};
    for (size_t i = 0; i < count && i < 4096; i++) {
        GElf_Phdr program;
        if (!gelf_getphdr(elf, (int)i, &program))
            continue;
        if (program.p_type == PT_LOAD && program.p_flags & PF_X && r->load_count < LOADS)
            r->loads[r->load_count++] = (struct load){program.p_vaddr, program.p_offset, program.p_filesz};
        if (program.p_type == PT_GNU_EH_FRAME)
            table = program;
    }
    Dwarf_CFI *cfi = table.p_filesz && table.p_filesz < FILE_LIMIT ? dwarf_getcfi_elf(elf) : NULL;
    Elf_Data *data = cfi ? elf_getdata_rawchunk(elf, (int64_t)table.p_offset, table.p_filesz, ELF_T_BYTE) : NULL;
    if (data)
        rc = read_functions(r, cfi, table.p_vaddr, data);
    if (cfi)
        dwarf_cfi_end(cfi);
    return rc;
}

static int read_rows(struct wp_unwind_rows **rows, Elf *elf, struct wp_error *err)
{
    struct wp_unwind_rows *r = calloc(1, sizeof(*r));
    int rc = r ? read_elf(r, elf) : -ENOMEM;
    elf_end(elf);
    if (rc) {
        wp_unwind_rows_destroy(r);
        return wp_error_set(err, rc, rc == -ENOEXEC ? "no .eh_frame of this machine" : "more rows than fit");
    }
    if (r->count)
        qsort(r->rows, r->count, sizeof(*r->rows), by_offset);
    *rows = r;
    return 0;
}

int wp_unwind_rows_read(struct wp_unwind_rows **rows, int fd, struct wp_error *err)
{
    struct stat status;
    if (fstat(fd, &status) || !S_ISREG(status.st_mode) || status.st_size > FILE_LIMIT)
        return wp_error_set(err, -ENOEXEC, "no file that could hold code");
    elf_version(EV_CURRENT);
    return read_rows(rows, elf_begin(fd, ELF_C_READ, NULL), err);
}

int wp_unwind_rows_parse(struct wp_unwind_rows **rows, const void *image, size_t size, struct wp_error *err)
{
    elf_version(EV_CURRENT);
    return read_rows(rows, elf_memory((char *)image, size), err);
}

struct paging {
    struct wp_unwind_page page;
    uint32_t number, wanted; /* wanted: rows it should have */
    bool is_open;
};

static void put(struct paging *p, uint16_t start, const struct row *row)
{
    p->wanted++;
    if (p->page.count && p->page.rows[p->page.count - 1].start == start)
        p->page.count--; /* the later row of one place */
    if (p->page.count < WP_UNWIND_ROWS - 1)
        p->page.rows[p->page.count++] = (struct wp_unwind_row){start, row->cfa, row->bp};
}

int wp_unwind_rows_pages(const struct wp_unwind_rows *r,
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page), void *context, struct wp_unwind_stats *stats)
{
    const uint64_t size = 1u << WP_UNWIND_PAGE_BITS;
    *stats = (struct wp_unwind_stats){.rows = r->count, .odd_rules = r->odd_rules};
    uint32_t i = 0;
    while (i < r->count) {
        struct paging p = {.number = (uint32_t)(r->rows[i].offset / size)};
        uint64_t first = (uint64_t)p.number * size, next = i + 1 < r->count ? r->rows[i + 1].offset : first + size;
        if (i && r->rows[i].offset != first)
            put(&p, 0, &r->rows[i - 1]); /* the rule goes on from the page before */
        for (; i < r->count && r->rows[i].offset < first + size; i++)
            put(&p, (uint16_t)(r->rows[i].offset - first), &r->rows[i]);
        int rc = p.wanted < WP_UNWIND_ROWS ? page(context, p.number, &p.page) : 0;
        stats->pages++;
        stats->crowded_pages += p.wanted >= WP_UNWIND_ROWS;
        if (rc)
            return rc;
        /* Pages that lie whole within the last rule. */
        next = i < r->count ? r->rows[i].offset : first + size;
        bool has_rule = r->rows[i - 1].cfa != WP_CFA_NONE;
        for (uint64_t at = first + size; has_rule && at + size <= next && !rc; at += size) {
            struct paging whole = {0};
            put(&whole, 0, &r->rows[i - 1]);
            rc = page(context, (uint32_t)(at / size), &whole.page);
            stats->pages++;
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

static const char kept_magic[8] = "WPROWS1";

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
    for (uint32_t i = 0; i < r->count; i++) { /* without what lies between the members */
        struct row row;
        memset(&row, 0, sizeof(row));
        row.offset = r->rows[i].offset;
        row.cfa = r->rows[i].cfa;
        row.bp = r->rows[i].bp;
        wp_buffer_append(out, &row, sizeof(row));
    }
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
        if ((r->rows[i].cfa & 7) > WP_CFA_END || r->rows[i].offset >= (uint64_t)FILE_LIMIT ||
            (i && r->rows[i].offset < r->rows[i - 1].offset)) {
            wp_unwind_rows_destroy(r);
            return -EINVAL;
        }
    *rows = r;
    return 0;
}
