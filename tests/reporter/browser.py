# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium without its windows (chromium-headless-shell) over its debugging pipe (JSON between NUL bytes on descriptors 3 and 4): no
port, no library. It is one process: pages here come from our reporter alone, and a process for each takes more time."""
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import time

# How long a state is waited for. A machine may have forty times more to do than it can: what comes in the end is not late.
PATIENCE_S = 150


class Browser:
    def __init__(self, width=1300, height=900):
        self.profile = tempfile.mkdtemp(prefix="wp-browser-")
        read_commands, self.to = os.pipe()
        self.back, write_answers = os.pipe()
        high = [os.dup(fd) for fd in (read_commands, write_answers)]  # out of the way of 3 and 4

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ["chromium-headless-shell", "--no-sandbox", "--single-process", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--in-process-gpu",
             "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
             "--disable-features=BackForwardCache",  # no page lives on behind the next
             f"--window-size={width},{height}", f"--user-data-dir={self.profile}", "--remote-debugging-pipe"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (read_commands, write_answers, *high):
            os.close(fd)
        self.buffer, self.number, self.events = b"", 0, []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = None
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                return None
            data = os.read(self.back, 1 << 16)
            if not data:
                raise RuntimeError("the browser has gone")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, params=None, timeout=PATIENCE_S):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + timeout
        while True:
            answer = self.receive(deadline)
            if answer is None:
                raise RuntimeError(f"{method}: no answer")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, code):
        result = self.call("Runtime.evaluate", {"expression": code, "returnByValue": True})
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"])[:300])
        return result["result"].get("value")

    def open(self, url, timeout=PATIENCE_S):
        """Loads a page and waits until its scripts say that it is drawn. Returns what they said, None if they did not."""
        self.call("Page.navigate", {"url": "about:blank"})
        self.wait("location.href === 'about:blank' && document.readyState === 'complete'", timeout)
        self.events = []  # what the page before was still loading has been given up by now
        self.call("Page.navigate", {"url": url})
        return self.wait("document.body && document.body.dataset.ready", timeout)

    def wait(self, code, timeout=PATIENCE_S):
        """What `code` says once that is true; None if it never is. While a link is followed there may be no page to ask."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                value = self.evaluate(code)
            except RuntimeError as error:
                if not re.search("context|navigated", str(error), re.IGNORECASE):
                    raise
                value = None
            if value:
                return value
            time.sleep(0.05)
        return None

    def wait_for_fault(self, text, timeout=PATIENCE_S):
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if any(text in fault for fault in self.faults()):
                return True
            time.sleep(0.05)
        return False

    def faults(self):
        """Console errors, exceptions, refused or foreign requests since the page was opened."""
        self.evaluate("1")
        found, own = [], set()
        for event in self.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Network.requestWillBeSent":
                own.add(params["requestId"])
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + str(params["exceptionDetails"].get("exception", params))[:300])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append("console: " + str(params["args"])[:300])
            elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append("log: " + params["entry"]["text"][:300])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "about:", "data:")):
                found.append("request: " + params["request"]["url"][:200])
            elif method == "Network.loadingFailed" and params["requestId"] in own and not params.get("canceled"):  # by leaving the page
                found.append("loading failed: " + str(params)[:200])
            elif method == "Page.javascriptDialogOpening":
                found.append("a dialog was opened: " + params["message"][:100])
        return found

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def key(self, key):
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", "key": key})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", "key": key})

    def screenshot(self, path):
        import base64
        data = self.call("Page.captureScreenshot", {"format": "png"})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
