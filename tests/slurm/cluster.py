# SPDX-License-Identifier: Apache-2.0
"""A real Slurm of two nodes on this machine, with a munge of its own: nothing of the machine's own Slurm is read or touched."""
import os, shutil, signal, socket, subprocess, tempfile, time

CONF = """
ClusterName=wakepath
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
PrologFlags=Alloc
Prolog={job}
Epilog={job}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE:4
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """`up` starts it with a Prolog and Epilog; `run` gives what a command of Slurm prints. Its folder goes with `close`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="wakepath-slurm-", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        self.env = dict(os.environ, SLURM_CONF=self.folder + "/slurm.conf", LC_ALL="C")
        self.children = []

    def up(self, job):
        with open(self.folder + "/slurm.conf", "w", encoding="utf-8") as file:
            file.write(CONF.format(folder=self.folder, host=socket.gethostname(), ports=free_ports(3), job=job))
        self.munge()
        self.start("slurmctld", "-D")
        for node in ("n1", "n2"):
            self.start("slurmd", "-D", "-N", node)
        self.idle()

    def idle(self):
        self.until("both nodes idle", lambda: self.run("sinfo", "-h", "-N", "-o", "%T", check=False).split() == ["idle"] * 2)

    def hosts(self):
        return [socket.gethostname()] * 2

    def close(self):
        for child in reversed(self.children):
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(20)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        if not os.environ.get("WAKEPATH_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *words):
        with open("%s/%s-%d.out" % (self.folder, words[0], len(self.children)), "wb") as out:
            self.children.append(subprocess.Popen(words, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out))

    def munge(self):
        own = self.folder + "/munge"
        os.mkdir(own)
        os.chmod(own, 0o711)
        with open(own + "/key", "wb", opener=lambda path, flags: os.open(path, flags, 0o400)) as file:
            file.write(os.urandom(1024))
        self.start("munged", "--foreground", *("--%s=%s/%s" % (name, own, at) for name, at in (
            ("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))))
        self.until("munge answers", lambda: os.path.exists(own + "/socket"))

    def until(self, what, is_so, limit_s=60):
        end = time.monotonic() + limit_s
        while not is_so():
            if time.monotonic() > end or any(child.poll() is not None for child in self.children):
                raise AssertionError("in vain: %s\n%s" % (what, self.logs()))
            time.sleep(0.1)

    def run(self, *words, check=True, path=None, limit_s=120):
        env = dict(self.env, PATH=path + ":" + os.environ["PATH"]) if path else self.env
        done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s,
                              cwd=self.folder, check=False)
        if check and done.returncode:
            raise AssertionError("%s ended with %d: %s\n%s" % (words, done.returncode, done.stderr, self.logs()))
        return done.stdout

    def logs(self):
        texts = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith((".log", ".out")):
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as file:
                    texts.append("--- %s\n%s" % (name, file.read()[-3000:]))
        return "\n".join(texts)
