#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two virtual machines with Debian's packaged kernel, with WP_LONG one with the newer kernel that it offers (where apt has it), and this
machine's aggregator: vm_live_test.py BIN TIER FOLDER [--newest] [TEST...]; with --newest, two with the newest kernel that there is. What the report blames is held against what the server was told to do. Ends with 77 when this machine cannot do it."""
import concurrent.futures, contextlib, io, json, os, re, shutil, subprocess, sys, tempfile, time, unittest, urllib.request

HERE_PATH = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE_PATH)
from vm_fleet import HERE, Vm, alone_on_the_network, sh
from vm_image import Image
from vm_kernel import NEWEST, PACKAGES, Kernel, Missing, need

BIN, TIER, FOLDER = sys.argv[1:4]
REQUESTS, SLEEP_S = 60, 0.05
LONG = bool(os.environ.get("WP_LONG")) # tests/more.sh long: all kernels, and all that is to be done without
# Of the live source's tests, the others need a machine that is faster or has more files; and what is to be done without.
FACTS = [("", "block chains_are_whole lives pipe_wakes_by_its_writer poll_that_times_out_is_not_deliberate "
          "reads_are_what_was_taken renames room sendfile sends_are_what_was_handed_over sleep tcp udp what_is_waited_for"),
         ("tp_btf/tcp_probe tp_btf/block_rq_insert", "tcp block"),
         ("fentry/sock_def_readable", "tcp sleep"), # the last arrival stands in
         ("offset/kstat offset/softnet_data", "sleep tcp udp"),
         ("offset/kstat variable/__preempt_count", "sleep tcp udp"),
         ("unwind/maple_tree", "sleep lives")]
PARTS = {"lives": {"lives", "renames"}, "messages": {"reads_are_what_was_taken", "sendfile", "sends_are_what_was_handed_over", "tcp", "udp", "room"}}
CLOCKS = {"h1": 3 * 3600, "h2": -500} # neither is right; what events are stamped with begins at each one's boot
UNIT = "bpf perfmon sys_ptrace dac_read_search syslog sys_admin".split() # what deploy/systemd gives


def part_of(name):
    """Of the live source's tests, the file that has it."""
    return next((part for part, names in PARTS.items() if name in names), "facts")


def missing(why):
    print("SKIPPED: no virtual machines: %s" % why, file=sys.stderr)
    sys.exit(77)


def time_in(report, *parts):
    """Seconds of the pieces whose pseudo-stack holds these frames in this order."""
    order = re.compile(".*".join(map(re.escape, parts)))
    lines = (line.rsplit(" ", 1) for line in report["folded"].splitlines())
    return sum(int(ns) for stack, ns in lines if order.search(stack)) / 1e9


def make_image(kernel, folder):
    os.makedirs(folder)
    image = Image(folder)
    image.modules(kernel)
    for program in ("wakepath", "wakepath-collector", "wakepath-aggregator", "wakepath-reporter"):
        image.program("%s/%s" % (BIN, program), "/bin/" + program)
    image.program(TIER, "/bin/fleet_tier")
    image.program(BIN + "/facts_dump", "/bin/facts_dump")
    for program in ("sleep", "gzip", "md5sum", "head", "taskset", "setpriv"): # of their own, not a name of busybox
        image.program(shutil.which(program), "/bin/" + program)
    for test in ("live_facts_test.py", "live_lives_test.py", "live_messages_test.py"):
        image.add(os.path.dirname(os.path.dirname(HERE_PATH)) + "/collector/" + test, "/" + test)
    for truth in ("unseen.py", "kernel_waits.py", "memory_waits.py", "runnable.py"):
        image.add(os.path.dirname(os.path.dirname(HERE_PATH)) + "/truth/" + truth, "/" + truth)
    image.add(HERE_PATH + "/stacked_devices.py", "/stacked_devices.py")
    image.python()
    image.write(folder + "/initrd")
    return folder + "/initrd"


