# SPDX-License-Identifier: Apache-2.0
"""Waits for timers in many tasks: asyncio_timers_fixture.py SECONDS FILE. A line of FILE for each timer that ended: thread, when what waited
went on, the functions that waited, innermost first, and their task; no functions: nobody awaits it."""
import asyncio, json, random, sys, threading, time

rows, ends = [], time.monotonic() + float(sys.argv[1])


def told(*functions):
    rows.append([threading.get_native_id(), time.monotonic_ns(), list(functions)])


def a_moment():
    return random.uniform(0.001, 0.04)


async def read_page(*outer):
    await asyncio.sleep(a_moment())
    told("sleep", "read_page", *outer)


class Mail:
    async def send(self, *outer):
        for _ in range(2):
            await asyncio.sleep(a_moment())
            told("sleep", "Mail.send", *outer)


async def numbers(*outer):
    for i in range(2):
        yield i
    await read_page(*outer)


async def take_turn(depth, *outer):
    if depth:
        await take_turn(depth - 1, "take_turn", *outer)
    else:
        await asyncio.sleep(a_moment())
        told("sleep", "take_turn", *outer)


async def serve_all():
    while time.monotonic() < ends:
        await read_page("serve_all", "task serve_all")
        await Mail().send("serve_all", "task serve_all")
        await take_turn(3, "serve_all", "task serve_all")
        await asyncio.gather(read_page("task read_page"), asyncio.sleep(0))
        async with asyncio.Lock():
            await read_page("serve_all", "task serve_all")


async def post():
    while time.monotonic() < ends:
        await Mail().send("post", "task mailer-N")
        junk = [{"i": i} for i in range(2000)]
        await take_turn(random.randrange(3), "post", "task mailer-N")
        del junk


def tick(loop):
    told()
    if time.monotonic() < ends:
        loop.call_later(a_moment(), tick, loop)


async def serve():
    tick(asyncio.get_running_loop())
    await asyncio.gather(serve_all(), asyncio.create_task(post(), name="mailer-7"))


thread = threading.Thread(target=lambda: asyncio.run(serve())) # two loops at once
thread.start()
asyncio.run(serve())
thread.join()
with open(sys.argv[2], "w", encoding="utf-8") as file:
    file.writelines(json.dumps(row) + "\n" for row in rows)
