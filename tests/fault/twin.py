# SPDX-License-Identifier: Apache-2.0
"""A session of the real programs that faults are put into, and its undisturbed twin: both replay the same captures, and what the
merged reports say in the end must be the same, byte for byte."""
import concurrent.futures, glob, json, os, shutil, subprocess, sys, tempfile, threading, time

PLAN = """hosts 1 cpus=4
service web hosts=1 threads=6 base pause=2000
 busy 200
 call db
 sleep 300
service db hosts=1 threads=6
 busy 200
 disk 600
"""
BURST_S = 40
QUIET_S = 300     # block requests are remembered for 40 s: their ring goes round a few times, and has room
BURST_PLAN = """hosts 1 cpus=4
service web hosts=1 threads=1 base pause=2500 quiet=%d
 busy 200
 disk 300
 call db
 call db
 call db
 call db
service db hosts=1 threads=6
 busy 100
""" % (QUIET_S * 1000)
AGGREGATES = ("web", "db")
LEAST_S = 1.5     # an aggregator computes so long for a session, or there are no checkpoints in the midst of it; however busy the machine is
PATIENCE_S = 150  # a part that takes longer than this, and as long again with the processor to itself, hangs


class Difference(Exception):
    """What came out is not what the twin says."""


class OutOfTime(Exception):
    """A program gave up, as when the machine is too slow, and said so: the session shows nothing, for or against."""


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def seconds_used(pid):
    """Of the processor, by all its threads."""
    words = read_text("/proc/%d/stat" % pid).rsplit(")", 1)[-1].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK") if words else 0


