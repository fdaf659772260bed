# SPDX-License-Identifier: Apache-2.0
"""A slow interpreter of call frame information, for what unwind rows are held against. From the books alone: System V ABI AMD64
(figure 3.36, 3.38), DWARF 4 section 6.4, Linux Standard Base 10.6. Nothing of it is shared with the collector or elfutils."""
import bisect, struct

SP, BP, RA = 7, 6, 16
NONE, AT_SP, AT_BP, AT_BP_DEREF, PLT, SIGNAL, END, DI = range(8)  # enum wp_cfa
BP_SAME, BP_AT_BP = 0x7FFF, 0x7FFE
HELD = (0, 4, 9, 11)  # rax, rsi, r9, r11
PLT_OPS = bytes([0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22])


class Reader:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, form):
        value = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value[0]

    def leb(self, signed=False):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value - (1 << shift) if signed and byte & 64 else value

    def block(self):
        size = self.leb()
        self.at += size
        return self.data[self.at - size:self.at]

    def pointer(self, encoding, section):
        """Absolute or relative to where it stands: what linkers write."""
        if encoding == 0xFF:
            return None
        here = section + self.at
        low = encoding & 15
        value = self.leb(low == 9) if low in (1, 9) else self.take({0: "Q", 2: "H", 3: "I", 4: "Q", 10: "h", 11: "i", 12: "q"}[low])
        return (value + (here if encoding & 0x70 == 0x10 else 0)) & (1 << 64) - 1


class Elf:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        assert self.bytes[:6] == b"\x7fELF\x02\x01"
        phoff, shoff = struct.unpack_from("<QQ", self.bytes, 32)
        phsize, phnum, shsize, shnum, names = struct.unpack_from("<HHHHH", self.bytes, 54)
        self.loads = []
        for i in range(phnum):
            kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", self.bytes, phoff + i * phsize)
            if kind == 1 and flags & 1:
                self.loads.append((address, offset, size))
        sections = [struct.unpack_from("<IIQQQQ", self.bytes, shoff + i * shsize) for i in range(shnum)]
        table = sections[names][4]
        self.sections = {}
        for name, _, _, address, offset, size in sections:
            end = self.bytes.index(b"\0", table + name)
            self.sections[self.bytes[table + name:end]] = (address, offset, size)

    def offset(self, address):
        return next((address - at + offset for at, offset, size in self.loads if at <= address < at + size), None)


class Cie:
    def __init__(self, reader, end, section):
        version = reader.take("B")
        stop = reader.data.index(b"\0", reader.at)
        augmentation = reader.data[reader.at:stop].decode()
        reader.at = stop + 1
        self.code, self.data = reader.leb(), reader.leb(True)
        self.ra = reader.take("B") if version == 1 else reader.leb()
        self.encoding, self.is_signal = 0, "S" in augmentation
        self.is_augmented = augmentation.startswith("z")
        stop = reader.leb() + reader.at if self.is_augmented else reader.at
        for letter in augmentation[1:]:
            if letter == "R":
                self.encoding = reader.take("B")
            elif letter == "P":
                reader.pointer(reader.take("B"), section)
            elif letter == "L":
                reader.take("B")
        reader.at = stop
        self.program = reader.data[stop:end]


def run(cie, program, start, end):
    """[(address, cfa, {register: rule})] of one function: each holds up to the next."""
    rows, state, stack, at = [], [("reg", SP, 8), {}], [], start
    first = None

    def execute(reader):
        nonlocal at, state
        while reader.at < len(reader.data):
            op = reader.take("B")
            high, low = op & 0xC0, op & 0x3F
            rules = state[1]
            if high == 0x40 or op in (1, 2, 3, 4):
                rows.append((at, state[0], dict(rules)))
                step = {1: None, 2: "B", 3: "H", 4: "I"}.get(op) if high == 0 else None
                at = reader.take("Q") if op == 1 else at + (low if high else reader.take(step)) * cie.code
            elif high == 0x80:
                rules[low] = ("at", reader.leb() * cie.data)
            elif high == 0xC0:
                restore(rules, low)
            elif op == 5:
                register = reader.leb()
                rules[register] = ("at", reader.leb() * cie.data)
            elif op == 6:
                restore(rules, reader.leb())
            elif op == 7:
                rules[reader.leb()] = ("undefined",)
            elif op == 8:
                rules.pop(reader.leb(), None)
            elif op == 9:
                register = reader.leb()
                rules[register] = ("register", reader.leb())
            elif op == 10:
                stack.append((state[0], dict(rules)))
            elif op == 11:
                cfa, saved = stack.pop()
                state = [cfa, dict(saved)]
            elif op in (12, 18):
                register = reader.leb()
                state[0] = ("reg", register, reader.leb(op == 18) * (cie.data if op == 18 else 1))
            elif op == 13:
                state[0] = ("reg", reader.leb(), state[0][2])
            elif op in (14, 19):
                state[0] = ("reg", state[0][1], reader.leb(op == 19) * (cie.data if op == 19 else 1))
            elif op == 15:
                state[0] = ("expression", bytes(reader.block()))
            elif op in (16, 22):
                register = reader.leb()
                rules[register] = ("expression" if op == 16 else "value expression", bytes(reader.block()))
            elif op == 17:
                register = reader.leb()
                rules[register] = ("at", reader.leb(True) * cie.data)
            elif op == 0x2E:
                reader.leb()  # GNU_args_size
            elif op != 0:
                raise ValueError(f"instruction {op:#x}")

    def restore(rules, register):
        if register in first:
            rules[register] = first[register]
        else:
            rules.pop(register, None)

    first = {}
    execute(Reader(cie.program))
    first = dict(state[1])
    rows.clear()
    at = start
    execute(Reader(program))
    rows.append((at, state[0], dict(state[1])))
    return [row for i, row in enumerate(rows) if (i + 1 == len(rows) or rows[i + 1][0] > row[0]) and row[0] < end]


