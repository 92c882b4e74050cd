# SPDX-License-Identifier: Apache-2.0
"""`make bench`: what Handset costs, against other implementations where they are installed.

    scripts/bench [parse|calls|media|memory|start|wake]...

Everything runs on loopback. Instruction counts and octets are checked against Benchmarks/thresholds.json: they are the same on every
machine, while times are only printed.
"""
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from process import SERVER_CORE, Server, callgrind, countable, has, instructions_by_thread, instructions_in, pinned, sipp
from rtp_calls import Calls
from wake import measure as measure_wake

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BENCHMARKS = os.path.join(ROOT, "Benchmarks")
BUILT = os.environ.get("HANDSET_BENCH_BUILD", os.path.join(ROOT, ".build/demo/release"))
HANDSET = [os.path.join(BUILT, "handset"), "answer", "--account", "sip:service@127.0.0.1", "--no-register", "--listen", "127.0.0.1:{port}",
           "--max-calls", "100000", "--codecs", "pcmu,pcma"]
SIGNALLING = [os.path.join(BUILT, "CallServer"), "127.0.0.1:{port}"]

# The mangled name of MediaEngine.tick: what the media thread alone runs.
MEDIA_TICK = "5Media0A6EngineC4tick"

with open(os.path.join(BENCHMARKS, "thresholds.json")) as f:
    THRESHOLDS = json.load(f)
exceeded = []


def check(name, value):
    limit = THRESHOLDS[name]
    mark = "ok" if value <= limit else "EXCEEDED"
    if value > limit:
        exceeded.append(f"{name}: {value:,.2f} > {limit:,}")
    print(f"    threshold {name}: at most {limit:,} … {mark}", flush=True)


def title(text):
    print(f"\n{text}", flush=True)


# MARK: Parsing

PEERS = [
    # Name, source, program, what pkg-config or the compiler must know, the package that brings it
    ("sofia-sip", "parse_sofia.c", ["pkg:sofia-sip-ua"], "libsofia-sip-ua-dev"),
    ("libosip2", "parse_osip.c", ["-losipparser2"], "libosip2-dev"),
    ("libre", "parse_re.c", ["-DHAVE_INTTYPES_H", "-DHAVE_STDBOOL_H", "-DHAVE_INET6", "-I/usr/include/re", "-lre"], "libre-dev"),
    ("libre, all", "parse_re.c",
     ["-DFULL", "-DHAVE_INTTYPES_H", "-DHAVE_STDBOOL_H", "-DHAVE_INET6", "-I/usr/include/re", "-lre"], "libre-dev"),
]


def peer_program(place, name, source, flags):
    program = os.path.join(place, name.replace(", ", "-"))
    command = ["gcc", "-O2", os.path.join(BENCHMARKS, "Peers", source), "-o", program]
    for flag in flags:
        if flag.startswith("pkg:"):
            found = subprocess.run(["pkg-config", "--cflags", "--libs", flag[4:]], capture_output=True, text=True)
            if found.returncode:
                return None
            command += found.stdout.split()
        else:
            command.append(flag)
    done = subprocess.run(command, capture_output=True, text=True)
    return program if done.returncode == 0 else None


def instructions_per_message(program, files):
    """The difference of two loop counts: what the start of the program costs falls out."""
    counts = []
    for rounds in (50, 150):
        wrapper, out = callgrind()
        subprocess.run(wrapper + [countable(program), "-r", "1", "-n", str(rounds)] + files, check=True, capture_output=True)
        counts.append(instructions_in(out))
    return (counts[1] - counts[0]) / (100 * len(files))


