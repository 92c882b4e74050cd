# SPDX-License-Identifier: Apache-2.0
"""A push that wakes an app: from the push network's delivery to the reported call, with the app's process not running.

`handset-callservice` gets the push over its socket and starts the example app's program, which reports the call; then the app is killed.
"""
import os
import queue
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import uuid

BUNDLE = "app.speakerbox"
# What the parts end with: a line of the service's or of the app, whose output it inherits.
MARKS = [("the process is started", "started "), ("loaded, connected, registered for pushes", "token "),
         ("the push reaches the handler", "push ")]


def cbor(value):
    """The few kinds of RFC 8949 that a push needs."""
    def head(kind, count):
        if count < 24:
            return bytes([kind << 5 | count])
        return bytes([kind << 5 | 24, count]) if count < 256 else bytes([kind << 5 | 25]) + struct.pack(">H", count)
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    return head(5, len(value)) + b"".join(cbor(key) + cbor(item) for key, item in value.items())


class Session:
    """A call service of its own, with a screen."""

    def __init__(self, built):
        self.folder = tempfile.mkdtemp(prefix="wake")
        apps = os.path.join(self.folder, "config/handset/apps")
        os.makedirs(apps)
        self.program = os.path.join(built, "SpeakerboxPhone")
        with open(os.path.join(apps, BUNDLE), "w") as file:
            file.write(self.program)
        path = os.path.join(self.folder, "service.sock")
        # Nobody is where it registers: signalling begins after the report, and does not count.
        self.environment = dict(
            os.environ, HANDSET_CALLSERVICE=path, XDG_STATE_HOME=self.folder + "/state", XDG_CONFIG_HOME=self.folder + "/config",
            SPEAKERBOX_ACCOUNT="sip:bob@127.0.0.1:9", SPEAKERBOX_PASSWORD="none")
        self.service = subprocess.Popen(
            [os.path.join(built, "handset-callservice"), "serve"], env=self.environment, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.line("listening ")
        self.screen = socket.socket(socket.AF_UNIX)
        self.screen.connect(path)
        self.screen.settimeout(20)
        self.send({"openScreen": {}})
        self.app = None

    def read(self):
        for line in self.service.stdout:
            self.lines.put((time.monotonic(), line.rstrip("\n")))

    def line(self, start):
        """The next line that begins so, and when it came."""
        while True:
            at, line = self.lines.get(timeout=20)
            if line.startswith(start):
                return at, line

    def send(self, message):
        body = cbor(message)
        self.screen.sendall(struct.pack(">I", len(body)) + body)

    def wait_for_screen(self, rings):
        while True:
            header = self.screen.recv(4, socket.MSG_WAITALL)
            frame = self.screen.recv(struct.unpack(">I", header)[0], socket.MSG_WAITALL)
            if b"\x66screen" in frame and (b"\x67ringing" in frame) == rings:
                return time.monotonic()

    def run_once(self):
        """The push network must know the app."""
        environment = dict(self.environment, HANDSET_APP=BUNDLE, HANDSET_LAUNCHED="background")
        with subprocess.Popen([self.program], env=environment, stdout=subprocess.PIPE, text=True) as first:
            for line in first.stdout:
                if line.startswith("token "):
                    break
            first.kill()
        # The service has to see that it is gone.
        time.sleep(0.3)

    def wake(self):
        """Seconds from the push to the end of each part, the reported call last."""
        payload = f'{{"call":"{uuid.uuid4()}","from":"ana"}}'.encode()
        begin = time.monotonic()
        self.send({"deliverPush": {"_0": 1, "bundle": BUNDLE, "type": "PKPushTypeVoIP", "payload": payload}})
        reported = self.wait_for_screen(rings=True)
        times = []
        for _, start in MARKS:
            at, line = self.line(start)
            if start == "started ":
                self.app = int(line.split()[-1])
            times.append(at - begin)
        self.line("ringing")
        self.kill_app()
        self.wait_for_screen(rings=False)
        return times + [reported - begin]

    def kill_app(self):
        if self.app is not None:
            os.kill(self.app, signal.SIGKILL)
        self.app = None

    def close(self):
        self.kill_app()
        self.screen.close()
        self.service.terminate()
        self.service.wait()
        shutil.rmtree(self.folder)


def measure(built, runs=30):
    session = Session(built)
    try:
        session.run_once()
        session.wake()
        results = [session.wake() for _ in range(runs)]
    finally:
        session.close()
    before = [0.0] * runs
    for column, name in enumerate([name for name, _ in MARKS] + ["the call is reported and rings"]):
        ends = [result[column] for result in results]
        parts = [(end - start) * 1000 for end, start in zip(ends, before)]
        print(f"    {statistics.median(parts):6.1f} ms  {name}", flush=True)
        before = ends
    total = sorted(result[-1] * 1000 for result in results)
    print(f"    {statistics.median(total):6.1f} ms  from the push to the reported call (median of {runs}; {total[0]:.1f} to {total[-1]:.1f})")
