/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/unwind/unwind_rows.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define OFFSETS ((uint64_t)WP_UNWIND_FILE_LIMIT)
#define ROWS_LIMIT (8u << 20)
#define LOADS 64u

struct row {
    uint32_t offset; /* in the file; below OFFSETS */
    uint16_t cfa;
    int16_t bp;
};

_Static_assert(sizeof(struct row) == 8, "kept on disk as it is");

struct load {
    uint64_t address, offset, size;
};

struct wp_unwind_rows {
    struct row *rows;
    uint32_t count, room;
    uint32_t settled; /* of them, which are in order */
    uint64_t odd_rules;
    struct load loads[LOADS];
    unsigned load_count;
};

struct wp_unwind_rows *wp_unwind_rows_create(void)
{
    return calloc(1, sizeof(struct wp_unwind_rows));
}

void wp_unwind_rows_destroy(struct wp_unwind_rows *r)
{
    if (!r)
        return;
    free(r->rows);
    free(r);
}

void wp_unwind_rows_load(struct wp_unwind_rows *r, uint64_t address, uint64_t offset, uint64_t size)
{
    if (r->load_count < LOADS)
        r->loads[r->load_count++] = (struct load){address, offset, size};
}

/* Where the code at an address stands in the file; false: it is not loaded, or a header lies. */
static bool offset_of(const struct wp_unwind_rows *r, uint64_t address, uint64_t *offset)
{
    unsigned i = 0;
    while (i < r->load_count && (address < r->loads[i].address || address - r->loads[i].address >= r->loads[i].size))
        i++;
    if (i == r->load_count)
        return false;
    *offset = address - r->loads[i].address + r->loads[i].offset;
    return *offset < OFFSETS;
}

static int add_row(struct wp_unwind_rows *r, uint64_t address, uint16_t cfa, int16_t bp)
{
    uint64_t offset;
    if (!offset_of(r, address, &offset))
        return 0;
    if (r->count >= ROWS_LIMIT)
        return -E2BIG;
    if (WP_ARRAY_FIT(r->rows, r->room, r->count + 1))
        return -ENOMEM;
    r->rows[r->count++] = (struct row){(uint32_t)offset, cfa, bp};
    return 0;
}

int wp_unwind_rows_add(struct wp_unwind_rows *r, uint64_t address, const struct wp_unwind_row *rule)
{
    r->odd_rules += rule->cfa == WP_CFA_NONE;
    return add_row(r, address, rule->cfa, rule->bp);
}

int wp_unwind_rows_gap(struct wp_unwind_rows *r, uint64_t address)
{
    return add_row(r, address, WP_CFA_NONE, WP_BP_SAME);
}

void wp_unwind_rows_end(struct wp_unwind_rows *r, uint64_t address, uint64_t size, uint16_t end)
{
    uint64_t begin;
    if (!offset_of(r, address, &begin))
        return;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].offset >= begin && r->rows[i].offset - begin < size)
            r->rows[i].cfa = end;
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

void wp_unwind_rows_settle(struct wp_unwind_rows *r)
{
    if (r->count && !are_sorted(r)) /* as linkers leave them */
        qsort(r->rows, r->count, sizeof(*r->rows), by_offset);
    r->settled = r->count;
}

/* The rule at an offset in the file, as the kernel side finds it; false: there is none. */
static bool unwind_rows_find(const struct wp_unwind_rows *r, uint64_t offset, struct wp_unwind_row *row)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, r->settled, r->rows[middle].offset <= offset);
    if (!low)
        return false;
    const struct row *found = &r->rows[low - 1];
    *row = (struct wp_unwind_row){.cfa = found->cfa, .bp = found->bp};
    return true;
}