def boot(folder, cleanup):
    """The machines, by name."""
    images = [make_image(kernel, "%s/%d" % (folder, number)) for number, kernel in enumerate(KERNELS)]
    hosts = [(name, 0, ahead_s) for name, ahead_s in CLOCKS.items()] + [("newer%d" % at, at, 0) for at in range(1, len(KERNELS))]
    vms = {}
    for number, (name, which, ahead_s) in enumerate(hosts, 1):
        vms[name] = Vm(folder, name, number, images[which], KERNELS[which], ahead_s, 1 + which)
        cleanup.callback(vms[name].close)
    for vm in vms.values():
        vm.wait()
    return vms


class TwoKernels(unittest.TestCase):
    folder, vms = None, {} # of all of them, before the first one runs

    def test_1_what_the_kernel_offers(self):
        probe = json.loads("\n".join(self.vms["h1"].run("wakepath-collector", "--probe=json")))
        self.assertEqual(probe["kernel"], KERNELS[0].release)
        used = {fact["what"]: choice["programs"] for fact in probe["facts"] for choice in fact["choices"] if choice["state"] == "used"}
        self.assertEqual(set(used), {fact["what"] for fact in probe["facts"]}, "nothing is missing altogether")
        if KERNELS[0].release.startswith("6.1."):
            self.assertEqual(used["TCP bytes sent"], "fexit/tcp_sendmsg fexit/tcp_sendpage")
            self.assertEqual(used["soft interrupts"], "tp_btf/softirq_exit offset/kstat")
            self.assertEqual(used["packets that come"], "offset/softnet_data")
            self.assertEqual(used["TCP bytes read"], "tp_btf/tcp_rcv_space_adjust fexit/unix_stream_recvmsg")
            self.assertEqual(used["wakings by a message"], "fentry/sock_def_readable")

    def test_2_a_kernel_without_btf_is_refused(self):
        vm = self.vms["h1"]
        vm.run("mount -t tmpfs none /sys/kernel/btf")
        said, status = vm.start("wakepath-collector --output /tmp/capture 2>&1").rest()
        vm.run("umount /sys/kernel/btf")
        self.assertEqual(status, 1)
        self.assertRegex(said[-1], "no BTF.*--source perf-script:FILE")

    def test_4_the_facts_are_true_on_this_kernel(self):
        runs = [(left_out, test, [name for name in names.split() if part_of(name) == test])
                for left_out, names in FACTS[:None if LONG else 2] for test in ("facts", *PARTS)]
        for left_out, test, names in runs:
            with self.subTest(left_out=left_out, test=test):
                if not names:
                    continue
                command = "%s exec %s /live_%s_test.py /bin/facts_dump /disk %s 2>&1" % (
                    left_out and "LEFT_OUT='%s'" % left_out, os.path.realpath(sys.executable), test,
                    " ".join("%s.test_%s" % (test.capitalize(), name) for name in names))
                said, status = self.vms["h2"].start(command).rest()
                if status: # once more, as tests/run.sh does: who waits for whom is chance where an answer comes early
                    print("\n".join(said), file=sys.stderr)
                    said, status = self.vms["h2"].start(command).rest()
                self.assertEqual(status, 0, "\n".join(said))
                self.assertIn("Ran %d test" % len(names), "\n".join(said))

    def test_5_five_capabilities_suffice(self):
        vm = self.vms["h1"]
        sets = "-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search,+syslog"
        vm.run("chmod 755 /sys/kernel/tracing && chmod 1777 /tmp")
        said, status = vm.start("exec setpriv --reuid 1000 --clear-groups --no-new-privs --inh-caps=%s --ambient-caps=%s --bounding-set=%s "
                                "wakepath-collector --no-config --overhead-limit none --output /tmp/unprivileged --duration 2 --stats 2>&1" % (
                                    sets, sets, sets)).rest()
        self.assertEqual(status, 0, said)
        self.assertGreater(json.loads(said[-1])["events"], 10)

    def start_collector(self, vm, by=""):
        vm.run("chmod 755 /sys/kernel/tracing && chmod 1777 /tmp && rm -f /tmp/sampled")
        collector = vm.start("exec %swakepath-collector --no-config --overhead-limit none --output /tmp/sampled --ready-fd 1 "
                             "--metrics 0.0.0.0:9469 2>/tmp/collector.log" % by)
        line = collector.line()
        self.assertEqual(line, "ready", (line, vm.run("cat /tmp/collector.log")))
        return collector

    def figures(self, vm, is_enough):
        """Of its metrics on samples, as soon as they are enough, or after a minute."""
        names = {"samples": r'events_total\{kind="sample"\}', "sampling": "sampling", "without": "unsampled_cpus"}
        end, found = time.monotonic() + 60, {}
        while time.monotonic() < end and not (found and is_enough(found)):
            with urllib.request.urlopen("http://%s:9469/metrics" % vm.address, timeout=30) as answer:
                text = answer.read().decode()
            values = {key: re.search("(?m)^wakepath_collector_%s (\\d+)" % name, text) for key, name in names.items()}
            found = {key: int(value.group(1)) for key, value in values.items() if value}
            time.sleep(0.2)
        return found

    def sampled(self, vm, capabilities=None):
        """What a collector's metrics say of samples once some came of a busy thread, or when it says that there are none."""
        by = ""
        if capabilities:
            sets = "-all," + ",".join("+" + name for name in capabilities)
            by = "setpriv --reuid 1000 --clear-groups --no-new-privs --inh-caps=%s --ambient-caps=%s --bounding-set=%s " % (sets, sets, sets)
        collector = self.start_collector(vm, by)
        busy = vm.start("exec sh -c 'while :; do :; done'")
        found = self.figures(vm, lambda found: found.get("samples") or found.get("sampling") == 0)
        busy.stop()
        self.assertEqual(collector.stop()[1], 0, vm.run("cat /tmp/collector.log"))
        return found, "\n".join(vm.run("cat /tmp/collector.log"))

    def test_7_samples_arrive_however_paranoid(self):
        """Debian's kernels begin at 3, and some of them ask CAP_SYS_ADMIN there, whatever CAP_PERFMON says."""
        for name in ("h1", *(name for name in self.vms if name.startswith("newer"))):
            vm = self.vms[name]
            before = vm.run("cat /proc/sys/kernel/perf_event_paranoid")[0]
            self.assertEqual(before, "3", "as Debian ships it")
            for level in ((2, 3, 4) if name == "h1" else (2, 4)) if LONG else (4,): # the service's test has 3
                with self.subTest(kernel=vm.run("uname -r")[0], level=level):
                    vm.run("echo %d >/proc/sys/kernel/perf_event_paranoid" % level)
                    found, log = self.sampled(vm)
                    self.assertTrue(found["samples"], (found, log))
                    self.assertEqual(found["sampling"], 1)
                    self.assertNotIn("does not report samples", log)
                    probe = "\n".join(vm.run("wakepath-collector", "--no-config", "--probe"))
                    self.assertRegex(probe, r"(?m)^samples +used +perf_event")
            vm.run("echo %s >/proc/sys/kernel/perf_event_paranoid" % before)

    def test_8_samples_of_the_service(self):
        """With the unit's capabilities there are samples; with one less, samples or a plain word that there are none."""
        for name in ("h1", *(name for name in self.vms if name.startswith("newer"))):
            vm = self.vms[name]
            with self.subTest(kernel=vm.run("uname -r")[0]):
                found, log = self.sampled(vm, UNIT)
                self.assertTrue(found["samples"], (found, log))
                found, log = self.sampled(vm, UNIT[:-1])
                print("%s, perf_event_paranoid 3, without CAP_SYS_ADMIN: %s" % (vm.run("uname -r")[0], found), file=sys.stderr)
                self.assertEqual(bool(found["samples"]), found["sampling"] == 1, (found, log))
                self.assertEqual("does not report samples" in log, found["sampling"] == 0, log)

    def test_9_a_processor_that_comes_later(self):
        """It has no samples, and the metrics say so; one that was there and comes back has none either."""
        for name in [name for name in self.vms if name.startswith("newer")]:
            vm = self.vms[name]
            vm.run("echo 0 >/sys/devices/system/cpu/cpu1/online")
            collector = self.start_collector(vm)
            self.assertEqual(self.figures(vm, lambda found: "without" in found)["without"], 0)
            vm.run("echo 1 >/sys/devices/system/cpu/cpu1/online")
            self.assertEqual(self.figures(vm, lambda found: found.get("without"))["without"], 1)
            self.assertEqual(collector.stop()[1], 0)
            collector = self.start_collector(vm)
            vm.run("echo 0 >/sys/devices/system/cpu/cpu1/online")
            self.figures(vm, lambda found: found.get("samples"))
            vm.run("sleep 2") # a look while it is away, one a second
            vm.run("echo 1 >/sys/devices/system/cpu/cpu1/online")
            self.assertEqual(self.figures(vm, lambda found: found.get("without"))["without"], 1)
            self.assertEqual(collector.stop()[1], 0)

    def test_6_every_waking_is_seen(self):
        said = self.vms["h2"].run("%s /unseen.py /bin/facts_dump %s" % (os.path.realpath(sys.executable), os.environ.get("WAKEPATH_SECONDS", "10" if LONG else "4")))
        counts = json.loads(said[-1])
        print("on this kernel: %s" % said[-1], file=sys.stderr)
        self.assertGreater(counts["sleeps"], 500 if LONG else 200)
        self.assertEqual((counts["waking not seen"], counts["broken chains"]), (0, 0))

    def aggregate(self, store="store", hosts=2, aggregates=("web",)):
        self.store = "%s/%s" % (self.folder, store)
        down, up = os.pipe()
        child = subprocess.Popen(
            [BIN + "/wakepath-aggregator", "--bind", "tcp://%s:7777" % HERE, "--insecure", "--store", self.store, "--no-config",
             "--ready-fd", str(up), "--log-level", "warn", "--expect-hosts", str(hosts),
             *("--aggregate=%s=comm=%s" % (name, name) for name in aggregates)], pass_fds=[up])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        os.close(up)
        self.assertTrue(os.read(down, 6), "the aggregator did not start")
        os.close(down)
        return child

    def collect(self, vm):
        child = vm.start("exec wakepath-collector --overhead-limit none --connect tcp://%s:7777 --insecure --spool none --hostname %s --ready-fd 1 "
                         "--no-config --stats 2>/tmp/collector.log" % (HERE, vm.name))
        line = child.line()
        self.assertEqual(line, "ready", (line, vm.run("cat /tmp/collector.log")))
        return child

    def ask(self, vm, name, address, requests):
        """Seconds that the requests took."""
        client = vm.start("exec fleet_tier --name %s --next %s --requests %d --pause 5000" % (name, address, requests))
        self.assertEqual(client.line(), "connected")
        client.say("")
        said, status = client.rest()
        took = sum(map(int, said)) / 1e9
        self.assertEqual((len(said), status), (requests, 0))
        self.assertGreater(took, requests * SLEEP_S)
        return took

    def report(self, aggregate="web"):
        def say(form):
            return sh(BIN + "/wakepath-reporter", "--store", self.store, "--format", form, "--release", "unversioned",
                      "--aggregate", aggregate)
        return dict(json.loads(say("json")), folded=say("folded"))

    def test_3_a_wait_is_followed_from_one_kernel_to_the_other(self):
        h1, h2 = self.vms["h1"], self.vms["h2"]
        aggregator = self.aggregate()
        collectors = [self.collect(vm) for vm in (h1, h2)]
        address = h2.address + ":7000"
        api = h2.start("exec fleet_tier --name api --listen %s --sleep %d" % (address, SLEEP_S * 1e6))
        self.assertEqual(api.line(), "listening")
        self.ask(h1, "warm", address, 30) # so that the clocks of the two are known to each other
        took = self.ask(h1, "web", address, REQUESTS)
        for collector, vm in zip(collectors, (h1, h2)):
            self.assertEqual(collector.stop()[1], 0, vm.run("cat /tmp/collector.log"))
            self.assertNotIn("missing", "\n".join(vm.run("cat /tmp/collector.log")))
        aggregator.terminate()
        self.assertEqual(aggregator.wait(timeout=60), 0)
        report = self.report()
        edges = {(edge["from"], edge["to"]): edge for edge in report["edges"]}
        blamed = time_in(report, "[web]", "tcp:", "[api]@h2", "sleep:clock_nanosleep")
        print("requests took %.3f s, the other kernel's sleep has %.3f s of it; %s" % (took, blamed, edges), file=sys.stderr)
        self.assertGreater(blamed, 0.9 * REQUESTS * SLEEP_S, report["folded"])
        self.assertLess(blamed, took, "an emulated processor that has to wait sleeps longer, but never longer than the requests took")
        edge = edges["h2", "h1"]
        self.assertGreaterEqual(edge["messages"], REQUESTS - 2)
        self.assertGreater(edge["transit_ns"], 0)
        self.assertLess(edge["transit_ns"], 20_000_000)
        self.assertGreater(edge["clock_bound_ns"], 0, "a bound is stated")
        self.assertLess(edge["clock_bound_ns"], 1_000_000_000, "of clocks that are hours apart; an emulated processor may stall long")
        self.assertLess(report["categories"]["remote_not_traced"], 0.05 * report["total_ns"])

    def test_10_devices_on_devices(self):
        """Who writes on a device that is made of others waits for the thread that serves it, and for the disk below."""
        for name in ("h2", *(name for name in self.vms if name.startswith("newer"))):
            vm = self.vms[name]
            aggregator = self.aggregate("stacked-" + name, 1, ("on-loop", "on-dm", "on-md"))
            collector = self.collect(vm)
            slept = json.loads(vm.run("%s /stacked_devices.py /disk 60" % os.path.realpath(sys.executable))[-1])
            self.assertEqual(collector.stop()[1], 0, vm.run("cat /tmp/collector.log"))
            aggregator.terminate()
            self.assertEqual(aggregator.wait(timeout=60), 0)
            for writer, ns in slept.items():
                with self.subTest(kernel=vm.run("uname -r")[0], writer=writer):
                    report = self.report(writer)
                    served = time_in(report, "[%s]" % writer, "sleep:", "io:loop", "[kworker/")
                    below = time_in(report, "[%s]" % writer, "sleep:", "io:loop", "[kworker/", "io:vda")
                    print("%s: slept %.3f s, for a loop device's worker %.3f s, for the disk below %.3f s" % (writer, ns / 1e9, served, below),
                          file=sys.stderr)
                    self.assertGreater(served, 0.7 * ns / 1e9, report["folded"])
                    self.assertGreater(below, 0.3 * ns / 1e9, report["folded"])

    def test_11_whose_memory_ran_out(self):
        """Of a control group, of the version that this machine may not have, and of a whole machine, which this one should not fill."""
        for name in ("h1", *(name for name in self.vms if name.startswith("newer"))):
            vm = self.vms[name]
            vm.run("mkdir -p /var && ln -sfn /disk /var/tmp && echo +memory >/sys/fs/cgroup/cgroup.subtree_control")
            with self.subTest(kernel=vm.run("uname -r")[0]):
                said, status = vm.start("WAKEPATH_BIN=/bin exec %s /memory_waits.py oom machine 2>&1" % os.path.realpath(sys.executable)).rest()
                print("%s: %s" % (name, "\n".join(said)), file=sys.stderr)
                self.assertEqual(status, 0, "\n".join(said))
                self.assertEqual(len([line for line in said if "SKIPPED" not in line]), 2, said)
                said, status = vm.start("WAKEPATH_BIN=/bin exec %s /memory_waits.py --bound 50 again 2>&1" % os.path.realpath(sys.executable)).rest()
                print("%s: %s" % (name, "\n".join(said)), file=sys.stderr)
                self.assertEqual(status, 0, "\n".join(said))
                if LONG:
                    said, status = vm.start("WAKEPATH_BIN=/bin exec %s /memory_waits.py --bound 10 high 2>&1" % os.path.realpath(sys.executable)).rest()
                    print("%s: %s" % (name, "\n".join(said)), file=sys.stderr)
                    self.assertEqual(status, 0, "\n".join(said))
                    self.assertNotIn("SKIPPED", "\n".join(said))

    def test_12_a_quota_of_threads_that_are_queued(self):
        """Before Linux 6.18 a cgroup's whole queue is throttled, with all who stand in it."""
        for name in ("h2", *(name for name in self.vms if name.startswith("newer"))):
            vm = self.vms[name]
            vm.run("mkdir -p /var && ln -sfn /disk /var/tmp && echo +cpu >/sys/fs/cgroup/cgroup.subtree_control")
            with self.subTest(kernel=vm.run("uname -r")[0]):
                said, status = vm.start("WAKEPATH_BIN=/bin exec %s /runnable.py --quota-least 50 --seconds 3 2>&1" % os.path.realpath(sys.executable)).rest()
                print("%s: %s" % (name, "\n".join(said)), file=sys.stderr)
                self.assertEqual(status, 0, "\n".join(said))


