# SPDX-License-Identifier: Apache-2.0
"""How far apart two colours are to a reader who sees them as most do, and to those who lack one sort of cone: CIE 1976 differences after the
matrices of Machado, Oliveira and Fernandes (IEEE TVCG 15, 2009, table 1, severity 1.0), which work on linear RGB."""
import itertools
import re

EYES = {
    "trichromat": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanope": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranope": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanope": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
# sRGB to XYZ (IEC 61966-2-1), and the white of D65
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.95047, 1.0, 1.08883)


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(colour, eye):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    seen = [min(1.0, max(0.0, part)) for part in times(EYES[eye], linear)]
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116
               for v in (a / b for a, b in zip(times(XYZ, seen), WHITE)))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one, other, eye):
    return sum((a - b) ** 2 for a, b in zip(lab(one, eye), lab(other, eye))) ** 0.5


def themes(style):
    """The variables of each block of the style sheet that sets --f-run: light, dark by the system, dark by choice."""
    blocks = [dict(re.findall(r"--([\w-]+):\s*(#[0-9a-f]{6})", block)) for block in re.findall(r"\{([^{}]*)\}", style)]
    return [block for block in blocks if "f-run" in block]


def nearest(colours, eye):
    return min((round(distance(colours[a], colours[b], eye), 1), a, b) for a, b in itertools.combinations(sorted(colours), 2))
