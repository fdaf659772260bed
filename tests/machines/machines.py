# SPDX-License-Identifier: Apache-2.0
"""Hosts for tests of what an operator does: each a network namespace with a systemd of its own (systemd-nspawn) over a copy-on-write
view of this machine's files, with sshd. What is installed in one is in no other one and not here."""
import atexit, itertools, os, shutil, signal, subprocess, tempfile, time, uuid

SETS = itertools.count()
TARGET = "[Unit]\nRequires=basic.target\nAfter=basic.target\nAllowIsolate=yes\nWants=dbus.service wakepath-test-ssh.service\n"
SSH = ("[Service]\nExecStartPre=/bin/mkdir -p /run/sshd\nExecStart=/usr/sbin/sshd -D -e -o PermitRootLogin=yes -o UsePAM=no -h /etc/ssh/test_key\n")
# Of this machine's own: its settings, its data and what it would start.
HIDDEN = ("etc/wakepath", "var/lib/wakepath", "var/lib/wakepath-collector", "var/spool/wakepath")
LISTS = "var/lib/apt/lists" # of all Debian, which each apt-get would read; what our packages need is installed here
# Hosts here are containers: their collectors need the /proc of the kernel that they trace (docs/names.md). And a busy machine is no reason to
# leave anything out.
COLLECTOR = "[Service]\nBindPaths=/run/host-proc:/proc\nEnvironment=WAKEPATH_COLLECTOR_OVERHEAD_LIMIT=none\n"
INDEX = "var/lib/man-db/auto-update" # what lets each package's installation read all manual pages of the machine


def sh(*words, check=True, **options):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **options)
    if check and done.returncode:
        raise AssertionError("%s: %d %s%s" % (" ".join(words), done.returncode, done.stdout, done.stderr))
    return done.stdout


def wait_for(what, is_so, limit_s=120, tell=lambda: ""):
    end = time.monotonic() + limit_s
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError("waited %d s in vain for: %s\n%s" % (limit_s, what, tell()))
        time.sleep(0.1)


