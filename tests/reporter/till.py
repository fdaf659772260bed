# SPDX-License-Identifier: Apache-2.0
"""The source that `reporter_sample source` is about."""
import os

# The text of the till (sample_source.c): a statement of two lines, and lines that are a grammar's or numbered anew.
TILL = """/* The till. */
#include "money.h"

struct line { long price; int count; };

static long settle(const struct line *lines, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        const struct line *line = &lines[i];

        sum += cents(line->price,
            line->count);
    }
    return sum < 0 ? 0 : sum;
}

static void book(int fd, long sum)
{
    char text[32];
    int size = snprintf(text, sizeof(text), "%ld <b>&amp;</b>\\n", sum);
    if (write(fd, text, size) == size)
        fsync(fd);
}

#line 30 "order.y"
static int parse(const char *at)
    { while (*at) at++; return 0; }
#line 45 "till.c"
int main(void)
{
    long sum = settle(lines, 3);
    parse(text);
    book(fd, sum);
}
"""
MONEY = "/* Money. */\n\n\n/* Rounds. */\nstatic inline long cents(long price, int count)\n{\n    return price * count / 100;\n}\n"


def write_source(folder):
    os.makedirs(f"{folder}/code/src")
    for name, text in (("till.c", TILL), ("money.h", MONEY)):
        with open(f"{folder}/code/src/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(file.name, (1780000000, 1780000000))
