/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/elf/x86_insn.h"

#include <string.h>

#define LONGEST 15u
#define SP 4u
#define BP 5u

struct reader {
    const uint8_t *bytes;
    size_t size, at;
    bool is_short; /* what is read lies behind the end */
    bool has_16, rex_w, is_address_32;
    unsigned rex;
    /* of the ModRM byte */
    bool has_modrm, is_sp_based, has_index;
    unsigned mod, reg, rm;
    int64_t displacement;
};

static int64_t number(struct reader *r, unsigned bytes)
{
    uint64_t value = 0;
    if (r->size - r->at < bytes) {
        r->is_short = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)r->bytes[r->at + i] << (8 * i);
    r->at += bytes;
    if (bytes && bytes < 8 && value >> (8 * bytes - 1)) /* all that are used here have a sign */
        value |= UINT64_MAX << (8 * bytes);
    return (int64_t)value;
}

static unsigned byte(struct reader *r)
{
    return (unsigned)(uint8_t)number(r, 1);
}

static void read_modrm(struct reader *r)
{
    unsigned modrm = byte(r), base;
    r->has_modrm = true;
    r->mod = modrm >> 6;
    r->reg = (modrm >> 3 & 7) | (r->rex & 4) << 1;
    r->rm = (modrm & 7) | (r->rex & 1) << 3;
    if (r->mod == 3)
        return;
    base = modrm & 7;
    if (base == 4) {
        unsigned sib = byte(r);
        r->has_index = (sib >> 3 & 7) != 4 || r->rex & 2;
        base = sib & 7;
        r->rm = base | (r->rex & 1) << 3;
        r->is_sp_based = r->rm == SP;
        if (base == BP && !r->mod)
            r->rm = 16; /* an address alone */
    } else if (base == BP && !r->mod) {
        r->rm = 17; /* beside the code */
    }
    r->displacement = number(r, r->mod == 1 ? 1 : r->mod == 2 || r->rm >= 16 ? 4 : 0);
}

/* Prefixes and REX; the opcode is next. */
static void read_prefixes(struct reader *r)
{
    for (; r->at < r->size && r->at < LONGEST; r->at++) {
        unsigned b = r->bytes[r->at];
        if (b == 0x66)
            r->has_16 = true;
        else if (b == 0x67)
            r->is_address_32 = true;
        else if (b != 0xf0 && b != 0xf2 && b != 0xf3 && b != 0x2e && b != 0x36 && b != 0x3e && b != 0x26 && b != 0x64 &&
            b != 0x65)
            break;
    }
    if (r->at < r->size && r->bytes[r->at] >> 4 == 4) {
        r->rex = r->bytes[r->at++];
        r->rex_w = r->rex & 8;
    }
}

/* Instructions of VEX and EVEX: they leave sp and the flow alone. */
static bool read_vector(struct reader *r, unsigned opcode)
{
    unsigned first = byte(r), map = opcode == 0xc5 ? 1 : opcode == 0xc4 ? first & 0x1f : first & 7;
    if (opcode != 0xc5)
        byte(r);
    if (opcode == 0x62)
        byte(r);
    unsigned code = byte(r);
    bool has_value =
        map == 3 || (map == 1 && ((code >= 0x70 && code <= 0x73) || code == 0xc2 || (code >= 0xc4 && code <= 0xc6)));
    if (map == 1 && code == 0x77)
        return true;
    read_modrm(r);
    number(r, has_value);
    return map && map < 7;
}

static void take_target(struct reader *r, struct wp_x86_insn *insn, enum wp_x86_kind kind, unsigned bytes)
{
    insn->kind = (uint8_t)kind;
    insn->is_direct = true;
    insn->value = number(r, bytes);
}

/* Opcodes after 0x0f. */
static bool read_two(struct reader *r, struct wp_x86_insn *insn)
{
    static const uint8_t plain[] = {
        0x05, 0x06, 0x07, 0x08, 0x09, 0x0b, 0x0e, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x37, 0x77, 0xa2, 0xaa};
    unsigned code = byte(r);
    if (code == 0x38 || code == 0x3a) {
        byte(r);
        read_modrm(r);
        number(r, code == 0x3a);
        return true;
    }
    if (code == 0x0b)
        insn->kind = WP_X86_STOP;
    if (code >> 4 == 8)
        take_target(r, insn, WP_X86_BRANCH, 4);
    if (code == 0xa0 || code == 0xa8)
        *insn = (struct wp_x86_insn){.kind = WP_X86_PUSH, .value = 8};
    if (code == 0xa1 || code == 0xa9)
        *insn = (struct wp_x86_insn){.kind = WP_X86_POP, .value = 8};
    bool is_plain = code >> 4 == 8 || (code >= 0xc8 && code <= 0xcf) || code == 0xa0 || code == 0xa1 || code == 0xa8 ||
        code == 0xa9 || memchr(plain, (int)code, sizeof(plain));
    if (is_plain)
        return true;
    read_modrm(r);
    number(r,
        (code >= 0x70 && code <= 0x73) || code == 0xa4 || code == 0xac || code == 0xba || code == 0xc2 ||
            (code >= 0xc4 && code <= 0xc6));
    return true;
}