def parse():
    files = sorted(glob.glob(os.path.join(BENCHMARKS, "Messages", "*.sip")))
    title(f"Parsing one SIP message (mean over {len(files)} messages, no body parsed)")
    print(f"    {'':<12} {'messages/s':>12} {'ns':>8} {'instructions':>13}")
    best = None
    with tempfile.TemporaryDirectory() as place:
        programs = [("handset", os.path.join(BUILT, "ParseBench"), None)]
        for name, source, flags, package in PEERS:
            programs.append((name, peer_program(place, name, source, flags) if has("gcc", "pkg-config") else None, package))
        ours = None
        for name, program, package in programs:
            if program is None:
                print(f"    {name:<12} not installed ({package})")
                continue
            line = subprocess.run(pinned(SERVER_CORE, [program, "-r", "5", "-n", "10000"] + files), check=True, capture_output=True, text=True)
            per_second = float(line.stdout.split("all:")[1].split()[0])
            counted = instructions_per_message(program, files) if has("valgrind") else None
            print(f"    {name:<12} {per_second:>12,.0f} {1e9 / per_second:>8,.0f} {counted or 0:>13,.0f}", flush=True)
            if name == "handset":
                ours = counted
            elif counted:
                best = min(best or counted, counted)
    if ours is None:
        print("    valgrind is not installed: instructions are not counted")
        return
    check("parse.instructions per message", ours)
    if best:
        check("parse.ratio to the best installed peer", ours / best)


# MARK: Calls

def cpu_per_call(command, rate, calls):
    with Server(command) as server:
        # Warm: the first calls make the heap grow.
        sipp(server.port, 50, 50)
        before, user = server.cpu()
        seconds, failed = sipp(server.port, calls, rate)
        after, user_after = server.cpu()
    return (after - before) / calls * 1e6, (user_after - user) / calls * 1e6, calls / seconds, failed


def instructions_per_call(command):
    """The difference of two numbers of calls at the same low rate: (all but the media thread, media thread)."""
    counts = []
    low, high = 40, 200
    for calls in (low, high):
        wrapper, out = callgrind("--separate-threads=yes")
        with Server([countable(command[0])] + command[1:], wrapper) as server:
            # The first calls take seconds, since callgrind translates the code when it runs first.
            sipp(server.port, 10, 2)
            _, failed = sipp(server.port, calls, 8)
            if failed:
                raise SystemExit(f"bench: {failed} of {calls} calls failed under callgrind")
        counts.append(instructions_by_thread(out, MEDIA_TICK))
    return tuple((after - before) / (high - low) for before, after in zip(*counts))


def calls():
    title("Calls: INVITE–200–ACK–BYE–200 at the server, SIPp's scenario uac on loopback")
    if not has("sipp"):
        print("    not measured: sipp is not installed (sip-tester)")
        return
    for name, key, command, rates in [
        ("signalling alone (CallServer: the user agent without media)", "signalling", SIGNALLING, [200, 1000, 4000, 8000]),
        ("a whole phone (handset answer: RTP sockets, bridge)", "phone", HANDSET, [50, 200, 500, 1000]),
    ]:
        print(f"  {name}")
        print(f"    {'asked/s':>8} {'reached/s':>10} {'CPU µs a call':>14} {'of it user':>11} {'failed':>7}")
        for rate in rates:
            cpu, user, reached, failed = cpu_per_call(command, rate, max(400, min(rate * 4, 20000)))
            print(f"    {rate:>8,} {reached:>10,.0f} {cpu:>14,.0f} {user:>11,.0f} {failed:>7}", flush=True)
        if has("valgrind"):
            counted, media_thread = instructions_per_call(command)
            print(f"    {counted:,.0f} user instructions a call (callgrind)", end="")
            # How long the media of a call lives depends on the clock, and under callgrind that is long.
            print(f", and {media_thread:,.0f} in the media thread" if media_thread > 1000 else "")
            check(f"{key}.instructions per call", counted)


# MARK: Media

# With a wide codec among them the bridge has 16 kHz, and each call of G.711 is resampled twice.
WIDE = HANDSET[:-1] + ["g722,pcmu,pcma"]


