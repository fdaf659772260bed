/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/code_flow.h"

#include "collector/elf/x86_insn.h"
#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_MOST 1024u /* jumps of one table */
#define PASSES 8u        /* each knows more functions that do not return */
#define CALLER 8         /* the return address alone lies between sp and the CFA */
#define DEEPEST 32760

/* Of the first byte of a function. RETURNED: in the pass before, in some way. IS_FOUND: in this pass, by what stands
 * before it. */
enum mark { BEGINS = 1, IS_FIRST = 2, RETURNS = 4, RETURNED = 8, IS_ODD = 16, IS_FOUND = 32 };

struct state {
    int16_t depth; /* CFA = sp + depth; -1: not known */
    int16_t above; /* CFA = bp + above; 0: not so */
    int16_t bp_at;
};

struct place {
    struct state state;
    uint32_t owner; /* 1 + where its function begins; 0: no flow came here */
};

struct path {
    struct state state;
    uint32_t at, owner;
};

struct wp_code_flow {
    const uint8_t *code;
    size_t size;
    uint64_t address;
    wp_code_flow_data data;
    void *data_context;
    struct place *places; /* owned; by byte */
    uint8_t *marks;       /* owned; by byte */
    struct path *paths;   /* owned; to be followed */
    size_t path_count, path_room;
    size_t ways_left; /* of tables in this pass: as many as there are bytes, whatever a file claims */
    bool has_failed;
};

struct wp_code_flow *wp_code_flow_create(
    const uint8_t *code, size_t size, uint64_t address, wp_code_flow_data data, void *context)
{
    struct wp_code_flow *f = size && size <= WP_CODE_FLOW_BYTES ? calloc(1, sizeof(*f)) : NULL;
    if (!f)
        return NULL;
    *f = (struct wp_code_flow){.code = code, .size = size, .address = address, .data = data, .data_context = context};
    f->places = calloc(size, sizeof(*f->places));
    f->marks = calloc(size, 1);
    if (!f->places || !f->marks) {
        wp_code_flow_destroy(f);
        return NULL;
    }
    return f;
}

void wp_code_flow_destroy(struct wp_code_flow *f)
{
    if (!f)
        return;
    free(f->places);
    free(f->marks);
    free(f->paths);
    free(f);
}

static bool inside(const struct wp_code_flow *f, uint64_t address, uint32_t *at)
{
    *at = (uint32_t)(address - f->address);
    return address >= f->address && address - f->address < f->size;
}

void wp_code_flow_enter(struct wp_code_flow *f, uint64_t address, bool is_end)
{
    uint32_t at;
    if (inside(f, address, &at))
        f->marks[at] |= is_end ? BEGINS | IS_FIRST : BEGINS;
}

/* Code of another function may return, however it came to it. */
static bool is_foreign(const struct wp_code_flow *f, uint32_t at, uint32_t owner)
{
    return at >= f->size || (f->places[at].owner && f->places[at].owner != owner) ||
        (f->marks[at] & BEGINS && at + 1 != owner);
}

static void go(struct wp_code_flow *f, uint32_t at, struct state state, uint32_t owner)
{
    if (is_foreign(f, at, owner)) {
        f->marks[owner - 1] |= RETURNS;
        return;
    }
    if (f->places[at].owner)
        return;
    if (WP_ARRAY_FIT(f->paths, f->path_room, f->path_count + 1)) {
        f->has_failed = true;
        return;
    }
    f->paths[f->path_count++] = (struct path){state, at, owner};
}

/* Compilers compare with a constant before a jump by a table: there are as many ways, plus one. False: there is no such
 * table. */
static bool go_by_table(struct wp_code_flow *f, const struct path *p, uint64_t table, bool is_relative, int64_t most)
{
    bool is_one = false;
    for (unsigned i = 0; i < TABLE_MOST && (int64_t)i <= most && f->ways_left; i++) {
        f->ways_left--;
        int32_t near = 0;
        uint64_t to = 0;
        uint32_t at;
        if (!(is_relative ? f->data(f->data_context, table + 4 * i, &near, 4)
                          : f->data(f->data_context, table + 8 * i, &to, 8)))
            break;
        if (is_relative)
            to = table + (uint64_t)(int64_t)near;
        if (!inside(f, to, &at))
            break;
        go(f, at, p->state, p->owner);
        is_one = true;
    }
    return is_one;
}

static void set_depth(struct state *s, int64_t depth)
{
    s->depth = (int16_t)(s->depth < 0 || depth % 8 || depth < 0 || depth > DEEPEST ? -1 : depth);
}

