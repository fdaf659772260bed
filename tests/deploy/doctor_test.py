#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`wakepath doctor` on hosts that lack something: each is this one, with that taken away in a mount namespace of its own. What is wrong is
said with how to mend it. What daemons lack is monitoring_test.py's. Usage: doctor_test.py BIN GENERATED SOURCE"""
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, _, SOURCE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"]
LEAST_TIMEX = 512  # struct timex is smaller
STA_UNSYNC, TIME_ERROR, STATUS_AT = 0x40, 5, 40  # timex.h; status stands behind modes, offset, freq, maxerror and esterror


def is_synchronised():
    timex = ctypes.create_string_buffer(LEAST_TIMEX)
    state = ctypes.CDLL(None).adjtimex(timex)
    return state not in (-1, TIME_ERROR) and not int.from_bytes(timex.raw[STATUS_AT:STATUS_AT + 4], "little") & STA_UNSYNC


class DoctorTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-doctor-", dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder, True)
        os.chmod(self.folder, 0o755)
        for name in ("collector", "aggregator"):  # not this machine's own settings
            self.write(name + ".conf", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def over(self, path, text):
        """The line that puts a file with that text over another one."""
        return f"mount --bind {self.write(path.replace('/', '_'), text)} {path}"

    def ask(self, *before, by=(), settings=None):
        """{(subject, state): finding} after these lines of a shell; every finding that is not good has its mend."""
        env = {"PATH": os.environ["PATH"], "HOME": self.folder}
        for name, text in (settings or {}).items():
            env[f"WAKEPATH_{name.upper()}_CONFIG"] = self.write(name + ".conf", text)
        script = "set -e; mount -t tmpfs none /etc/wakepath 2>/dev/null || true; " + "".join(line + "; " for line in before) + 'exec "$@"'
        done = subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *by, f"{BIN}/wakepath", "doctor",
                               "--json"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False, env=env)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        told = json.loads(done.stdout)
        found = {(one["subject"], one["state"]): one for one in told["findings"]}
        self.assertEqual(told["is_well"], not any(state == "wrong" for _, state in found))
        self.assertEqual(done.returncode, not told["is_well"])
        for one in told["findings"]:
            self.assertEqual(bool(one["mend"]), one["state"] != "good", one)
        return found

    def lacks(self, subject, state, text, mend, *before, **options):
        found = self.ask(*before, **options)
        self.assertIn((subject, state), found, found.keys())
        self.assertIn(text, found[subject, state]["text"])
        self.assertIn(mend, found[subject, state]["mend"])

    def test_nothing_is_wrong_here(self):
        found = self.ask()
        for subject in ("kernel", "privileges", "btf", "tracefs", "perf", "probe", "daemons"):
            self.assertIn((subject, "good"), found)

    def test_kernel(self):
        self.lacks("kernel", "wrong", "does not report the state in which a thread leaves", "Linux 5.18 or later", by=("setarch", "x86_64", "--uname-2.6"))

    def test_pids(self):
        self.lacks("pids", "note", "have no names", "--pid=host", by=("unshare", "--pid", "--fork", "--mount-proc"))
        self.assertNotIn(("pids", "note"), self.ask())

    def test_privileges(self):
        self.lacks("privileges", "wrong", "needs root", "sudo", by=NOBODY)
        self.lacks("privileges", "wrong", "withholds even from root", "docs/first-fleet.md", by=("setpriv", "--bounding-set=-all", "--inh-caps=-all"))
        few = "-all,+bpf,+perfmon"
        self.lacks("privileges", "note", "not CAP_SYSLOG, CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH", "give them too",
                   by=("setpriv", "--bounding-set=" + few, "--inh-caps=" + few))

    def test_btf(self):
        self.lacks("btf", "wrong", "/sys/kernel/btf/vmlinux: No such file", "CONFIG_DEBUG_INFO_BTF=y", "mount -t tmpfs none /sys/kernel/btf")

    def test_tracefs(self):
        self.lacks("tracefs", "wrong", "is not mounted", "mount -t tracefs tracefs /sys/kernel/tracing",
                   *(f"! [ -d {path} ] || mount -t tmpfs none {path}" for path in ("/sys/kernel/tracing", "/sys/kernel/debug")))

    def test_limits_of_perf(self):
        self.lacks("samples", "wrong", "max_sample_rate is 10,", "sysctl kernel.perf_event_max_sample_rate=",
                   self.over("/proc/sys/kernel/perf_event_max_sample_rate", "10\n"))
        self.lacks("names", "note", "kptr_restrict is 2", "sysctl kernel.kptr_restrict=1", self.over("/proc/sys/kernel/kptr_restrict", "2\n"))

    def test_samples(self):
        """Judged by what the collector will have, not by who asks."""
        self.lacks("perf", "wrong", "no CPU samples: functions that run stay unknown: kernel.perf_event_paranoid is", "CAP_SYS_ADMIN",
                   by=(sys.executable, SOURCE + "/tests/record/without_perf.py"))
        self.assertIn("can take CPU samples", self.ask()["perf", "good"]["text"])

    def test_clocks(self):
        found = self.ask(self.over("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"))
        self.assertIn(("clock", "good" if is_synchronised() else "note"), found)
        self.assertIn("is hpet", found["clocksource", "note"]["text"])

    def test_machine_id(self):
        self.lacks("machine-id", "note", "known by its name", "systemd-machine-id-setup", self.over("/etc/machine-id", ""))

    def test_ports(self):
        setting = 'bind = "%s"\nstore = "/var/tmp"\ninsecure = true\nmetrics = none\n'
        self.lacks("port", "wrong", "Cannot assign requested address", "another port", settings={"aggregator": setting % "tcp://192.0.2.1:7447"})
        self.lacks("aggregator", "wrong", "a number up to 65535", "correct that line", settings={"aggregator": setting % "tcp://127.0.0.1:77447"})

    def test_keys(self):
        self.lacks("collector", "wrong", "give --key and --server-key (`wakepath keygen` makes keys)", "correct that line",
                   settings={"collector": 'connect = "tcp://127.0.0.1:7447"\nspool = none\nmetrics = none\n'})
        self.lacks("aggregator", "wrong", "give --key and --allow (`wakepath keygen` makes keys)", "correct that line",
                   settings={"aggregator": 'bind = "tcp://127.0.0.1:0"\nstore = "/var/tmp"\nmetrics = none\n'})

    def test_disks(self):
        os.mkdir(self.path("disk"))
        setting = {"aggregator": f'bind = "ipc://{self.path("events")}"\nstore = "{self.path("disk")}/store"\nmetrics = none\n'}
        mount = f"mount -t tmpfs -o size=%s none {self.path('disk')}"
        self.lacks("store", "wrong", "has only 1 MiB left", "wakepath-store prune", mount % "1m", settings=setting)
        self.lacks("store", "note", "has 200 MiB left", "make room", mount % "200m", settings=setting)
        self.lacks("store", "wrong", "read only", "mount it for writing", mount % "2g,ro", settings=setting)

    def test_retention(self):
        setting = {"aggregator": f'bind = "ipc://{self.path("events")}"\nstore = "{self.path("store")}"\nmetrics = none\n'}
        none = "mount -t tmpfs none /etc/cron.d; rm -f /etc/systemd/system/timers.target.wants/wakepath-prune.timer"
        self.lacks("retention", "note", "nothing prunes", "wakepath-prune.timer", none, settings=setting)
        cron = os.path.join(SOURCE, "deploy/cron/wakepath-prune")
        self.assertIn(("retention", "good"), self.ask(f"mount -t tmpfs none /etc/cron.d; cp {cron} /etc/cron.d/", settings=setting))


if __name__ == "__main__":
    unittest.main(verbosity=2)
