# SPDX-License-Identifier: Apache-2.0
"""Waits for a child's pipe, for a server's answers, for a lock and for a command, and says how long each took."""
import json, os, socket, subprocess, threading, time

took = {}


def timed(name, work):
    begin = time.monotonic()
    work()
    took[name] = time.monotonic() - begin


def pipe():
    there, back = os.pipe()
    if not os.fork():
        time.sleep(0.5)
        os.write(back, b"x")
        os._exit(0)
    os.read(there, 1)
    os.wait()


def serve(listener):
    connection, _ = listener.accept()
    while data := connection.recv(100):
        time.sleep(0.1)
        connection.sendall(data)


def ask(client):
    for _ in range(5):
        client.sendall(b"ping")
        client.recv(100)


def hold(lock, is_held):
    with lock:
        is_held.set()
        time.sleep(0.4)


listening, held, has_begun = socket.create_server(("127.0.0.1", 0)), threading.Lock(), threading.Event()
timed("pipe", pipe)
threading.Thread(target=serve, args=(listening,), daemon=True).start()
timed("tcp", lambda: ask(socket.create_connection(listening.getsockname())))
threading.Thread(target=hold, args=(held, has_begun)).start()
has_begun.wait()
timed("lock", held.acquire)
timed("command", lambda: subprocess.run(["sleep", "0.6"], check=True))
print("TOOK " + json.dumps(took), flush=True)