static void apply(struct state *s, const struct wp_x86_insn *insn)
{
    switch ((enum wp_x86_kind)insn->kind) {
    case WP_X86_PUSH:
        set_depth(s, s->depth + insn->value);
        if (insn->is_bp && s->depth > 0 && !s->bp_at)
            s->bp_at = s->depth;
        break;
    case WP_X86_POP:
        set_depth(s, s->depth - insn->value);
        if (insn->is_bp)
            s->above = s->bp_at = 0;
        break;
    case WP_X86_ADD_SP:
        set_depth(s, s->depth - insn->value);
        break;
    case WP_X86_SP_OF_BP:
        s->depth = s->above ? 0 : -1;
        set_depth(s, s->above - insn->value);
        break;
    case WP_X86_BP_OF_SP:
        s->above = s->bp_at && s->depth > 0 && s->depth - insn->value < DEEPEST ? (int16_t)(s->depth - insn->value) : 0;
        break;
    case WP_X86_LEAVE:
        s->depth = s->above ? 0 : -1;
        set_depth(s, s->above - 8);
        s->above = s->bp_at = 0;
        break;
    case WP_X86_LOSE_SP:
        s->depth = -1;
        break;
    default:
        break;
    }
}

static bool returns(const struct wp_code_flow *f, uint32_t at)
{
    return !(f->marks[at] & BEGINS) || f->marks[at] & RETURNED;
}

/* A jump out of the function ends it as a return does. With another stack than it began with the flow has come from a
 * call that does not return into what stands behind it: that is no way back. */
static void leave(struct wp_code_flow *f, const struct path *p)
{
    f->marks[p->owner - 1] |= p->state.depth == CALLER ? RETURNS : f->marks[p->owner - 1] & IS_FIRST ? 0 : IS_ODD;
}

struct hints {
    uint64_t table; /* the last place beside the code whose address was taken */
    int64_t compared;
};

/* By a register or memory, or to another function. */
static void jump_away(
    struct wp_code_flow *f, const struct path *p, const struct wp_x86_insn *insn, const struct hints *hints)
{
    uint64_t table = insn->has_address ? (uint64_t)insn->address : hints->table;
    bool is_by_table = !insn->is_direct && hints->compared >= 0 && table &&
        go_by_table(f, p, table, !insn->has_address, hints->compared);
    if (!is_by_table)
        leave(f, p);
    else if (p->state.depth == CALLER) /* it may be a call in the last place all the same */
        f->marks[p->owner - 1] |= RETURNS;
}

/* False: the path ends here. */
static bool step(
    struct wp_code_flow *f, struct path *p, const struct wp_x86_insn *insn, struct hints *hints, bool is_first_pass)
{
    uint64_t after = f->address + p->at + insn->size;
    uint32_t to = 0;
    bool is_here = insn->is_direct && inside(f, after + (uint64_t)insn->value, &to);
    if (insn->has_address && insn->is_relative)
        hints->table = after + (uint64_t)insn->address;
    if (insn->is_compare)
        hints->compared = insn->value;
    apply(&p->state, insn);
    switch ((enum wp_x86_kind)insn->kind) {
    case WP_X86_RETURN:
        leave(f, p);
        return false;
    case WP_X86_STOP:
        return false;
    case WP_X86_CALL:
        return !is_here || is_first_pass || returns(f, to);
    case WP_X86_BRANCH:
        if (is_here)
            go(f, to, p->state, p->owner);
        else
            f->marks[p->owner - 1] |= RETURNS;
        return true;
    case WP_X86_JUMP:
        if (is_here && (!(f->marks[to] & BEGINS) || to + 1 == p->owner)) {
            go(f, to, p->state, p->owner);
            return false;
        }
        jump_away(f, p, insn, hints);
        return false;
    default:
        return true;
    }
}

static void follow(struct wp_code_flow *f, struct path p, bool is_first_pass)
{
    struct hints hints = {.compared = -1};
    for (;;) {
        struct wp_x86_insn insn;
        if (is_foreign(f, p.at, p.owner)) {
            f->marks[p.owner - 1] |= RETURNS;
            return;
        }
        if (f->places[p.at].owner)
            return;
        if (!wp_x86_insn_read(&insn, f->code + p.at, f->size - p.at)) {
            f->marks[p.owner - 1] |= RETURNS; /* who knows */
            return;
        }
        f->places[p.at] = (struct place){p.state, p.owner};
        if (!step(f, &p, &insn, &hints, is_first_pass))
            return;
        p.at += insn.size;
    }
}

/* All functions that are called by name, from one end to the other. */
static void sweep(struct wp_code_flow *f)
{
    struct wp_x86_insn insn;
    for (size_t at = 0; at < f->size; at += insn.size) {
        if (!wp_x86_insn_read(&insn, f->code + at, f->size - at)) {
            insn.size = 1;
            continue;
        }
        uint64_t after = f->address + at + insn.size;
        if (insn.kind == WP_X86_CALL && insn.is_direct && insn.value)
            wp_code_flow_enter(f, after + (uint64_t)insn.value, false);
    }
}

static void follow_function(struct wp_code_flow *f, uint32_t at, bool is_first_pass)
{
    go(f, at, (struct state){.depth = CALLER}, at + 1);
    while (f->path_count)
        follow(f, f->paths[--f->path_count], is_first_pass);
}

