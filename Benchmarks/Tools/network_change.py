#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A phone in a call loses its network and gets another: how soon it tells, and how soon audio is back.

In two network namespaces of its own: the embedded server and an echoing phone on one side, the phone under test on the
other, joined by two links of which one is there at a time. Packets are timed by the kernel where they reach, or leave,
the other side. Needs root.

    network_change.py HANDSET [--runs N] [--ways api,netlink,sends,silence] [--transport udp|tcp] [--json]

Ways: `api`     the old interface goes, another comes, the control line `network` says so
      `netlink` the same, the system says so
      `sends`   the same, nobody says so: sends fail meanwhile
      `silence` the default route leads elsewhere and the old network is dead: sends do not fail, nobody says so
Ends with 1 if a threshold is exceeded, with 77 where namespaces are not allowed.
"""
import argparse, json, os, select, socket, struct, subprocess, sys, tempfile, threading, time

SERVER = "10.77.0.1"
LIMITS = {"api": (150, 300), "netlink": (150, 300), "sends": (500, 600), "silence": (500, 600)}


def isRTP(payload):
    """RTP, and not RTCP on the same port (RFC 5761)."""
    return len(payload) > 12 and payload[0] >> 6 == 2 and not 192 <= payload[1] <= 223


def sniff():
    """Prints each packet of IPv4 UDP or TCP with the kernel's time: a program of its own, since it lives in a namespace."""
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0003))
    timestamps = 35  # SO_TIMESTAMPNS
    tap.setsockopt(socket.SOL_SOCKET, timestamps, 1)
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    print(json.dumps({"ready": True}), flush=True)
    while True:
        data, controls, _, address = tap.recvmsg(2048, 256)
        if address[1] != 0x0800 or len(data) < 28 or data[9] not in (6, 17):
            continue
        stamp = next(struct.unpack("qq", value[:16]) for level, kind, value in controls if kind == timestamps)
        header = (data[0] & 15) * 4
        source, target = socket.inet_ntoa(data[12:16]), socket.inet_ntoa(data[16:20])
        ports = struct.unpack("!HH", data[header:header + 4])
        if data[9] == 17:
            payload = data[header + 8:]
        else:
            payload = data[header + (data[header + 12] >> 4) * 4:]
        kind = "sip" if 5060 in ports else "rtp" if data[9] == 17 and isRTP(payload) else ""
        if not kind or not payload:
            continue
        word = bytes(payload[:12]).split(b" ")[0].decode("latin-1") if kind == "sip" else ""
        print(json.dumps({"t": stamp[0] + stamp[1] / 1e9, "kind": kind, "from": source, "to": target, "word": word}), flush=True)