# At once on the two machines, whose emulators have a processor each; then what times them, or needs both.
AT_ONCE = (("1_what_the_kernel_offers", "2_a_kernel_without_btf_is_refused", "5_five_capabilities_suffice", "7_samples_arrive_however_paranoid",
            "8_samples_of_the_service", "9_a_processor_that_comes_later", "11_whose_memory_ran_out"),
           ("4_the_facts_are_true_on_this_kernel", "6_every_waking_is_seen"))
ALONE = ("3_a_wait_is_followed_from_one_kernel_to_the_other", "10_devices_on_devices", "12_a_quota_of_threads_that_are_queued")


def run(names):
    """Did all of these go well? What they say is shown at their end."""
    said = io.StringIO()
    result = unittest.TextTestRunner(said, verbosity=2).run(unittest.TestSuite(TwoKernels("test_" + name) for name in names))
    sys.stderr.write(said.getvalue())
    return result.wasSuccessful()


def main(chosen):
    with contextlib.ExitStack() as cleanup:
        TwoKernels.folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="wakepath-vm-", ignore_cleanup_errors=True))
        TwoKernels.vms = boot(TwoKernels.folder, cleanup)
        if chosen:
            return 0 if run(chosen) else 1
        # with the newer kernel each does what all machines do
        groups = [sum(AT_ONCE, ())] if LONG else AT_ONCE
        with concurrent.futures.ThreadPoolExecutor(len(groups)) as pool:
            went_well = all(list(pool.map(run, groups)))
        return 0 if run(ALONE) and went_well else 1


if __name__ == "__main__":
    if os.geteuid() != 0:
        missing("needs root")
    try:
        need("qemu-system-x86_64", "busybox", "cpio", "unshare", "ip")
        KERNELS = [Kernel(FOLDER, PACKAGES[0], os.environ.get("WAKEPATH_VM_KERNEL"), NEWEST if "--newest" in sys.argv else None)]
    except Missing as why:
        missing(why)
    for package in PACKAGES[1:] if LONG and "--newest" not in sys.argv else (): # where apt offers them
        try:
            KERNELS.append(Kernel("%s-%s" % (FOLDER, package), package))
        except Missing as why:
            print("without %s: %s" % (package, why), file=sys.stderr)
    alone_on_the_network()
    sys.exit(main([name for name in sys.argv[4:] if name != "--newest"]))
