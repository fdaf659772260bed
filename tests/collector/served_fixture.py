#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a server's worker run a fixture: served_fixture.py php-fpm|uwsgi COUNT LOG. The interpreter is one that another program embeds, and
its process was forked before it ran anything."""
import os, shutil, signal, socket, struct, subprocess, sys, tempfile, time

FOLDER = os.path.dirname(os.path.abspath(__file__))
POOL = """[global]
error_log = {0}/errors
daemonize = no
[fixture]
user = 0
group = 0
listen = {0}/socket
pm = static
pm.max_children = 2
"""
APPLICATION = """import runpy, sys

def application(environ, start_response):
    sys.argv = ["python_fixture.py", {count!r}, {log!r}]
    runpy.run_path({fixture!r})
    start_response("200 OK", [])
    return [b"done"]
"""


def written(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def server_of(kind, folder, count, log):
    if kind == "php-fpm":
        return [shutil.which("php-fpm8.2") or shutil.which("php-fpm8.4"), "--nodaemonize", "--allow-to-run-as-root", "--fpm-config", written(folder + "/pool", POOL.format(folder))]
    application = written(folder + "/application.py", APPLICATION.format(count=count, log=log, fixture=FOLDER + "/python_fixture.py"))
    return ["uwsgi", "--plugin", "python3", "--master", "--processes", "2", "--enable-threads", "--disable-logging", "--die-on-term",
            "--http-socket", folder + "/socket", "--wsgi-file", application]


def record_of(kind, body):
    return struct.pack(">BBHHBB", 1, kind, 1, len(body), 0, 0) + body


def fastcgi_question(script, **variables):
    """Begin (as a responder), parameters, no input."""
    variables.update(REQUEST_METHOD="GET", SCRIPT_FILENAME=script)
    pairs = b"".join(struct.pack(">LL", len(k) | 1 << 31, len(v) | 1 << 31) + k.encode() + v.encode() for k, v in variables.items())
    return record_of(1, struct.pack(">HB5x", 1, 0)) + record_of(4, pairs) + record_of(4, b"") + record_of(5, b"")


def question_of(kind, count, log):
    return b"GET / HTTP/1.0\r\n\r\n" if kind == "uwsgi" else fastcgi_question(FOLDER + "/php_fixture.php", COUNT=count, LOG=log)


def connected(server, path):
    while server.poll() is None:
        client = socket.socket(socket.AF_UNIX)
        try:
            client.connect(path)
            return client
        except OSError:
            client.close()
            time.sleep(0.01)
    sys.exit("served_fixture: the server ended")


def main():
    kind, count, log = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder, open(folder + "/output", "wb") as output:
        with subprocess.Popen(server_of(kind, folder, count, log), stdout=output, stderr=output) as server:
            with connected(server, folder + "/socket") as client:
                client.sendall(question_of(kind, count, log))
                answer = b"".join(iter(lambda: client.recv(65536), b""))
            server.send_signal(signal.SIGTERM)
        if not os.path.exists(log):
            with open(folder + "/output", errors="replace", encoding="utf-8") as said:
                sys.exit(f"served_fixture: {answer!r}, {said.read()[-2000:]}")


if __name__ == "__main__":
    main()