bool wp_unwind_rows_has(const struct wp_unwind_rows *r, uint64_t address)
{
    uint64_t offset;
    struct wp_unwind_row row;
    return offset_of(r, address, &offset) && unwind_rows_find(r, offset, &row) && row.cfa != WP_CFA_NONE;
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

static int emit_page(const struct pages *p, uint32_t number, const struct wp_unwind_page *page)
{
    p->stats->pages++;
    return p->page(p->context, number, page);
}

/* The page of a level that begins at `begin`, and if it is full the finer ones in it. */
static int emit_level(const struct pages *p, uint32_t *next, unsigned level, uint64_t begin)
{
    const uint64_t size = 1u << WP_UNWIND_LEVEL_BITS(level),
                   whole = begin >> WP_UNWIND_PAGE_BITS << WP_UNWIND_PAGE_BITS;
    uint32_t before = *next;
    struct wp_unwind_page page;
    bool fits = fill(p->rows, next, whole, begin, begin + size, &page);
    if (!fits && level + 1 < WP_UNWIND_LEVELS) {
        page.count = WP_UNWIND_SPLIT;
        int rc = emit_page(p, WP_UNWIND_NUMBER(level, begin), &page);
        *next = before;
        for (unsigned i = 0; !rc && i < 1u << WP_UNWIND_SPLIT_BITS; i++)
            rc = emit_level(p, next, level + 1, begin + (i * size >> WP_UNWIND_SPLIT_BITS));
        return rc;
    }
    if (!fits) { /* no rule at all is better than one of another place */
        p->stats->crowded_pages++;
        page = (struct wp_unwind_page){.count = 1, .rows[0] = {(uint16_t)(begin - whole), WP_CFA_NONE, WP_BP_SAME}};
    }
    return page.count ? emit_page(p, WP_UNWIND_NUMBER(level, begin), &page) : 0;
}

int wp_unwind_rows_pages(const struct wp_unwind_rows *r,
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page), void *context,
    struct wp_unwind_stats *stats)
{
    const uint64_t size = 1u << WP_UNWIND_PAGE_BITS;
    struct pages p = {page, context, stats, r};
    *stats = (struct wp_unwind_stats){.rows = r->count, .odd_rules = r->odd_rules};
    for (uint32_t i = 0; i < r->count;) {
        uint64_t first = r->rows[i].offset / size * size;
        int rc = emit_level(&p, &i, 0, first);
        if (rc)
            return rc;
        /* Pages that lie whole within the last rule. */
        uint64_t next = i < r->count ? r->rows[i].offset : first + size;
        bool has_rule = r->rows[i - 1].cfa != WP_CFA_NONE;
        for (uint64_t at = first + size; has_rule && at + size <= next && !rc; at += size) {
            struct wp_unwind_page whole = {0};
            put(&whole, 0, &r->rows[i - 1]);
            rc = emit_page(&p, WP_UNWIND_NUMBER(0, at), &whole);
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

struct kept_head {
    char magic[8];
    uint64_t checksum; /* of what follows it */
    uint64_t odd_rules;
    uint32_t count, row_bytes;
};

static const char kept_magic[8] = "WPROWSA";

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
    if (memcmp(head.magic, kept_magic, sizeof(head.magic)) || head.row_bytes != sizeof(struct row) ||
        head.count > ROWS_LIMIT || size != sizeof(head) + (size_t)head.count * sizeof(struct row) ||
        head.checksum != checksum(bytes, size))
        return -EINVAL;
    struct wp_unwind_rows *r = calloc(1, sizeof(*r));
    if (!r || !(r->rows = malloc(((size_t)head.count + 1) * sizeof(*r->rows)))) {
        free(r);
        return -ENOMEM;
    }
    memcpy(r->rows, bytes + sizeof(head), (size_t)head.count * sizeof(*r->rows));
    r->count = r->room = r->settled = head.count;
    r->odd_rules = head.odd_rules;
    for (uint32_t i = 0; i < r->count; i++)
        if (r->rows[i].offset >= OFFSETS || (i && r->rows[i].offset < r->rows[i - 1].offset)) {
            wp_unwind_rows_destroy(r);
            return -EINVAL;
        }
    *rows = r;
    return 0;
}