/* sp = or bp = what register or address the ModRM byte names; `is_address`: its place and not what is there. */
static void take_move(const struct reader *r, struct wp_x86_insn *insn, unsigned to, bool is_address)
{
    bool is_of_sp = !r->has_index && (is_address ? r->is_sp_based && r->mod != 3 : r->mod == 3 && r->rm == SP);
    bool is_of_bp = !r->has_index && r->rm == BP && (is_address ? r->mod != 3 : r->mod == 3);
    int64_t value = is_address ? r->displacement : 0;
    if (to == SP && is_of_sp)
        *insn = (struct wp_x86_insn){.kind = WP_X86_ADD_SP, .value = value};
    else if (to == SP && is_of_bp)
        *insn = (struct wp_x86_insn){.kind = WP_X86_SP_OF_BP, .value = value};
    else if (to == SP)
        insn->kind = WP_X86_LOSE_SP;
    else if (to == BP && is_of_sp)
        *insn = (struct wp_x86_insn){.kind = WP_X86_BP_OF_SP, .value = value};
}

/* add, or, adc, sbb, and, sub, xor, cmp with a constant */
static void take_sum(const struct reader *r, struct wp_x86_insn *insn, int64_t value)
{
    unsigned what = r->reg & 7;
    if (what == 7) {
        insn->is_compare = true;
        insn->value = value;
    }
    if (r->mod != 3 || r->rm != SP || what == 7)
        return;
    insn->kind = what == 0 || what == 5 ? WP_X86_ADD_SP : WP_X86_LOSE_SP;
    insn->value = what == 5 ? -value : value;
}

static void take_group_5(const struct reader *r, struct wp_x86_insn *insn)
{
    switch (r->reg & 7) {
    case 2:
    case 3:
        insn->kind = WP_X86_CALL;
        break;
    case 4:
    case 5:
        insn->kind = WP_X86_JUMP;
        insn->has_address = r->mod != 3 && r->rm == 16 && r->has_index;
        insn->address = r->displacement;
        break;
    case 6:
        insn->kind = WP_X86_PUSH;
        insn->value = 8;
        break;
    default:
        if (r->mod == 3 && r->rm == SP)
            insn->kind = WP_X86_LOSE_SP;
    }
}

/* One-byte opcodes from 0x80 on that have a ModRM byte, which is read. */
static void take_upper(struct reader *r, struct wp_x86_insn *insn, unsigned opcode, unsigned size_z)
{
    switch (opcode) {
    case 0x80:
    case 0x83:
        take_sum(r, insn, number(r, 1));
        break;
    case 0x81:
        take_sum(r, insn, number(r, size_z));
        break;
    case 0x87:
        if ((r->mod == 3 && r->rm == SP) || r->reg == SP)
            insn->kind = WP_X86_LOSE_SP;
        break;
    case 0x89:
        if (r->mod == 3 && (r->rm == SP || r->rm == BP)) {
            struct reader turned = *r;
            turned.rm = r->reg;
            take_move(&turned, insn, r->rm, false);
        }
        break;
    case 0x8b:
        if (r->reg == SP || (r->reg == BP && r->mod == 3))
            take_move(r, insn, r->reg, false);
        break;
    case 0x8d:
        insn->has_address = r->rm == 17;
        insn->is_relative = true;
        insn->address = r->displacement;
        if (r->reg == SP || r->reg == BP)
            take_move(r, insn, r->reg, true);
        break;
    case 0x8f:
        *insn = (struct wp_x86_insn){.kind = WP_X86_POP, .value = 8};
        break;
    case 0xc0:
    case 0xc1:
    case 0xc6:
        number(r, 1);
        break;
    case 0xc7:
        number(r, size_z);
        break;
    case 0xf6:
    case 0xf7:
        if ((r->reg & 7) < 2)
            number(r, opcode == 0xf6 ? 1 : size_z);
        break;
    case 0xff:
        take_group_5(r, insn);
        break;
    default:
        break;
    }
}