def cfa_value(cie, cfa, rules):
    if cie.is_signal:
        return SIGNAL
    if rules.get(cie.ra) == ("undefined",):
        return END
    if cfa[0] == "expression":
        if cfa[1] == PLT_OPS:
            return PLT
        reader = Reader(cfa[1])
        if cfa[1][0] == 0x76:  # breg6
            reader.at = 1
            offset = reader.leb(True)
            if cfa[1][reader.at:] == b"\x06" and offset % 8 == 0:
                return offset & 0xFFFF | AT_BP_DEREF
        return NONE
    if cfa[2] % 8 or not -32768 <= cfa[2] <= 32760:
        return NONE
    if rules.get(cie.ra) == ("register", 5) and cfa[1] == SP:
        return cfa[2] & 0xFFFF | DI
    return {SP: AT_SP, BP: AT_BP}[cfa[1]] | cfa[2] & 0xFFFF if cfa[1] in (SP, BP) else NONE


def bp_value(rules):
    rule = rules.get(BP, ())
    if rule[:1] == ("at",):
        return rule[1] // 8 if rule[1] % 8 == 0 and abs(rule[1] // 8) <= 30000 else BP_SAME
    return BP_AT_BP if rule == ("expression", b"\x76\x00") else BP_SAME


def kept_sp(expression):
    """(offset, above) of *(rsp + offset) + above, or None."""
    reader = Reader(expression, 1)
    offset = reader.leb(True)
    if expression[0] != 0x77 or expression[reader.at:reader.at + 2] != b"\x06\x23":
        return None
    reader.at += 2
    above = reader.leb()
    is_held = reader.at == len(expression) and offset % 8 == above % 8 == 0 and -8 <= offset <= 0xFFE * 8 and 8 <= above <= 88
    return (offset, above) if is_held else None


def row_value(cie, cfa, rules):
    """What a row says; a frame of 32 KiB and more, and one whose caller's sp is kept, have forms of their own (collector/bpf/unwind_row.h)."""
    value, bp = cfa_value(cie, cfa, rules), bp_value(rules)
    is_kept = rules.get(cie.ra, ("at",))[0] == "at"
    kept = kept_sp(cfa[1]) if value == NONE and cfa[0] == "expression" else None
    if kept and is_kept and (-16 <= bp <= -2 or bp == BP_SAME):
        low = kept[0] // 8 + 1 | (-1 - bp if bp < 0 else 0) << 12
        return kept[1] // 8 << 12, low - (1 << 16) if low & 0x8000 else low
    if value == NONE and cfa[0] == "reg" and cfa[1] in HELD and is_kept and cfa[2] % 8 == 0 and -8 <= cfa[2] <= 0xFFE * 8 and \
            (-16 <= bp <= -2 or bp == BP_SAME):
        low = cfa[2] // 8 + 1 | (-1 - bp if bp < 0 else 0) << 12
        return 12 + HELD.index(cfa[1]) << 12, low - (1 << 16) if low & 0x8000 else low
    if value == NONE and cfa[0] == "reg" and cfa[1] == SP and is_kept and 0 < cfa[2] < 1 << 28 and cfa[2] % 8 == 0 and \
            (-16 <= bp <= -2 or bp == BP_SAME):
        low = cfa[2] // 8 & 0xFFFF
        return ((-1 - bp if bp < 0 else 0) << 9 | (cfa[2] // 8 >> 16) + 1) << 3, low - (1 << 16) if low & 0x8000 else low
    return value, bp


def rules_of(path):
    """Sorted [(offset in the file, cfa, bp)], each up to the next; (NONE, any) between functions. And where there is code:
    [(offset, size)]."""
    elf = Elf(path)
    address, offset, size = elf.sections[b".eh_frame"]
    data = elf.bytes[offset:offset + size]
    cies, functions, at = {}, [], 0
    while at + 4 <= size:
        length = struct.unpack_from("<I", data, at)[0]
        if not length:
            at += 4
            continue
        assert length != 0xFFFFFFFF
        begin, end = at + 4, at + 4 + length
        identity = struct.unpack_from("<I", data, begin)[0]
        if not identity:
            cies[at] = Cie(Reader(data, begin + 4), end, address)
        else:
            cie, reader = cies[begin - identity], Reader(data, begin + 4)
            start = reader.pointer(cie.encoding, address)
            count = reader.pointer(cie.encoding & 15, address)
            if cie.is_augmented:
                reader.block()
            functions.append((start, start + count, cie, data[reader.at:end]))
        at = end
    rows, last = [], 0
    for start, end, cie, program in sorted(functions, key=lambda f: f[:2]):
        where = elf.offset(start)
        if where is None or start < last:
            continue
        last = end
        rows += [(at - start + where, *row_value(cie, cfa, rules)) for at, cfa, rules in run(cie, program, start, end)]
        rows.append((end - start + where, NONE, BP_SAME))
    rows.sort(key=lambda row: row[0])  # stable: what begins where another ends comes behind it
    return ([row for i, row in enumerate(rows) if i + 1 == len(rows) or rows[i + 1][0] > row[0]],
            [(offset, size) for _, offset, size in elf.loads])


def at(rows, starts, offset):
    index = bisect.bisect_right(starts, offset)
    return rows[index - 1][1:] if index else (NONE, BP_SAME)