class Machine:
    def __init__(self, machines, name, number):
        self.name, self.address = name, "10.88.0.%d" % number
        self.space = "%s-%s" % (machines.prefix, name)
        self.folder = os.path.join(machines.folder, name)
        self.root = self.folder + "/root"
        self.machines, self.process = machines, None

    def boot(self):
        for part in ("upper", "work", "root"):
            os.makedirs(os.path.join(self.folder, part))
        sh("mount", "-t", "overlay", "overlay", "-o", "lowerdir=/,upperdir=%s/upper,workdir=%s/work" % (self.folder, self.folder),
           self.root)
        for path in HIDDEN:
            shutil.rmtree(os.path.join(self.root, path), ignore_errors=True)
        if os.path.exists(os.path.join(self.root, INDEX)):
            os.unlink(os.path.join(self.root, INDEX))
        shutil.rmtree(os.path.join(self.root, LISTS), ignore_errors=True)
        os.makedirs(os.path.join(self.root, LISTS, "partial"))
        os.makedirs(self.root + "/root/.ssh", 0o700, exist_ok=True)
        shutil.copy(self.machines.folder + "/key.pub", self.root + "/root/.ssh/authorized_keys")
        shutil.copy(self.machines.folder + "/key", self.root + "/etc/ssh/test_key")
        for path, text in (("etc/hostname", self.name + "\n"), ("etc/machine-id", uuid.uuid4().hex + "\n"),
                           ("etc/dpkg/dpkg.cfg.d/wakepath-test", "force-unsafe-io\n"),
                           ("etc/systemd/system/wakepath-collector.service.d/test.conf", COLLECTOR),
                           ("etc/systemd/system/wakepath-test.target", TARGET),
                           ("etc/systemd/system/wakepath-test-ssh.service", SSH),
                           ("etc/hosts", self.machines.hosts_file())):
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if os.path.lexists(full):
                os.unlink(full)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
        self.start()

    def start(self):
        words = ["systemd-nspawn", "-q", "-D", self.root, "--boot", "--register=no", "--keep-unit", "--console=pipe",
                 "--kill-signal=SIGRTMIN+3", "--network-namespace-path=/run/netns/" + self.space, "--machine=" + self.name,
                 "--capability=CAP_BPF,CAP_PERFMON,CAP_SYS_PTRACE,CAP_SYSLOG,CAP_DAC_READ_SEARCH,CAP_NET_ADMIN",
                 "--system-call-filter=bpf perf_event_open", "--bind=/sys/kernel/tracing", "--bind=/proc:/run/host-proc", "--resolv-conf=off",
                 "--", "--unit=wakepath-test.target"]
        with open(self.folder + "/boot", "ab") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=dict(os.environ, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="1"))
        wait_for(self.name + " answers ssh", self.answers, tell=self.boot_log)

    def write(self, path, text):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)

    def trust(self):
        """Root of this host may enter the others, as operators' hosts do it by an agent."""
        shutil.copy(self.machines.folder + "/key", self.root + "/root/.ssh/id_ed25519")
        self.write("root/.ssh/config", "StrictHostKeyChecking no\nLogLevel ERROR\n")

    def answers(self):
        assert self.process.poll() is None, self.boot_log()
        return self.ssh("true", check=False) is not None

    def boot_log(self):
        with open(self.folder + "/boot", encoding="utf-8", errors="replace") as file:
            return file.read()[-4000:]

    def ssh(self, command, check=True):
        """What a command there prints; None when it fails and need not succeed."""
        done = subprocess.run(["ip", "netns", "exec", self.machines.space, "ssh", "-F", self.machines.ssh_config(), self.name, command], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False, env=self.machines.env())
        if done.returncode and check:
            raise AssertionError("%s: %s: %d\n%s%s" % (self.name, command, done.returncode, done.stdout, done.stderr))
        return None if done.returncode else done.stdout

    def end(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()

    def close(self):
        if self.process and self.process.poll() is None:
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        sh("umount", self.root, check=False)
        sh("ip", "netns", "del", self.space, check=False)


class Machines:
    """`names`: hosts; each reaches the others by name. This machine is 10.88.0.254 on their bridge."""

    def __init__(self, *names):
        self.prefix = "wpm%d%c" % (os.getpid() % 100000, ord("a") + next(SETS))
        self.folder = tempfile.mkdtemp(prefix="wakepath-machines-", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        self.all = [Machine(self, name, number) for number, name in enumerate(names, 1)]
        atexit.register(self.close)
        sh("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder + "/key")
        self.network()
        for machine in self.all:
            machine.boot()

    def __getitem__(self, name):
        return next(machine for machine in self.all if machine.name == name)

    def network(self):
        self.space = self.prefix + "-x"
        sh("ip", "netns", "add", self.space)
        sh("ip", "-n", self.space, "link", "add", "name", "switch", "type", "bridge")
        sh("ip", "-n", self.space, "addr", "add", "10.88.0.254/24", "dev", "switch")
        sh("ip", "-n", self.space, "link", "set", "switch", "up")
        sh("ip", "-n", self.space, "link", "set", "lo", "up")
        for number, machine in enumerate(self.all):
            sh("ip", "netns", "add", machine.space)
            sh("ip", "-n", self.space, "link", "add", "v%d" % number, "type", "veth", "peer", "name", "eth0", "netns", machine.space)
            sh("ip", "-n", self.space, "link", "set", "v%d" % number, "master", "switch", "up")
            sh("ip", "-n", machine.space, "addr", "add", machine.address + "/24", "dev", "eth0")
            sh("ip", "-n", machine.space, "link", "set", "eth0", "up")
            sh("ip", "-n", machine.space, "link", "set", "lo", "up")

    def hosts_file(self):
        return "127.0.0.1 localhost\n" + "".join("%s %s\n" % (machine.address, machine.name) for machine in self.all)

    def ssh_config(self):
        path = self.folder + "/ssh_config"
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write("Host *\n  User root\n  IdentityFile %s/key\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n"
                           "  LogLevel ERROR\n  BatchMode yes\n  ConnectTimeout 5\n"
                           % self.folder)
                for machine in self.all:
                    file.write("Host %s\n  HostName %s\n" % (machine.name, machine.address))
        return path

    def env(self):
        return dict(os.environ, LC_ALL="C")

    def close(self):
        for machine in self.all: # all at once: each takes a while to stop what it runs
            machine.end()
        for machine in self.all:
            machine.close()
        self.all = []
        sh("ip", "netns", "del", self.space, check=False)
        # What nspawn made of the host's control groups, unless somebody is in it.
        sh("find", "/sys/fs/cgroup", "-depth", "-type", "d", "(", "-path", "*/payload", "-o", "-path", "*/payload/*", "-o", "-path",
           "*/supervisor", ")", "-exec", "rmdir", "--ignore-fail-on-non-empty", "{}", "+", check=False)
        if os.environ.get("WAKEPATH_KEEP"):
            print("kept:", self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