/* False: nothing new is known of what returns. */
static bool pass(struct wp_code_flow *f, bool is_first_pass)
{
    size_t returned = 0, before = 0;
    f->ways_left = f->size;
    memset(f->places, 0, f->size * sizeof(*f->places));
    for (size_t at = 0; at < f->size; at++) {
        before += !!(f->marks[at] & RETURNED);
        returned += !!(f->marks[at] & (RETURNS | IS_ODD));
        unsigned kept = f->marks[at] & IS_FOUND ? 0 : f->marks[at] & (BEGINS | IS_FIRST);
        f->marks[at] = (uint8_t)(kept | (f->marks[at] & (RETURNS | IS_ODD) ? RETURNED : 0));
    }
    for (uint32_t at = 0; at < f->size; at++) {
        if (!(f->marks[at] & BEGINS) || f->places[at].owner)
            continue;
        follow_function(f, at, is_first_pass);
    }
    return is_first_pass || returned != before;
}

/* What nobody calls by name and nothing jumps to, behind what goes on elsewhere: functions that are called by their
 * address. Each is followed at once, for what it jumps to is no function. */
static void find_others(struct wp_code_flow *f, bool is_first_pass)
{
    struct wp_x86_insn insn;
    bool is_over = false;
    for (size_t at = 0; at < f->size; at += insn.size) {
        if (!wp_x86_insn_read(&insn, f->code + at, f->size - at)) {
            insn.size = 1;
            is_over = false;
            continue;
        }
        bool is_seen = f->places[at].owner,
             is_padding = insn.kind == WP_X86_STOP || f->code[at] == 0x90 || f->code[at] == 0x66 ||
            (f->code[at] == 0x0f && insn.size > 2 && f->code[at + 1] == 0x1f);
        if (is_over && !is_seen && !is_padding) {
            f->marks[at] |= BEGINS | IS_FOUND;
            follow_function(f, (uint32_t)at, is_first_pass);
        }
        uint32_t to = 0;
        bool ends = insn.kind == WP_X86_CALL && insn.is_direct && f->places[at].owner && !is_first_pass &&
            inside(f, f->address + at + insn.size + (uint64_t)insn.value, &to) && !returns(f, to);
        is_over = ends || insn.kind == WP_X86_RETURN || insn.kind == WP_X86_STOP || insn.kind == WP_X86_JUMP ||
            (is_over && is_padding && !is_seen);
    }
}

static struct wp_flow_place place_of(const struct wp_code_flow *f, uint32_t at)
{
    const struct place *p = &f->places[at];
    struct wp_flow_place place = {.address = f->address + at};
    if (!p->owner || f->marks[p->owner - 1] & IS_ODD)
        return place;
    place.is_end = f->marks[p->owner - 1] & IS_FIRST || (p->state.depth >= 0 && p->state.depth < CALLER);
    place.cfa_sp = p->state.depth > 0 ? p->state.depth : 0;
    place.cfa_bp = p->state.depth < 0 ? p->state.above : 0;
    place.bp_at = p->state.bp_at;
    place.is_known = place.is_end || place.cfa_sp || place.cfa_bp;
    return place;
}

static bool is_same(const struct wp_flow_place *a, const struct wp_flow_place *b)
{
    return a->is_known == b->is_known && a->is_end == b->is_end && a->cfa_sp == b->cfa_sp && a->cfa_bp == b->cfa_bp &&
        a->bp_at == b->bp_at;
}

/* Code that keeps no stack as C does (Haskell's) looks odd all over. */
static bool is_understood(const struct wp_code_flow *f)
{
    size_t functions = 0, odd = 0;
    for (size_t at = 0; at < f->size; at++) {
        functions += f->places[at].owner == at + 1;
        odd += f->places[at].owner == at + 1 && f->marks[at] & IS_ODD;
    }
    return odd * 5 <= functions;
}

int wp_code_flow_run(
    struct wp_code_flow *f, int (*tell)(void *context, const struct wp_flow_place *place), void *context)
{
    struct wp_flow_place last = {0};
    int rc = 0;
    sweep(f);
    bool is_new = true;
    for (unsigned i = 0; i < PASSES && is_new && !f->has_failed; i++) {
        is_new = pass(f, !i);
        find_others(f, !i);
    }
    if (f->has_failed)
        return -ENOMEM;
    if (!is_understood(f))
        return 0;
    for (uint32_t at = 0; at < f->size && !rc;) {
        struct wp_x86_insn insn = {.size = 1};
        bool is_insn = f->places[at].owner && wp_x86_insn_read(&insn, f->code + at, f->size - at);
        struct wp_flow_place place = place_of(f, at);
        if (!is_same(&place, &last))
            rc = tell(context, &place);
        last = place;
        at += is_insn ? insn.size : 1;
    }
    return rc;
}
