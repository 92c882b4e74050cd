# SPDX-License-Identifier: Apache-2.0
"""A measured process: CPU time, memory, first answer, instructions."""
import atexit
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

HERTZ = os.sysconf("SC_CLK_TCK")
CORES = sorted(os.sched_getaffinity(0))
# The load runs on the first core and what is measured on the last; with one core they share it.
LOAD_CORE, SERVER_CORE = CORES[0], CORES[-1]


def pinned(core, command):
    return ["taskset", "-c", str(core)] + command


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def options(port, local, number):
    mark = f"{os.getpid()}x{number}"
    return (
        f"OPTIONS sip:probe@127.0.0.1:{port} SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{local};branch=z9hG4bK{mark};rport\r\n"
        f"Max-Forwards: 70\r\nFrom: <sip:probe@127.0.0.1>;tag=p{number}\r\nTo: <sip:probe@127.0.0.1:{port}>\r\n"
        f"Call-ID: p{mark}@127.0.0.1\r\nCSeq: 1 OPTIONS\r\nContact: <sip:probe@127.0.0.1:{local}>\r\nContent-Length: 0\r\n\r\n"
    ).encode()


def wait_for_answer(port, interval, seconds=60):
    """Sends OPTIONS, one each interval, until one is answered."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        s.settimeout(interval)
        end = time.monotonic() + seconds
        number = 0
        while time.monotonic() < end:
            number += 1
            try:
                s.sendto(options(port, s.getsockname()[1], number), ("127.0.0.1", port))
                if s.recv(4096).startswith(b"SIP/2.0"):
                    return
            except ConnectionRefusedError:
                time.sleep(interval)
            except TimeoutError:
                pass
    raise SystemExit(f"bench: nothing answers on port {port}")


class Server:
    """A server under measurement on a free port, which the command names as {port}; perhaps inside a wrapper such as valgrind."""

    def __init__(self, command, wrapper=()):
        self.port = free_port()
        words = [word.replace("{port}", str(self.port)) for word in command]
        start = time.monotonic()
        self.process = subprocess.Popen(
            pinned(SERVER_CORE, list(wrapper) + words), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # Under callgrind a probe each millisecond would be a load of its own, different each time.
        wait_for_answer(self.port, 0.5 if wrapper else 0.001)
        self.milliseconds_to_answer = (time.monotonic() - start) * 1e3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    @property
    def pid(self):
        return self.process.pid

    def cpu(self):
        """Run time of all threads in seconds, and how much of it was in user mode (by ticks, so coarse)."""
        total = 0
        for thread in os.listdir(f"/proc/{self.pid}/task"):
            try:
                with open(f"/proc/{self.pid}/task/{thread}/schedstat") as f:
                    total += int(f.read().split()[0])
            except OSError:
                pass
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return total / 1e9, int(fields[11]) / HERTZ

    def memory(self):
        """(RSS, PSS) in kB."""
        with open(f"/proc/{self.pid}/smaps_rollup") as f:
            fields = dict(line.split(":") for line in f.read().splitlines()[1:])
        return int(fields["Rss"].split()[0]), int(fields["Pss"].split()[0])


def sipp(port, calls, rate, hold=0, transport="u1", timeout=300):
    """Places calls with SIPp's own scenario `uac`. Gives (seconds, failed calls)."""
    with tempfile.TemporaryDirectory() as place:
        start = time.monotonic()
        done = subprocess.run(
            pinned(LOAD_CORE, [
                "sipp", "-sn", "uac", f"127.0.0.1:{port}", "-i", "127.0.0.1", "-p", str(free_port()), "-m", str(calls), "-r", str(rate),
                "-d", str(hold), "-l", str(max(calls, 1000)), "-t", transport, "-nostdin", "-timeout", f"{timeout}s"]),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=place,
            timeout=timeout + 30)
        seconds = time.monotonic() - start
    counts = re.findall(r"Successful call\s+\|\s+\d+\s+\|\s+(\d+)", done.stdout)
    return seconds, calls - (int(counts[-1]) if counts else 0)


_countable = {}


def countable(program):
    """A copy without debug information, whose newest forms valgrind cannot read."""
    if program not in _countable:
        place = tempfile.mkdtemp(prefix="handset-bench-")
        atexit.register(shutil.rmtree, place, ignore_errors=True)
        _countable[program] = os.path.join(place, os.path.basename(program))
        subprocess.run(["strip", "--strip-debug", "-o", _countable[program], program], check=True)
    return _countable[program]


def callgrind(*options):
    """The wrapper that counts user instructions, and the file into which the count goes."""
    file = tempfile.NamedTemporaryFile(prefix="handset-bench-", suffix=".callgrind", delete=False)
    file.close()
    return ["valgrind", "--tool=callgrind", f"--callgrind-out-file={file.name}", *options], file.name


def instructions_in(file):
    with open(file) as f:
        for line in f:
            found = re.match(r"(?:summary|totals): (\d+)", line)
            if found:
                os.unlink(file)
                return int(found.group(1))
    raise SystemExit("bench: callgrind wrote no total")


def instructions_by_thread(file, name):
    """With one file a thread: (all other threads, threads that ran functions with `name` in their symbol)."""
    others = named = 0
    for part in glob.glob(file + "-*"):
        with open(part) as f:
            text = f.read()
        os.unlink(part)
        found = re.search(r"^(?:summary|totals): (\d+)", text, re.M)
        count = int(found.group(1)) if found else 0
        if name in text:
            named += count
        else:
            others += count
    if os.path.exists(file):
        os.unlink(file)
    return others, named


def has(*programs):
    return all(shutil.which(program) for program in programs)