class Captures:
    """One capture of a generated host and the twin's report, made once for all trials."""

    def __init__(self, binaries, jobs=1, folder="/var/tmp", seconds=16, strikes=4):
        self.binaries, self.seconds, self.took_s = os.path.abspath(binaries), seconds, 1
        self.strikes = strikes # of a disk's faults in one session, at most
        self.lock, self.second, self.report_of_two, self.burst, self.report_of_burst = threading.Lock(), None, None, None, None
        self.folder = tempfile.mkdtemp(prefix="wakepath-fault-", dir=folder)
        self.measure()
        while self.took_s < LEAST_S and self.seconds < 8 * seconds:
            self.seconds *= 2
            shutil.rmtree(self.folder + "/whole")
            self.measure()
        if jobs > 1: # so long it takes among so many
            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                self.took_s = sorted(pool.map(lambda _: self.undisturbed()[1], range(jobs)))[jobs // 2]
        events = json.loads(self.report[0])["head"]["events"]
        if events < 100000:
            raise Difference("the capture is too small for what follows: %d events" % events)

    def measure(self):
        self.capture = self.generate("whole", self.seconds)
        self.took_s, _, self.report = self.undisturbed() # what it computes: others may be gone when it is waited so long for a moment of a session

    def undisturbed(self):
        """(seconds that the aggregator had of the processor, seconds, report)"""
        with Rig(self) as rig:
            rig.aggregator()
            begin = time.monotonic()
            rig.ends(rig.collector())
            return seconds_used(rig.daemon.pid), time.monotonic() - begin, rig.finish()

    def add_second(self):
        """Another session, and what the report says of the two together. For those that want it: it costs as much as the first."""
        with self.lock:
            if self.report_of_two:
                return
            self.second = self.generate("second", 4, 12)
            with Rig(self) as rig:
                rig.aggregator()
                rig.ends(rig.collector())
                rig.ends(rig.collector(capture=self.second))
                self.report_of_two = rig.finish()
            if self.report_of_two == self.report:
                raise Difference("a second session looks like none")

    def add_burst(self):
        """A session of few requests for long and then of many, and its report."""
        with self.lock:
            if self.report_of_burst:
                return
            self.burst = self.generate("burst", QUIET_S + BURST_S, plan=BURST_PLAN)
            with Rig(self) as rig:
                rig.aggregator()
                rig.ends(rig.collector(capture=self.burst))
                self.report_of_burst = rig.finish()

    def generate(self, name, seconds, seed=11, plan=PLAN):
        folder = "%s/%s" % (self.folder, name)
        os.mkdir(folder)
        with open(folder + "/plan", "w", encoding="ascii") as file:
            file.write(plan)
        subprocess.run([self.binaries + "/fleetgen", "--out", folder, "--plan", folder + "/plan", "--seconds", str(seconds), "--seed", str(seed)],
                       check=True)
        return glob.glob(folder + "/*.capture")[0]

    def control(self):
        """Of a session of which a tenth of a second is missing a difference must be seen."""
        whole, self.capture = self.capture, self.generate("shorter", self.seconds - 0.1)
        try:
            with Rig(self) as rig:
                rig.aggregator()
                rig.ends(rig.collector())
                if rig.finish() == self.report:
                    raise Difference("a session of which something is missing looks the same")
        finally:
            self.capture = whole

    def close(self):
        shutil.rmtree(self.folder)


class Rig:
    """A folder with a store, a spool, and the programs of one trial. All that was started ends with it."""

    def __init__(self, captures, hurries=False):
        self.captures, self.binaries, self.hurries = captures, captures.binaries, hurries
        self.folder = tempfile.mkdtemp(prefix="rig-", dir=captures.folder)
        self.store, self.spool = self.folder + "/store", self.folder + "/spool"
        self.endpoint = "ipc://%s/socket" % self.folder
        self.number = self.folder.rsplit("-", 1)[1]  # nobody else's on this machine
        self.children, self.mounted, self.daemon, self.logs = [], [], None, 0
        self.twin = None  # the report to compare with; None: that of the one session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        for path in reversed(self.mounted):
            subprocess.run(["umount", "-l", path], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def program(self, name):
        return "%s/%s" % (self.binaries, name)

    def start(self, *words, before=(), environment=None, **options):
        """A program with its log in a file; `before`: words that run it."""
        self.logs += 1
        path = "%s/log%d" % (self.folder, self.logs)
        with open(path, "wb") as log:
            child = subprocess.Popen([*before, *words], stdout=log, stderr=log, env={**os.environ, **(environment or {})}, **options)
        child.log_path = path
        self.children.append(child)
        if self.hurries:
            self.hurry()
        return child

    def log(self, child):
        with open(child.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def logs_of_all(self):
        return "".join("--- %s: %s\n%s" % (os.path.basename(child.args[0]), child.poll(), self.log(child)[-1500:]) for child in self.children)

    def aggregator(self, *options, bind=None, is_awaited=True, **how):
        """Starts (again) the aggregator; it listens when this returns, or has ended."""
        down, up = os.pipe()
        self.daemon = self.start(self.program("wakepath-aggregator"), "--no-config", "--bind", bind or self.endpoint, "--store", self.store,
                                 "--aggregate", "web=comm=web", "--aggregate", "db=comm=db", "--history", "5000", "--lateness", "300",
                                 "--epoch", "200", "--give-up", "60000", "--ready-fd", str(up), *options, pass_fds=[up], **how)
        os.close(up)
        ready = os.read(down, 6)
        os.close(down)
        if is_awaited and not ready:
            raise Difference("the aggregator did not start: " + self.log(self.daemon))
        return self.daemon

    def collector(self, *options, connect=None, spool="none", capture=None, **how):
        return self.start(self.program("wakepath-collector"), "--no-config", "--source", "capture:" + (capture or self.captures.capture), "--connect",
                          connect or self.endpoint, "--spool", spool, *options, **how)

    def moment(self, chance, part=0.2, most_s=60):
        """Waits for less than so much of what an undisturbed session takes here and now."""
        time.sleep(chance.uniform(0, min(most_s, part * self.captures.took_s)))

    def checkpoints(self):
        """When each was written."""
        times = {}
        for path in glob.glob(self.store + ".resume/*/*.checkpoint"):
            try:
                times[path] = os.stat(path).st_mtime_ns
            except OSError:
                pass  # its session is over
        return times

    def moment_on(self, chance, collector, part=0.2):
        """A moment in one half of the cases; in the other one that comes when the session got on: the aggregator has written a checkpoint since
        now. One that lives shorter begins at the same place again and again. True: the session was still going on after it."""
        if chance.random() < 0.5:
            before = self.checkpoints()
            self.waits("a checkpoint", lambda: self.checkpoints() != before or collector.poll() is not None)
        self.moment(chance, part)
        return collector.poll() is None

    def kill(self, child):
        child.kill()
        child.wait()

    def what_they_do(self):
        """The programs that have not ended: what each thread waits for, and how much of the processor they had."""
        lines = []
        for child in self.children:
            if child.poll() is None:
                threads = ["%s %s in %s" % (name, read_text(task + "/stat").rsplit(")", 1)[-1][1:2], read_text(task + "/wchan"))
                           for task in glob.glob("/proc/%d/task/*" % child.pid) for name in [read_text(task + "/comm")]]
                lines.append("%s: %.1f s of the processor; %s" % (os.path.basename(child.args[0]), seconds_used(child.pid), "; ".join(threads)))
        return "\n".join(lines)

    def hurry(self):
        """All that was started comes before all others."""
        for task in [int(os.path.basename(path)) for child in self.children for path in glob.glob("/proc/%d/task/*" % child.pid)]:
            try:
                os.sched_setscheduler(task, os.SCHED_OTHER, os.sched_param(0))
                os.setpriority(os.PRIO_PROCESS, task, -15)
            except OSError:
                pass  # it has ended

    def waits(self, what, is_so):
        """What takes long on a busy machine is not taken for a hang: at the limit the programs come before all others, and get as long again."""
        for is_first in (True, False):
            end = time.monotonic() + PATIENCE_S
            while time.monotonic() < end:
                if is_so():
                    return
                time.sleep(0.005)
            now = "after %d s it waits for %s\n%s" % (PATIENCE_S, what, self.what_they_do())
            if is_first:
                print(now, file=sys.stderr, flush=True)
                self.hurry()
        raise Difference("it hangs: " + now)

    def ends(self, child, code=0):
        """It ends by itself, with that status. Its log."""
        self.waits("the end of " + os.path.basename(child.args[0]), lambda: child.poll() is not None)
        log = self.log(child)
        if child.returncode == 1 and code != 1 and "batches are lost" in log:
            raise OutOfTime(log)
        if child.returncode != code:
            raise Difference("it ended with %d, not %d:\n%s" % (child.returncode, code, log))
        return log

    def delivers(self, child):
        """It ends, and what it left in the spool the next ones deliver: on a busy machine each may give up after its minute. Its log."""
        first = log = self.ends(child)
        begin = time.monotonic()
        while "stay in the spool" in log:
            if time.monotonic() > begin + 2 * PATIENCE_S:
                raise OutOfTime("collectors, one after the other, did not deliver it:\n" + self.what_they_do() + log)
            log = self.ends(self.start(*child.args))
        return first

    def report(self):
        """The merged reports as text."""
        texts = []
        for name in AGGREGATES:
            for words in (["wakepath-store", "cat", self.store, "unversioned:" + name, "--json"],
                          ["wakepath-reporter", "--store", self.store, "--aggregate", name, "--format", "folded"]):
                done = subprocess.run([self.program(words[0]), *words[1:]], capture_output=True, text=True, check=False)
                if done.returncode:
                    raise Difference("%s says: %s" % (words[0], done.stderr))
                texts.append(done.stdout)
        return texts

    def finish(self):
        """Ends the aggregator; nothing of the session is left to resume; the store is sound. The report."""
        self.daemon.terminate()
        self.ends(self.daemon)
        left = glob.glob(self.store + ".resume/*/*")
        if left:
            raise Difference("an ended session leaves %s" % left)
        verify = subprocess.run([self.program("wakepath-store"), "verify", self.store], capture_output=True, text=True, check=False)
        if verify.returncode:
            raise Difference("verify: " + verify.stdout + verify.stderr)
        return self.report()

    def same(self):
        """Ends the trial: is all as it is with the twin?"""
        mine, report = self.finish(), self.twin or self.captures.report
        for name, text, twin in zip((a + what for a in AGGREGATES for what in (".json", ".folded")), mine, report):
            if text != twin:
                for end, content in (("mine", text), ("twin", twin)):
                    with open("/var/tmp/wakepath-fault-%s.%s" % (name, end), "w", encoding="utf-8") as file:
                        file.write(content)
                raise Difference("the report differs: /var/tmp/wakepath-fault-%s.mine and .twin" % name)

    def spooled(self):
        return sum(os.path.getsize(path) for path in glob.glob(self.spool + "/*/*.batches"))

    def tmpfs(self, path, size):
        os.makedirs(path, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=" + size, "none", path], check=True)
        self.mounted.append(path)

    def fill(self, path):
        """Takes all room that is left on the file system of `path`, but what one page is."""
        with open(path, "wb", buffering=0) as file:
            for block in (65536, 4096):
                try:
                    while True:
                        file.write(b"x" * block)
                except OSError:
                    pass
