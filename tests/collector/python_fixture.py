# SPDX-License-Identifier: Apache-2.0
"""Sleeps in every way that frames of Python come to stand on each other, and writes what each stack was: python_fixture.py COUNT
LOG. Lines of LOG: [thread, from, to, [[function, file, line], ...]], innermost first, CLOCK_MONOTONIC ns. Python 3.9 or
newer; a new code object stands at an old one's address, too."""
import asyncio, contextlib, ctypes, functools, gc, importlib, inspect, json, os, re, sys, threading, time

COUNT, LOG = int(sys.argv[1]), sys.argv[2]
NAP = 0.0005
HAS_TASKS = sys.version_info >= (3, 11)
OTHER_LOOP = os.environ.get("FIXTURE_LOOP")  # a module
rows, lock = [], threading.RLock()  # a collection inside it may run a __del__ that sleeps, too


def task_row():
    """How a trace names the running task: its name with each number as N, if the program gave one, or its coroutine."""
    task = asyncio.current_task()
    code = task.get_coro().cr_code
    name = task.get_name()
    is_given = name.isascii() and not re.match("Task-[0-9]", name)
    return ["task " + (re.sub("[0-9]+", "N", name[:64]) if is_given else code.co_qualname), code.co_filename, code.co_firstlineno]


def is_step(frame, inner):
    """The frame below the coroutine of a task: the event loop's, or, of a loop without frames, what runs that."""
    is_loop = frame.f_code is asyncio.Handle._run.__code__ or (OTHER_LOOP and not frame.f_code.co_flags & inspect.CO_COROUTINE)
    return HAS_TASKS and is_loop and inner and inner.co_flags & inspect.CO_COROUTINE


def trace(frame):
    out, inner = [], None
    while frame:
        code = frame.f_code
        if is_step(frame, inner):
            out.append(task_row())
        inner = code
        out.append([getattr(code, "co_qualname", code.co_name), code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return out


def nap():
    stack = trace(sys._getframe())
    stack[0][2] = NAP_LINE
    before = time.monotonic_ns()
    time.sleep(NAP)
    after = time.monotonic_ns()
    with lock:
        rows.append((threading.get_native_id(), before, after, stack))


NAP_LINE = nap.__code__.co_firstlineno + 4


def recursion(depth=24):
    if depth:
        return recursion(depth - 1) + 1
    nap()
    return 0


def numbers():
    for i in range(2):
        nap()
        yield i


def delegated():
    yield from numbers()
    received = yield 3
    nap()
    return received


def generators():
    list(delegated())
    sum(x for x in numbers())
    return {x: nap() for x in range(1)}


class Text(str):
    def __lt__(self, other):
        nap()
        return str.__lt__(self, other)

    def __getattr__(self, name):
        nap()
        raise AttributeError(name)

    def __del__(self):
        nap()


def c_callbacks():
    sorted([Text("b"), Text("a")])
    list(map(lambda x: nap(), [1]))
    functools.reduce(lambda a, b: nap(), [1, 2])
    re.sub("x", lambda match: nap() or "y", "x")
    getattr(Text("c"), "colour", None)
    compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda a, b: nap() or 0)
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, 4, compare)


def exceptions():
    try:
        raise ValueError(
            recursion(2))
    except ValueError:
        nap()
        try:
            json.loads("{")
        except Exception:
            nap()
    finally:
        nap()


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args,
                        **kwargs)
    return wrapper


@decorated
@functools.lru_cache(maxsize=None)
def decorators(number):
    with managed():
        nap()


@contextlib.contextmanager
def managed():
    nap()
    try:
        yield
    finally:
        nap()


class Coroutines:
    async def inner(self):
        nap()
        await asyncio.sleep(0)
        nap()

    async def numbers(self):
        for i in range(2):
            await asyncio.sleep(0)
            nap()
            yield i

    async def reader(self):
        async for _ in self.numbers():
            nap()
            await self.inner()
        sorted([Text("b"), Text("a")])

    def called(self, future):
        nap()
        future.set_result(None)

    async def outer(self):
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(self.called, future)
        named = [asyncio.create_task(self.inner(), name=name) for name in ("till-7", "till-18", "Task-N", "Kasse \xfc")]
        named.append(asyncio.create_task(self.reader(), name="Journal " * 9))
        await asyncio.gather(self.inner(), self.inner(), asyncio.wait_for(self.inner(), 60), future, *named)
        nap()

    def run(self):
        asyncio.run(self.outer())


def made_code(number):
    text = "\n" * (number % 40) + "def made_%d():\n    nap()\nmade_%d()\n" % (number % 7, number % 7)
    exec(compile(text, "<made %d>" % (number % 3), "exec"), {"nap": nap})


def two_places():
    """All that differs is the place in this function, within the time for which frames are remembered (CHAIN_NS)."""
    for _ in range(6):
        nap()
        nap()


def unicode_names():
    def grüße_мир():
        nap()
    grüße_мир()


def collected():
    class Node:
        def __del__(self):
            nap()
    node = Node()
    node.itself = node
    del node
    gc.collect()


WAYS = [recursion, generators, c_callbacks, exceptions, lambda: decorators(time.monotonic_ns()), Coroutines().run, unicode_names, collected,
        two_places]


def work(number):
    WAYS[number % len(WAYS)]()
    made_code(number)


def threads():
    def body(number):
        for i in range(COUNT):
            work(number + i)
    made = [threading.Thread(target=body, args=(i,)) for i in range(50)]
    for thread in made:
        thread.start()
    for thread in made:
        thread.join()


def write(path):
    with open(path, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")


def main():
    if OTHER_LOOP:
        importlib.import_module(OTHER_LOOP).install()
    for i in range(len(WAYS) * COUNT):
        work(i)
    threads()
    child = os.fork()
    if not child:
        rows.clear()
        for i in range(len(WAYS)):
            work(i)
        write(LOG + ".child")
        os._exit(0)
    os.waitpid(child, 0)
    write(LOG)


main()
