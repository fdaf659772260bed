#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The user stacks that the kernel side walks, held against gdb's as in zoo_test.py, of what other compilers, linkers and interpreters make; of each
that is installed: zoo_languages_test.py FACTS_DUMP [TEST...]."""
import os, shutil, subprocess, sys, unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import zoo_test

C = """#include <sys/syscall.h>
#include <time.h>
#ifdef BARE /* a C library without any rows would be innermost */
static long nap(const struct timespec *ts) {
    long rc;
    __asm__ volatile("syscall" : "=a"(rc) : "0"(SYS_nanosleep), "D"(ts), "S"(0) : "rcx", "r11", "memory");
    return rc;
}
#else
#define nap(...) nanosleep(__VA_ARGS__, 0)
#endif
__attribute__((noinline)) static int rest(int n) {
    if (!n) for (;;) nap(&(struct timespec){0, 20000000});
    return rest(n - 1) * 3 + n;
}
int main(int argc, char **argv) { return rest(argc + 4); }
"""
FORTRAN = """program zoo
  use iso_c_binding
  interface
    integer(c_int) function usleep(us) bind(c)
      import c_int
      integer(c_int), value :: us
    end function
  end interface
  print *, rest(5)
contains
  recursive integer function rest(n) result(r)
    integer, value :: n
    if (n == 0) then
      do
        r = usleep(20000)
      end do
    end if
    r = rest(n - 1) * 3 + n
  end function
end program
"""
OCAML = "let rec rest n = if n = 0 then (while true do Unix.sleepf 0.02 done; 0) else 1 + rest (n - 1)\nlet () = print_int (rest 5)\n"
D = """extern (C) int usleep(uint);
pragma(inline, false) int rest(int n) {
    while (!n) usleep(20_000);
    return rest(n - 1) * 3 + n;
}
void main(string[] words) { rest(cast(int) words.length + 4); }
"""
NIM = """proc usleep(us: cuint): cint {.importc, header: "<unistd.h>".}
proc rest(n: int): int {.noinline.} =
  while n == 0: discard usleep(20000)
  rest(n - 1) * 3 + n
echo rest(5)
"""
ADA = """procedure Zoo is
   function Rest (N : Integer) return Integer is
   begin
      while N = 0 loop delay 0.02; end loop;
      return Rest (N - 1) * 3 + N;
   end Rest;
   R : Integer;
begin
   R := Rest (5);
end Zoo;
"""
PARKED = """package main
import "time"
//go:noinline
func waitTurn(turns chan int) { <-turns }
func main() {
    turns := make(chan int)
    go func() { for { time.Sleep(20 * time.Millisecond); turns <- 1 } }()
    for { waitTurn(turns) }
}
"""
PERL = "sub rest { my $n = shift; select undef, undef, undef, 0.02 while !$n; 1 + rest($n - 1) } rest(5)"
RUBY = "def rest(n) = n.zero? ? loop { sleep 0.02 } : 1 + rest(n - 1)\nrest(5)"
PHP = "function rest($n) { while (!$n) usleep(20000); return 1 + rest($n - 1); } rest(5);"
NAPPING = "#include <unistd.h>\nint lua_gettop(void *); int luaopen_napping(void *L);\nint luaopen_napping(void *L) { for (;;) usleep(20000); return lua_gettop(L); }\n"
LUA = "package.cpath = '%s' local function rest(n) if n == 0 then require 'napping' end return 1 + rest(n - 1) end rest(5)"


class Languages(zoo_test.Zoo):
    def c(self, name, *compiler):
        return [self.made((name.replace(" ", "_") + ".c", C), *compiler)]

    def compiled(self):
        """[(program that must be there, name, function that makes the command)]"""
        plain = ("gcc", "-O3", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")
        return [("gcc", "gcc -O3", lambda: self.c("gcc -O3", *plain)),
                ("gcc", ".debug_frame", lambda: self.c("debug frame", *plain, "-g", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables")),
                ("gcc", "ld without a table", lambda: self.c("no table", *plain, "-Wl,--no-eh-frame-hdr")),
                ("clang", "clang", lambda: self.c("clang", "clang", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls")),
                ("ld.gold", "gold", lambda: self.c("gold", *plain, "-fuse-ld=gold")),
                ("mold", "mold", lambda: self.c("mold", *plain, "-fuse-ld=mold", "-B/usr/libexec/mold")),
                ("ld.lld", "lld", lambda: self.c("lld", "clang", "-O2", "-fno-optimize-sibling-calls", "-fuse-ld=lld")),
                ("musl-gcc", "musl", lambda: self.c("musl", "musl-gcc", *plain[1:], "-static", "-DBARE")),
                ("gfortran", "fortran", lambda: [self.made(("zoo.f90", FORTRAN), "gfortran", "-O2")]),
                ("ocamlopt", "ocaml", lambda: [self.made(("zoo.ml", OCAML), "ocamlopt", "unix.cmxa")]),
                ("gdc", "D by gcc", lambda: [self.made(("zoo_gcc.d", D), "gdc", "-O2", "-fno-optimize-sibling-calls")]),
                ("ldc2", "D by llvm", lambda: [self.made(("zoo_llvm.d", D), "sh", "-c", 'ldc2 -O1 --frame-pointer=none --of="$2" "$3"', "ldc2")]),
                ("nim", "nim", lambda: [self.made(("zoo.nim", NIM), "sh", "-c", 'nim c -d:release --hints:off --nimcache:"$2.c" --passC:'
                                                  '-fno-optimize-sibling-calls --out:"$2" "$3"', "nim")]),
                ("go", "go linked with C", lambda: [self.made(("linked.go", zoo_test.GO), "go", "build", "-ldflags=-linkmode=external")]),
                ("gnatmake", "ada", lambda: [self.made(("zoo.adb", ADA), "gnatmake", "-q", "-O2", "-D", self.folder)])]

    def lua(self):
        library = self.made(("napping.c", NAPPING), "gcc", "-shared", "-fPIC", "-O2")
        os.rename(library, self.folder + "/napping.so")
        return ["lua5.4", "-e", LUA % (self.folder + "/?.so")]

    def interpreted(self):
        return [("perl", "perl", lambda: ["perl", "-e", PERL]), ("ruby", "ruby", lambda: ["ruby", "-e", RUBY]),
                ("php", "php", lambda: ["php", "-r", PHP]), ("lua5.4", "lua", self.lua)]

    def animals(self):
        return {name: make() for program, name, make in self.compiled() + self.interpreted() if shutil.which(program)}

    @unittest.skipUnless(shutil.which("go"), "no Go (package golang-go)")
    def test_a_thread_without_work_is_where_its_last_goroutine_waits(self):
        program = self.made(("parked.go", PARKED), "go", "build")
        symbols = [line.split() for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines()]
        places = {words[3]: range(int(words[0], 16) + 1, int(words[0], 16) + int(words[1], 16) + 1) for words in symbols if len(words) == 4}
        process = subprocess.Popen([program], stdin=subprocess.DEVNULL)
        try:
            mine = zoo_test.watched([process.pid], place=places["main.waitTurn"])  # Go's monitor sleeps, too
        finally:
            process.kill()
            process.wait()
        stacks = [stack for stacks in mine.values() for stack in stacks]
        waiting = [stack for stack in stacks if any(ip in places["main.waitTurn"] for ip in stack)]
        self.assertGreater(len(waiting), zoo_test.LAST / 2, stacks[:3])
        for stack in waiting:  # through the scheduler's own stack
            self.assertTrue(any(ip in places["runtime.mcall"] for ip in stack))
            self.assertTrue(any(ip in places["main.main"] for ip in stack))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