class Lines:
    """A program whose lines of JSON are gathered as they come."""

    def __init__(self, command, **more):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1, **more)
        self.lines = []
        self.news = threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                with self.news:
                    self.lines.append(json.loads(line))
                    self.news.notify_all()

    def wait(self, fits, seconds, start=0):
        end = time.monotonic() + seconds
        with self.news:
            position = start
            while True:
                for position in range(position, len(self.lines)):
                    if fits(self.lines[position]):
                        return self.lines[position]
                position = len(self.lines)
                left = end - time.monotonic()
                if left <= 0 or not self.news.wait(left):
                    if time.monotonic() >= end:
                        return None

    def say(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(3)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Bench:
    def __init__(self, handset, transport):
        self.handset, self.transport = handset, transport
        number = os.getpid()
        self.far, self.near = f"hsf{number}", f"hsn{number}"
        self.programs = []
        self.host = 1
        self.current = None

    def ip(self, *commands):
        done = subprocess.run(["ip", "-force", "-batch", "-"], input="\n".join(commands) + "\n", text=True, capture_output=True)
        return done.stderr

    def build(self):
        for name in (self.far, self.near):
            if subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode != 0:
                return False
        for link in ("a", "b"):
            done = subprocess.run(
                ["ip", "link", "add", f"{link}0", "netns", self.far, "type", "veth", "peer", "name", f"{link}1", "netns", self.near],
                capture_output=True)
            if done.returncode != 0:
                return False
        self.inside(self.far, ["link set lo up", f"addr add {SERVER}/32 dev lo", "link set a0 up", "link set b0 up",
                               "addr add 10.77.1.1/24 dev a0", "addr add 10.77.2.1/24 dev b0"])
        self.inside(self.near, ["link set lo up", "link set a1 up", "link set b1 up"])
        time.sleep(1.2)
        return True

    def inside(self, name, commands):
        done = subprocess.run(["ip", "-n", name, "-batch", "-"], input="\n".join(commands) + "\n", text=True, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"ip: {done.stderr}")

    def run(self, name, command, **more):
        program = Lines(["ip", "netns", "exec", name] + command, **more)
        self.programs.append(program)
        return program

    def plan(self, keeps_old=False):
        """The commands that take the present network away and give another; its address."""
        old, (link, net) = self.current, ("b", 2) if self.current and self.current[0] == "a" else ("a", 1)
        self.host = self.host % 200 + 2
        address = f"10.77.{net}.{self.host}"
        commands = []
        if old and not keeps_old:
            commands += [f"link set {old[0]}1 down", f"addr flush dev {old[0]}1"]
        commands += [f"addr add {address}/24 dev {link}1", f"route {'replace' if keeps_old else 'add'} default via 10.77.{net}.1"]
        self.current = (link, address)
        return commands, address, old

    def start(self, watch):
        where = ["--proxy", f"sip:{SERVER};transport={self.transport};lr", "--transport", self.transport]
        self.server = self.run(self.far, [
            self.handset, "serve", "--json", "--listen", f"udp:{SERVER}:5060", "--listen", f"tcp:{SERVER}:5060", "--domain", "example.net",
            "--user", "alice:alice-secret", "--user", "bob:bob-secret"])
        if not self.server.wait(lambda e: e["event"] == "listening" and e["transport"] == "tcp", 10):
            raise RuntimeError("the server does not listen")
        bob = self.run(self.far, [
            self.handset, "answer", "--json", "--echo", "--codecs", "pcmu", "--account", "sip:bob@example.net", "--listen", f"{SERVER}:0"] + where,
            env=dict(os.environ, HANDSET_PASSWORD="bob-secret"))
        if not bob.wait(lambda e: e["event"] == "registration" and e["state"] == "registered", 10):
            raise RuntimeError("bob is not registered")
        self.inside(self.near, self.plan()[0])
        time.sleep(0.3)
        self.alice = self.run(self.near, [
            self.handset, "call", "bob", "--json", "--control", "--codecs", "pcmu", "--account", "sip:alice@example.net", "--network-watch",
            "on" if watch else "off"] + where, env=dict(os.environ, HANDSET_PASSWORD="alice-secret"))
        if not self.alice.wait(lambda e: e["event"] == "call" and e["state"] == "confirmed", 10):
            raise RuntimeError(f"the call is not answered: {self.alice.lines}")
        self.tap = self.run(self.far, [sys.executable, os.path.abspath(__file__), "--sniff"])
        if not self.tap.wait(lambda e: "ready" in e, 10):
            raise RuntimeError("nothing can be captured")
        if not self.tap.wait(lambda e: e.get("kind") == "rtp" and e["to"] == self.current[1], 10):
            raise RuntimeError("there is no audio")

    def move(self, way):
        """One change: milliseconds to the first SIP packet, and to the first RTP packet at the new address."""
        keeps_old = way == "silence"
        commands, address, old = self.plan(keeps_old)
        position, registered = len(self.tap.lines), len(self.server.lines)
        begin = time.time()
        if keeps_old:
            self.inside(self.far, [f"route add blackhole {old[1]}/32"])
        self.inside(self.near, commands)
        given = time.time()
        if way == "api":
            self.alice.say('{"command":"network"}')
        sip = self.tap.wait(lambda e: e.get("kind") == "sip" and e["from"] == address and e["word"] in ("REGISTER", "INVITE"), 5, position)
        rtp = self.tap.wait(lambda e: e.get("kind") == "rtp" and e["to"] == address, 5, position)
        bound = self.server.wait(lambda e: e["event"] == "binding" and e["state"] == "added" and address in e["contact"], 5, registered)
        time.sleep(0.4)
        if keeps_old:
            # The dead network goes for good, so that the next change finds one alone.
            self.inside(self.far, [f"route del blackhole {old[1]}/32"])
            self.inside(self.near, [f"link set {old[0]}1 down", f"addr flush dev {old[0]}1"])
        # Without an address, for the next change: the system lets packets through a link up to a second after it came up, and
        # that is no figure of the phone.
        self.inside(self.near, [f"link set {old[0]}1 up"])
        time.sleep(1.2)
        if self.alice.wait(lambda e: e["event"] == "ended", 0.01):
            raise RuntimeError("the call has ended")
        since = given if way == "api" else begin
        if not sip or not rtp or not bound:
            missing = [name for name, found in (("SIP", sip), ("audio", rtp), ("binding", bound)) if not found]
            print(f"{way}: no {', '.join(missing)} at {address} within 5 s; {[e for e in self.alice.lines if e['event'] != 'media'][-4:]}",
                  file=sys.stderr)
            return None
        return max(0, (sip["t"] - since) * 1000), max(0, (rtp["t"] - since) * 1000), (given - begin) * 1000

    def stop(self):
        for program in reversed(self.programs):
            program.stop()
        for name in (self.far, self.near):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def measure(handset, way, runs, transport):
    bench = Bench(handset, transport)
    try:
        if not bench.build():
            return 77
        bench.start(watch=way == "netlink")
        return [bench.move(way) for _ in range(runs)]
    finally:
        bench.stop()


def main():
    if sys.argv[1:] == ["--sniff"]:
        return sniff()
    parser = argparse.ArgumentParser()
    parser.add_argument("handset")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--ways", default="api,netlink,sends,silence")
    parser.add_argument("--transport", default="udp")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    failed = False
    if not arguments.json:
        print("| Noticed by | Runs | First SIP packet, ms: median, worst (allowed) | Audio back, ms: median, worst (allowed) |\n|---|---|---|---|")
    for way in arguments.ways.split(","):
        results = measure(arguments.handset, way, arguments.runs, arguments.transport)
        if results == 77:
            print("network namespaces are not allowed here", file=sys.stderr)
            return 77
        good = [result for result in results if result]
        sip, rtp = sorted(r[0] for r in good), sorted(r[1] for r in good)
        limit = LIMITS[way]
        isMet = len(good) == len(results) and sip[-1] <= limit[0] and rtp[-1] <= limit[1]
        failed = failed or not isMet
        if arguments.json:
            print(json.dumps({"event": "figures", "way": way, "runs": len(results), "lost": len(results) - len(good), "met": isMet,
                              "sip": max(sip, default=-1), "audio": max(rtp, default=-1)}), flush=True)
        elif good:
            print(f"| {way}, {arguments.transport} | {len(results)} | {sip[len(sip) // 2]:.0f}, {sip[-1]:.0f} ({limit[0]}) | "
                  f"{rtp[len(rtp) // 2]:.0f}, {rtp[-1]:.0f} ({limit[1]}) |" + ("" if isMet else " exceeded"), flush=True)
        else:
            print(f"| {way} | {len(results)} | nothing came | |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
