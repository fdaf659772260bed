#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real program with debug info, recorded: its hot line is found, and its text from the disk, from a bare clone at the commit of
the release, from the store, and from nowhere."""
import html
import json
import os
import re
import shutil
import subprocess
import sys

from recording import RecordTest, main, program

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter"))

HEADER = """/* Inlined wherever it is used. */
static inline __attribute__((always_inline)) unsigned long mix(unsigned long x)
{
    for (int i = 0; i < 2000; i++)
        x = x * 6364136223846793005UL + 1442695040888963407UL;
    return x;
}
"""
# Line 8 holds the inlined loop, line 14 the sleep; what #line calls the grammar's is at 20; what comes after it is numbered anew. Nothing here
# rests on whole stacks: a machine with very many programs may have no room for this one's unwind rows.
SOURCE = """#include <time.h>
#include "mix.h"
static volatile unsigned long sink;

__attribute__((noinline)) static void compute(int n)
{
    for (int i = 0; i < n; i++)
        sink = mix(sink);
}

__attribute__((noinline)) static void rest(void)
{
    struct timespec ts = {0, 150000000};
    nanosleep(&ts, 0);
}
#line 100 "rules.y"
__attribute__((noinline)) static void parse(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 31 + (unsigned long)i;
}
#line 21 "app.c"
__attribute__((noinline)) static void again(long n)
{
    for (long i = 0; i < n; i++)
        sink = sink * 17 + (unsigned long)i;
}