def media():
    title("Speech: G.711 calls of 20 ms packets, echoed (handset answer --echo), for 10 s")
    print(f"    {'calls':>6} {'bridge':>7} {'% of a core':>12} {'% a call':>9} {'aim':>6} {'returned':>9} {'PSS kB a call':>14}")
    for count, bridge, command, aim in ((50, "8 kHz", HANDSET, 0.095), (50, "16 kHz", WIDE, 0.25), (200, "8 kHz", HANDSET, 0.095),
                                        (1000, "8 kHz", HANDSET, None)):
        with Server(command + ["--echo"]) as server:
            _, idle = server.memory()
            calls = Calls(server.port, count)
            calls.talk(2)
            sent, returned = calls.sent, calls.returned
            before, _ = server.cpu()
            start = time.monotonic()
            calls.talk(10)
            seconds = time.monotonic() - start
            after, _ = server.cpu()
            _, busy = server.memory()
            share = (calls.returned - returned) / (calls.sent - sent)
            percent = (after - before) / seconds * 100
            kept = (busy - idle) / count
            print(f"    {count:>6} {bridge:>7} {percent:>12.2f} {percent / count:>9.3f} {aim or '':>6} {share:>9.1%} {kept:>14.1f}", flush=True)
            if count == 200:
                check("media.kB per call", kept)
            calls.hang_up()
    title("Coding alone, and calls of Opus through the whole engine (MediaBench)")
    done = subprocess.run(pinned(SERVER_CORE, [os.path.join(BUILT, "MediaBench"), "50", "8000"]), check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        print(f"    {line}" + (" (aim 1.05)" if line.startswith("ratio of Opus calls") else ""), flush=True)
    if has("valgrind"):
        nothing, alone, engine = (instructions_per_second_of_opus(what) for what in ("nothing", "alone", "engine"))
        ratio = (engine - nothing) / (alone - nothing)
        print(f"    a second of a call of Opus: {(engine - nothing) / 1e6:,.2f} million instructions, of libopus alone "
              f"{(alone - nothing) / 1e6:,.2f} (callgrind)")
        check("media.instructions of Opus calls to libopus", ratio)


def instructions_per_second_of_opus(what):
    """The difference of two lengths: what start and end cost falls out."""
    counts = []
    for seconds in (2, 6):
        wrapper, out = callgrind()
        subprocess.run(wrapper + [countable(os.path.join(BUILT, "MediaBench")), "opus", what, str(seconds)], check=True, capture_output=True)
        counts.append(instructions_in(out))
    return (counts[1] - counts[0]) / 4


# MARK: Memory

def memory():
    title("Memory (PSS) of handset answer")
    if not has("sipp"):
        print("    not measured: sipp is not installed (sip-tester)")
        return
    with Server(HANDSET) as server:
        time.sleep(1)
        rss, idle = server.memory()
        before, _ = server.cpu()
        time.sleep(5)
        after, _ = server.cpu()
        print(f"    idle: RSS {rss / 1024:.1f} MB, PSS {idle / 1024:.1f} MB, CPU {max(0, after - before) / 5 * 100:.2f} % of a core")
        held = threading.Thread(target=sipp, args=(server.port, 200, 100, 8000))
        held.start()
        time.sleep(6)
        _, busy = server.memory()
        held.join()
        print(f"    200 held calls: {(busy - idle) / 200:.1f} kB a call")
    count = 2000
    with Server(HANDSET) as server:
        # What one round leaves, and not what the heap grew to in the first one.
        sizes = []
        for _ in range(3):
            _, start = server.memory()
            sipp(server.port, count, 200)
            _, running = server.memory()
            time.sleep(36)
            _, end = server.memory()
            sizes.append((start, running, end))
    (start, running, end), (_, _, second), (_, _, third) = sizes
    print(f"    {count} finished calls: {(running - start) * 1024 / count:,.0f} octets a call while transactions live (32 s), "
          f"{(end - start) * 1024 / count:,.0f} after")
    left = (third - second) * 1024 / count
    print(f"    another {count}: {left:,.0f} octets a call left over")
    check("phone.octets left per finished call", left)


# MARK: Start

def start():
    title("From start to the first answered OPTIONS")
    times = []
    for _ in range(15):
        with Server(HANDSET) as server:
            times.append(server.milliseconds_to_answer)
    times.sort()
    print(f"    {statistics.median(times):.1f} ms (median of {len(times)}; {times[0]:.1f} to {times[-1]:.1f})")


def wake():
    title("From a VoIP push to the reported call of an app that did not run")
    measure_wake(BUILT)


def main():
    parts = {"parse": parse, "calls": calls, "media": media, "memory": memory, "start": start, "wake": wake}
    chosen = sys.argv[1:] or list(parts)
    unknown = [name for name in chosen if name not in parts]
    if unknown:
        raise SystemExit(f"usage: scripts/bench [{'|'.join(parts)}]...")
    for name in chosen:
        parts[name]()
    if exceeded:
        print("\nbench: thresholds exceeded (Benchmarks/thresholds.json):")
        for line in exceeded:
            print(f"    {line}")
        return 1
    print("\nbench: every threshold is kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