/* Those from 0x80 on without one. */
static bool take_plain(struct reader *r, struct wp_x86_insn *insn, unsigned opcode, unsigned size_z)
{
    if (opcode >= 0x91 && opcode <= 0x97 && ((opcode & 7) | (r->rex & 1) << 3) == SP)
        insn->kind = WP_X86_LOSE_SP;
    if (opcode >= 0xb0 && opcode <= 0xbf)
        number(r, opcode < 0xb8 ? 1 : r->rex_w ? 8 : size_z);
    else if (opcode >= 0xa0 && opcode <= 0xa3)
        number(r, r->is_address_32 ? 4 : 8);
    else if (opcode == 0x9c || opcode == 0x9d)
        *insn = (struct wp_x86_insn){.kind = opcode == 0x9c ? WP_X86_PUSH : WP_X86_POP, .value = 8};
    else if (opcode == 0xa8 || opcode == 0xcd || (opcode >= 0xe4 && opcode <= 0xe7))
        number(r, 1);
    else if (opcode == 0xa9)
        number(r, size_z);
    else if (opcode == 0xc2 || opcode == 0xc3 || opcode == 0xca || opcode == 0xcb || opcode == 0xcf) {
        insn->kind = WP_X86_RETURN;
        number(r, opcode == 0xc2 || opcode == 0xca ? 2 : 0);
    } else if (opcode == 0xc8) {
        number(r, 3);
        insn->kind = WP_X86_LOSE_SP;
    } else if (opcode == 0xc9)
        insn->kind = WP_X86_LEAVE;
    else if (opcode == 0xcc || opcode == 0xf4)
        insn->kind = WP_X86_STOP;
    else if (opcode == 0xe8)
        take_target(r, insn, WP_X86_CALL, 4);
    else if (opcode == 0xe9 || opcode == 0xeb)
        take_target(r, insn, WP_X86_JUMP, opcode == 0xe9 ? 4 : 1);
    else if (opcode >= 0xe0 && opcode <= 0xe3)
        take_target(r, insn, WP_X86_BRANCH, 1);
    return !memchr("\x9a\xce\xd4\xd5\xd6\xea", (int)opcode, 6);
}

static bool read_below_80(struct reader *r, struct wp_x86_insn *insn, unsigned opcode, unsigned size_z)
{
    if (opcode < 0x40) {
        if ((opcode & 7) < 4)
            read_modrm(r);
        else
            insn->value = number(r, (opcode & 7) == 4 ? 1 : (opcode & 7) == 5 ? size_z : 0);
        insn->is_compare = opcode == 0x3c || opcode == 0x3d;
        bool is_to_rm = !(opcode & 2), is_compare = opcode >= 0x38;
        if (r->has_modrm && opcode & 1 && !is_compare && (is_to_rm ? r->mod == 3 && r->rm == SP : r->reg == SP))
            insn->kind = WP_X86_LOSE_SP;
        return (opcode & 7) < 6;
    }
    if (opcode >= 0x50 && opcode < 0x60) {
        unsigned reg = (opcode & 7) | (r->rex & 1) << 3;
        insn->kind = opcode < 0x58 ? WP_X86_PUSH : reg == SP ? WP_X86_LOSE_SP : WP_X86_POP;
        insn->value = 8;
        insn->is_bp = reg == BP;
        return !r->has_16;
    }
    if (opcode == 0x68 || opcode == 0x6a) {
        number(r, opcode == 0x6a ? 1 : size_z);
        *insn = (struct wp_x86_insn){.kind = WP_X86_PUSH, .value = 8};
        return true;
    }
    if (opcode >= 0x70) {
        take_target(r, insn, WP_X86_BRANCH, 1);
        return true;
    }
    if (opcode != 0x63 && opcode != 0x69 && opcode != 0x6b)
        return opcode >= 0x6c; /* ins, outs */
    read_modrm(r);
    number(r, opcode == 0x69 ? size_z : opcode == 0x6b);
    return true;
}

bool wp_x86_insn_read(struct wp_x86_insn *insn, const uint8_t *bytes, size_t size)
{
    struct reader r = {.bytes = bytes, .size = size < LONGEST ? size : LONGEST};
    *insn = (struct wp_x86_insn){0};
    read_prefixes(&r);
    unsigned opcode = byte(&r), size_z = r.has_16 && !r.rex_w ? 2 : 4;
    bool is_one;
    if (opcode == 0x0f)
        is_one = read_two(&r, insn);
    else if (opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62)
        is_one = read_vector(&r, opcode);
    else if (opcode < 0x80)
        is_one = read_below_80(&r, insn, opcode, size_z);
    else {
        bool has_modrm = opcode <= 0x8f || opcode == 0xc0 || opcode == 0xc1 || opcode == 0xc6 || opcode == 0xc7 ||
            (opcode >= 0xd0 && opcode <= 0xd3) || (opcode >= 0xd8 && opcode <= 0xdf) || opcode == 0xf6 ||
            opcode == 0xf7 || opcode >= 0xfe;
        is_one = opcode != 0x82;
        if (has_modrm)
            read_modrm(&r);
        if (has_modrm)
            take_upper(&r, insn, opcode, size_z);
        else
            is_one = take_plain(&r, insn, opcode, size_z);
    }
    insn->size = (uint8_t)r.at;
    return is_one && !r.is_short;
}