int main(void)
{
    struct timespec ready = {1, 0}; /* for whoever reads how this program is unwound */
    nanosleep(&ready, 0);
    for (int i = 0; i < 3; i++) {
        compute(120000);
        rest();
    }
    parse(200000000L);
    again(200000000L);
    return 0;
}
"""
# Makes a loop as a JIT does, and tells in a jit-PID.dump which lines of shop.js its instructions are of; runs it, then in a child, too.
MAKER = """#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static void put(FILE *to, uint64_t value, size_t bytes) { fwrite(&value, 1, bytes, to); }
static void say(uint64_t code, const uint8_t *bytes, size_t size, const char *source)
{
    static const uint8_t at[] = {0, 7, 12}, lines[] = {2, 3, 5};
    char path[32];
    snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
    FILE *to = fopen(path, "w+");
    put(to, 0x4a695444, 4), put(to, 1, 4), put(to, 40, 4), put(to, 62, 4), put(to, 0, 4), put(to, getpid(), 4), put(to, 0, 8), put(to, 0, 8);
    put(to, 2, 4), put(to, 16 + 16 + 3 * (17 + strlen(source)), 4), put(to, 0, 8), put(to, code, 8), put(to, 3, 8);
    for (int i = 0; i < 3; i++)
        put(to, code + at[i], 8), put(to, lines[i], 4), put(to, 0, 4), fwrite(source, 1, strlen(source) + 1, to);
    put(to, 0, 4), put(to, 16 + 40 + 9 + size, 4), put(to, 0, 8), put(to, getpid(), 4), put(to, getpid(), 4);
    put(to, code, 8), put(to, code, 8), put(to, size, 8), put(to, 1, 8), fwrite("JS:*loop", 1, 9, to), fwrite(bytes, 1, size, to);
    fflush(to);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(to), 0); /* how a process says that it writes one */
}
int main(int argc, char **argv)
{
    /* push rbp; mov rbp,rsp; mov rcx,rdi; 1: dec rcx; jnz 1b; pop rbp; ret */
    static const uint8_t code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf9, 0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
    uint8_t *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct timespec ready = {1, 0}; /* for whoever reads how this program is unwound */
    memcpy(memory + 64, code, sizeof(code));
    mprotect(memory, 4096, PROT_READ | PROT_EXEC);
    say((uint64_t)memory + 64, code, sizeof(code), argv[argc - 1]);
    nanosleep(&ready, 0);
    void (*loop)(long) = (void (*)(long))(uintptr_t)(memory + 64);
    loop(1000000000L);
    if (!fork())
        loop(1000000000L), _exit(0);
    return wait(NULL) < 0;
}
"""
SHOP = "function loop(n) {\n    let i = n\n    while (i > 0) i -= 1\n\n    return\n}\n"
CHANGED = "/* Rewritten since. */\n" * 60


class Lines(RecordTest):
    def git(self, *words):
        return subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True, capture_output=True,
                              text=True, cwd=self.code).stdout.strip()

    def build(self):
        os.chmod(self.folder, 0o755)
        self.code = self.path("code")
        os.makedirs(self.code + "/src")
        for name, text in (("app.c", SOURCE), ("mix.h", HEADER)):
            with open(f"{self.code}/src/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        subprocess.run(["cc", "-g", "-O1", "-o", "app", "code/src/app.c"], check=True, cwd=self.folder)
        self.git("init", "-q", ".")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        commit = self.git("rev-parse", "HEAD")
        subprocess.run(["git", "clone", "-q", "--bare", self.code, self.path("bare.git")], check=True, capture_output=True)
        return commit

    def site(self, *args):
        """The pages of source files, by their path in the test's folder."""
        out = self.path("site")
        shutil.rmtree(out, ignore_errors=True)
        subprocess.run([program("wakepath-reporter"), "--store", self.store, "--out", out, "--quiet",
                        "--source-disk", self.folder, *args], check=True, timeout=120)
        pages = {}
        folder = os.path.join(out, self.release, "main")
        for name in os.listdir(folder):
            if re.fullmatch(r"source-[0-9]+\.html", name):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    text = file.read()
                pages[re.search(r'<p class="sub"><bdi>([^<]*)', text).group(1)[len(self.folder) + 1:]] = text
        return pages

    def lines(self, page):
        """A line's anchor -> (its heat, its text)."""
        rows = {}
        for row in re.findall(r"<tr( id=\"[LP][0-9]+\"[^>]*)>(.*?)</tr>", page):
            anchor = re.search(r'id="([LP][0-9]+)"', row[0]).group(1)
            shown = re.search(r'<td class="code">(?:<span class="text">(.*?)</span>)?</td>', row[1])
            heat = re.search(r"\bh([1-8])\b", row[0])
            rows[anchor] = (int(heat.group(1)) if heat else 0, html.unescape(shown.group(1) or ""))
        return rows

    def text_from(self, page):
        return re.search(r"<dt>Text</dt><dd><bdi>([^<]*)", page).group(1)

    def check_counts(self):
        done = subprocess.run([program("wakepath-reporter"), "--store", self.store, "--format", "ndjson", "--table", "lines"], check=True,
                              capture_output=True, text=True, timeout=60)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        times = {}
        for row in rows:
            times.setdefault((os.path.basename(row["file"]), row["line"]), row)
        self.assertIn(("mix.h", 5), times)
        mix = times["mix.h", 5]
        self.assertEqual(mix["function"], "mix")
        self.assertGreater(mix["self_ns"], 20e6)
        total = sum(row["self_ns"] for row in rows)
        self.assertGreater(sum(row["self_ns"] for row in rows if row["file"].endswith("mix.h")), total / 4)
        self.assertGreaterEqual(times["app.c", 8]["run_ns"], mix["run_ns"])
        self.assertLess(times["app.c", 8]["self_ns"], mix["self_ns"] / 4)
        rest = times["app.c", 14]
        self.assertGreater(rest["inclusive_ns"], 440e6)  # three sleeps of 150 ms
        self.assertLess(rest["run_ns"], 100e6)
        self.assertIn(("rules.y", 103), times)
        calls = subprocess.run([program("wakepath-reporter"), "--store", self.store, "--format", "ndjson", "--table", "calls"], check=True,
                               capture_output=True, text=True, timeout=60)
        rows = [json.loads(line) for line in calls.stdout.splitlines()]
        inlined = [row for row in rows if row["callee"] == "mix"]
        self.assertEqual({(os.path.basename(row["file"]), row["line"], row["kind"]) for row in inlined}, {("app.c", 8, "inlined")})

    def check_map(self):
        """The source map has every level of the inlined place."""
        key = next(word for word in self.stored("ls", "-R", self.store).split() if "sourcemap" in word)
        rows = json.loads(self.stored("cat", "--json", os.path.join(self.store, key)))["functions"]
        by_place = {}
        for row in rows:
            if row["object"] == self.path("app"):
                by_place.setdefault(row["offset"], {})[row["level"]] = row
        both = [levels for levels in by_place.values() if 1 in levels]
        self.assertTrue(both)
        for levels in both:
            self.assertEqual((levels[0]["function"], levels[0]["line"], levels[1]["function"]), ("compute", 8, "mix"))
            self.assertTrue(levels[0]["file"].endswith("/src/app.c") and levels[1]["file"].endswith("/src/mix.h"))

    def stored(self, *args):
        return subprocess.run([program("wakepath-store"), *args], capture_output=True, text=True, check=True, timeout=60).stdout

    def test_lines_and_their_text(self):
        self.release = self.build()
        self.assertEqual(self.record([self.path("app")], "--release", self.release, "--frequency", "997"), 0)
        self.check_counts()
        self.check_map()
        pages = self.site()
        self.assertEqual(self.text_from(pages["code/src/app.c"]), "disk", re.findall("not available [(].*?[)]", pages["code/src/app.c"]))
        lines = self.lines(pages["code/src/app.c"])
        self.assertEqual(lines["L8"], (max(heat for heat, _ in lines.values()), "        sink = mix(sink);"))
        self.assertEqual(lines["L14"][1], "    nanosleep(&ts, 0);")
        self.assertEqual(lines["P26"][1], "        sink = sink * 17 + (unsigned long)i;")
        # Numbered anew: the compiler calls it app.c:24, in its own folder.
        self.assertIn(">app.c:24<", pages["code/src/app.c"])
        self.assertIn("Its lines stand in app.c", pages["app.c"])
        self.assertIn('>rules.y:103<', pages["code/src/app.c"])
        self.assertIn("Its lines stand in app.c", pages["rules.y"])
        self.assertIn("not available", self.text_from(pages["rules.y"]))
        self.assertIn("inlined by compute  app.c:8", pages["code/src/mix.h"])
        self.check_others(pages["code/src/app.c"])
        subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../reporter/site_check.py"),
                        self.path("site")], check=True, timeout=120)

    def test_names_that_are_kept(self):
        """The first recording keeps what it has read in an empty folder; the next one names as much."""
        self.build()
        os.mkdir(self.path("kept"))
        self.env = {**self.env, "WAKEPATH_COLLECTOR_UNWIND_CACHE": self.path("kept")}
        command = ["sh", "-c", f"{self.path('app')}; dd if=/dev/zero of=/dev/null bs=64 count=1000000; perf bench sched pipe -l 20000"]
        for turn in range(2):
            with self.subTest(turn=turn):
                self.assertEqual(self.record(command, "--release", f"kept-{turn}", "--frequency", "997"), 0)
                folded = [";".join(frames) for frames, _ in self.folded(f"kept-{turn}")]
                self.assertTrue(any("compute;mix" in stack for stack in folded), folded[:20])
                self.assertTrue(any("vfs_read" in stack for stack in folded), folded[:20])
                self.assertEqual([stack for stack in folded if "kernel+?" in stack], [])
        kinds = {name.rpartition(".")[2] for name in os.listdir(self.path("kept"))}
        self.assertEqual(kinds, {"rows", "names", "places"})

    def test_lines_of_code_made_at_run_time(self):
        """A jitdump says which: they are on the source page, with the text, of the process that made the code and of its child."""
        os.chmod(self.folder, 0o755)
        shop = self.write("shop.js", SHOP)
        subprocess.run(["cc", "-O1", "-o", "maker", self.write("maker.c", MAKER)], check=True, cwd=self.folder)
        self.release = "shop"
        self.record([self.path("maker"), shop], "--release", self.release, "--frequency", "997")
        tables = {}
        for name in ("lines", "stacks"):
            done = subprocess.run([program("wakepath-reporter"), "--store", self.store, "--format", "ndjson", "--table", name], check=True,
                                  capture_output=True, text=True, timeout=60)
            tables[name] = [json.loads(line) for line in done.stdout.splitlines()]
        times = {row["line"]: row["self_ns"] for row in tables["lines"] if row["file"] == shop}
        self.assertEqual(max(times, key=times.get), 3, times)
        by = [sum(row["ns"] for row in tables["stacks"] if row["stack"][-1] == "JS:*loop" and ("sleep:wait4" in row["stack"]) == is_child)
              for is_child in (False, True)]
        self.assertGreater(min(by), 50e6, [row["stack"] for row in tables["stacks"]][:20])
        self.assertGreater(times[3], 0.8 * sum(by))
        page = self.site()["shop.js"]
        self.assertEqual(self.text_from(page), "disk")
        lines = self.lines(page)
        self.assertEqual(lines["L3"], (max(heat for heat, _ in lines.values()), "    while (i > 0) i -= 1"))

    def check_others(self, from_disk):
        """The working copy changes: what the commit had is shown from a bare clone, then from the store, then from nowhere."""
        with open(self.code + "/src/app.c", "w", encoding="utf-8") as file:
            file.write(CHANGED)
        newer = self.site()["code/src/app.c"]
        self.assertIn("was changed after this was recorded", newer)
        page = self.site("--git", self.path("bare.git"), "--no-source-disk")["code/src/app.c"]
        self.assertEqual(self.text_from(page), "git")
        self.assertEqual(self.lines(page), self.lines(from_disk))
        self.git("checkout", "-q", "src/app.c")
        shown = self.stored("source", "add", self.store + "/" + self.release, self.code + "=" + self.code)
        self.assertIn("were there", shown)
        again = json.loads(self.stored("source", "add", "--json", self.store + "/" + self.release, self.code + "=" + self.code))
        self.assertEqual(again["added"], 0)
        self.assertGreaterEqual(again["there"], 2)
        self.assertEqual(self.stored("verify", self.store).split(":")[-1].strip(), "0 faults")
        shutil.rmtree(self.code)
        page = self.site("--no-source-disk")["code/src/app.c"]
        self.assertEqual(self.text_from(page), "store")
        self.assertEqual(self.lines(page), self.lines(from_disk))
        subprocess.run([program("wakepath-store"), "dump", self.store], check=True, stdout=open(self.path("dump"), "wb"), timeout=60)
        self.store = self.path("bare-store")
        kept = [line for line in open(self.path("dump"), encoding="utf-8")]
        self.assertTrue(any("__source__/" in line for line in kept))
        subprocess.run([program("wakepath-store"), "load", self.store, self.path("dump")], check=True, timeout=60)
        self.assertEqual(self.text_from(self.site("--no-source-disk")["code/src/app.c"]), "store")
        self.store = os.path.join(self.out, "store")
        for path in re.findall(r"__source__/[0-9a-f/]*", self.stored("ls", "-R", self.store)):
            self.assertRegex(path, r"^__source__/([0-9a-f]{2})/([0-9a-f]{2})/\1\2")


if __name__ == "__main__":
    main()
