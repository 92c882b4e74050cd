# SPDX-License-Identifier: Apache-2.0
"""Calls with speech: places N calls, sends G.711 to each every 20 ms and counts what comes back.

All calls share one RTP socket of ours; each has its own SSRC and its own moment within the 20 ms, as independent phones have.
"""
import re
import select
import socket
import struct
import time


class Calls:
    def __init__(self, port, count):
        self.server = ("127.0.0.1", port)
        self.sip = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sip.bind(("127.0.0.1", 0))
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.rtp.bind(("127.0.0.1", 0))
        self.rtp.setblocking(False)
        self.tags = {}
        self.ports = []
        self.sent = self.returned = 0
        for number in range(count):
            self._call(number)

    def _message(self, method, number, sequence, tag="", body=""):
        here = self.sip.getsockname()[1]
        lines = [
            f"{method} sip:echo@127.0.0.1:{self.server[1]} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{here};branch=z9hG4bK{here}x{number}x{sequence}x{method};rport",
            "Max-Forwards: 70", f"From: <sip:load@127.0.0.1:{here}>;tag=l{number}",
            f"To: <sip:echo@127.0.0.1:{self.server[1]}>{tag and ';tag=' + tag}", f"Call-ID: {here}x{number}@127.0.0.1",
            f"CSeq: {sequence} {method}", f"Contact: <sip:load@127.0.0.1:{here}>",
        ]
        if body:
            lines.append("Content-Type: application/sdp")
        lines.append(f"Content-Length: {len(body)}")
        return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()

    def _ask(self, message, number, method):
        """Sends a request, again each second, until its final response is there; those to earlier ones are passed over."""
        self.sip.settimeout(1)
        for _ in range(20):
            self.sip.sendto(message, self.server)
            try:
                while True:
                    text = self.sip.recv(65536).decode()
                    if not text.startswith("SIP/2.0") or text.startswith("SIP/2.0 1"):
                        continue
                    if re.search(rf"^CSeq: \d+ {method}\r$", text, re.M) and f"x{number}@127.0.0.1\r" in text:
                        return text
            except TimeoutError:
                pass
        raise SystemExit(f"bench: {method} of call {number} was not answered")

    def _call(self, number):
        body = "\r\n".join([
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0",
            f"m=audio {self.rtp.getsockname()[1]} RTP/AVP 0 101", "a=rtpmap:0 PCMU/8000", "a=rtpmap:101 telephone-event/8000",
            "a=fmtp:101 0-15", "a=ptime:20", ""])
        answer = self._ask(self._message("INVITE", number, 1, body=body), number, "INVITE")
        if not answer.startswith("SIP/2.0 200"):
            raise SystemExit(f"bench: a call was refused: {answer.splitlines()[0]}")
        tag = re.search(r"^To:.*;tag=([^;\s]+)", answer, re.M).group(1)
        self.tags[number] = tag
        self.ports.append(int(re.search(r"^m=audio (\d+)", answer, re.M).group(1)))
        self.sip.sendto(self._message("ACK", number, 1, tag), self.server)

    def talk(self, seconds):
        """Sends and receives for that long."""
        # A tone far from silence: every octet of the payload differs from its neighbour.
        payload = bytes((i * 37) & 0xFF for i in range(160))
        count = len(self.ports)
        order = [(0.020 * i / count, i) for i in range(count)]
        start = time.monotonic()
        frame = next_call = 0
        while True:
            now = time.monotonic() - start
            if now >= seconds:
                break
            while next_call < count and frame * 0.020 + order[next_call][0] <= now:
                number = order[next_call][1]
                header = struct.pack("!BBHII", 0x80, 0, frame & 0xFFFF, (frame * 160) & 0xFFFFFFFF, 0x1000 + number)
                self.rtp.sendto(header + payload, ("127.0.0.1", self.ports[number]))
                self.sent += 1
                next_call += 1
            if next_call == count:
                next_call = 0
                frame += 1
            due = start + frame * 0.020 + order[next_call][0]
            select.select([self.rtp], [], [], max(0, min(0.001, due - time.monotonic())))
            try:
                while True:
                    self.rtp.recv(2048)
                    self.returned += 1
            except BlockingIOError:
                pass

    def hang_up(self):
        for number, tag in self.tags.items():
            self._ask(self._message("BYE", number, 2, tag), number, "BYE")
        self.sip.close()
        self.rtp.close()
