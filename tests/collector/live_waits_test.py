#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls wait for, by name: live_waits_test.py BIN_DIR WAITS_FIXTURE CALLS_FIXTURE [TEST...]."""
import os, re, shutil, subprocess, sys, tempfile, unittest

BIN, FIXTURE, CALLS = (os.path.abspath(path) for path in sys.argv[1:4])


class Waits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="wakepath-waits-", dir="/var/tmp")
        cls.place = os.path.join(cls.folder, "place")
        os.mkdir(cls.place)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def record(self, *command):
        """(what the command said, {name of a sleep: nanoseconds}) of the command's own sleeps; self.requests: {(call, file): nanoseconds}."""
        store = os.path.join(self.folder, f"store-{self.id()}")
        said = subprocess.run([f"{BIN}/wakepath", "record", "--quiet", "--out", f"{self.folder}/site-{self.id()}", "--store", store,
                               "--release", "r", "--", *command], check=True, capture_output=True, text=True).stdout
        text = subprocess.run([f"{BIN}/wakepath-reporter", "--store", store, "--release", "r", "--aggregate", "main", "--format",
                               "folded"], check=True, capture_output=True, text=True).stdout
        sleeps, self.requests = {}, {}
        for line in text.splitlines():
            stack, _, ns = line.rpartition(" ")
            frames = stack.split(";")
            for frame in frames:
                if frame.startswith("sleep:"):
                    sleep = frame[6:]
                    sleeps[sleep] = sleeps.get(sleep, 0) + int(ns)
                if frame.startswith("io:") and " /" in frame:
                    key = sleep.split(" ")[0], os.path.basename(frame)
                    self.requests[key] = self.requests.get(key, 0) + int(ns)
        return said, sleeps

    def test_every_kind(self):
        said, sleeps = self.record(FIXTURE, self.place)
        ports = dict(line.split() for line in said.splitlines())
        program = os.path.basename(FIXTURE)
        wanted = ["read pipe", f"read pipe {self.place}/fifo", "read eventfd", "read timerfd", "read inotify", "read signalfd", "read tty",
                  f"flock {self.place}/database", f"accept tcp :{ports['tcp']}", f"recvfrom tcp 127.0.0.1:{ports['tcp']}",
                  f"recvfrom tcp :{ports['tcp']}", f"recvfrom unix {self.place}/socket", "recvfrom unix", f"recvfrom udp :{ports['udp']}",
                  "poll pipe", "pselect6 pipe", "poll eventfd", f"pselect6 tcp :{ports['tcp']}",
                  f"poll tcp 127.0.0.1:{ports['tcp']}", "epoll_wait pipe", "epoll_wait eventfd", f"futex queue_lock ({program})",
                  f"futex filled_locks+0x28 ({program})"]
        if "tcp6" in ports:
            wanted.append(f"recvfrom tcp [::1]:{ports['tcp6']}")
        # The fixture's folder has a random name, in which a number may stand.
        general = [re.sub("[0-9]{4,}", "N", name) if self.place in name else name for name in wanted]
        for name in general:
            self.assertGreater(sleeps.get(name, 0), 5e6, f"{name} is missing among {sorted(sleeps)}")
        bare = sum(ns for name, ns in sleeps.items() if name in ("read", "recvfrom", "poll", "pselect6", "epoll_wait", "flock", "accept"))
        self.assertLess(bare, 0.1 * sum(sleeps.values()), f"calls on files that have no name: {sleeps}")
        self.assertGreater(sleeps.get("futex", 0), 5e6, "a lock on the heap has no name")

    def test_every_call_that_sleeps(self):
        """The fixture says what each of its sleeps must be called; none has a number or a bare name instead."""
        place = os.path.join(self.place, "calls")
        os.mkdir(place)
        said, sleeps = self.record(CALLS, place)
        wanted = {re.sub("[0-9]{4,}", "N", line) if self.place in line else line for line in said.splitlines()}
        self.assertGreater(len(wanted), 40, said)
        self.assertEqual(wanted - set(sleeps), set(), sorted(sleeps))
        self.assertFalse([name for name in sleeps if name.startswith("syscall ")], sleeps)

    def test_a_file_with_two_names(self):
        """Each sleep by the one that its file was opened by: pages are touched, and read, and the file is locked."""
        with open(f"{self.place}/orders", "wb") as file:
            file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        os.link(f"{self.place}/orders", f"{self.place}/backup")
        with open(f"{self.folder}/scan.c", "w", encoding="utf-8") as file:
            file.write("""#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE (1l << 20)
static volatile int sum;
__attribute__((noinline)) void touch_pages(volatile char *at) { for (long i = 0; i < SIZE; i += 4096) sum += at[i]; }
__attribute__((noinline)) void read_pages(int file) { char c; for (long i = 0; i < SIZE; i += 4096) sum += pread(file, &c, 1, i); }
static int open_cold(const char *name) {
    int file = open(name, O_RDONLY);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    return file;
}
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        int file = open_cold(argv[i]);
        char *at = mmap(0, SIZE, PROT_READ, MAP_SHARED, file, 0);
        madvise(at, SIZE, MADV_RANDOM);
        touch_pages(at);
        munmap(at, SIZE);
        close(file);
        file = open_cold(argv[i]);
        read_pages(file);
        int other = open(argv[i], O_RDONLY);
        flock(other, LOCK_EX);
        if (!fork()) { usleep(30000); flock(other, LOCK_UN); _exit(0); }
        flock(file, LOCK_EX);
        close(file);
        close(other);
    }
    return 0; }
""")
        subprocess.run(["gcc", "-O1", "-g", "-o", f"{self.folder}/scan", f"{self.folder}/scan.c"], check=True)
        _, sleeps = self.record(f"{self.folder}/scan", *[f"{self.place}/{name}" for name in ("orders", "backup")])
        by_call = {(name.split(" ")[0], os.path.basename(name)): ns for name, ns in sleeps.items() if " /" in name}
        for name in "orders", "backup":
            self.assertGreater(by_call.get(("flock", name), 0), 5e6, sleeps)
        if not self.requests:
            self.skipTest("files are on no disk")
        for name in "orders", "backup":
            self.assertGreater(by_call.get(("pread64", name), 0), 1e6, sleeps)
            for call in "fault", "pread64":
                self.assertGreater(self.requests.get((call, name), 0), 1e6, self.requests)

    def test_a_lock_of_a_library(self):
        """A variable of a shared object that is mapped anywhere; and of one that has no symbols any more."""
        with open(f"{self.folder}/shelf.c", "w", encoding="utf-8") as file:
            file.write("#include <pthread.h>\n#include <time.h>\nstatic pthread_mutex_t shelf_lock;\nvoid shelf_use(long ns) {\n"
                       "pthread_mutex_lock(&shelf_lock); nanosleep(&(struct timespec){0, ns}, 0); pthread_mutex_unlock(&shelf_lock); }\n")
        with open(f"{self.folder}/reader.c", "w", encoding="utf-8") as file:
            file.write("#include <pthread.h>\nvoid shelf_use(long ns);\nstatic void *work(void *p) {"
                       "for (int i = 0; i < 250; i++) shelf_use(2000000); return p; }\n" # a second: it is still there when its library is opened
                       "int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); work(0); return pthread_join(t, 0); }\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", f"{self.folder}/libshelf.so", f"{self.folder}/shelf.c"], check=True)
        subprocess.run(["gcc", "-o", f"{self.folder}/reader", f"{self.folder}/reader.c", "-L", self.folder, "-lshelf", "-pthread",
                        f"-Wl,-rpath,{self.folder}"], check=True)
        _, sleeps = self.record(f"{self.folder}/reader")
        self.assertGreater(sleeps.get("futex shelf_lock (libshelf.so)", 0), 20e6, sleeps)
        subprocess.run(["strip", f"{self.folder}/libshelf.so"], check=True)
        shutil.rmtree(f"{self.folder}/store-{self.id()}")
        _, sleeps = self.record(f"{self.folder}/reader")
        self.assertTrue(any(re.fullmatch(r"futex libshelf\.so\+0x[0-9a-f]+", name) for name in sleeps), sleeps)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
