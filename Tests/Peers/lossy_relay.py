#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands between a caller and a callee on 127.0.0.1 and loses packets of sound, each by itself, in both directions.

The caller calls 127.0.0.1:PORT; its messages go on to the callee with the relay's addresses in them, and those of the callee come back
likewise. Tells {"event": "ready"} once it listens, and with the end of input {"event": "lost", "packets": …}."""
import argparse
import random
import re
import select
import socket
import sys

from peer_events import tell

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True, help="where the caller calls")
arguments.add_argument("--callee", type=int, required=True, help="the callee's SIP port")
arguments.add_argument("--loss", type=float, default=0.1)
arguments.add_argument("--seed", type=int, default=1)
options = arguments.parse_args()
chance = random.Random(options.seed)


def open_socket(port=0):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind(("127.0.0.1", port))
    made.setblocking(False)
    return made


def pair():
    """Two sockets on neighbouring ports."""
    while True:
        port = random.randrange(31_000, 39_000) & ~1
        try:
            return [open_socket(port), open_socket(port + 1)]
        except OSError:
            continue


# 0: the side of the caller, 1: the side of the callee. The caller sees front and sound[0], the callee back and sound[1].
signalling = [open_socket(options.port), open_socket()]
sound = [pair(), pair()]
ports = [made.getsockname()[1] for made in signalling]
far = [None, ("127.0.0.1", options.callee)]
media = [None, None]
lost = 0


def rewritten(text, side):
    """What `side` wrote, as the other side is to read it."""
    head, _, body = text.partition("\r\n\r\n")
    match = re.search(r"^m=audio (\d+)", body, re.M)
    if match and int(match.group(1)):
        media[side] = int(match.group(1))
        body = re.sub(r"^m=audio \d+", f"m=audio {sound[1 - side][0].getsockname()[1]}", body, flags=re.M)
        body = re.sub(r"^a=(rtcp:|candidate:|ice-).*\r\n", "", body, flags=re.M)
        body = re.sub(r"^c=IN IP4 \S+", "c=IN IP4 127.0.0.1", body, flags=re.M)
    own, other = far[side][1], far[1 - side][1] if far[1 - side] else 0
    # What names the sender names the relay; what names the relay names the receiver. By way of marks, lest one undo the other.
    head = re.sub(rf"127\.0\.0\.1:{own}\b", "\0own", head)
    head = re.sub(rf"127\.0\.0\.1:{ports[side]}\b", "\0other", head)
    head = head.replace("\0own", f"127.0.0.1:{ports[1 - side]}").replace("\0other", f"127.0.0.1:{other}")
    head = re.sub(rf"rport={ports[side]}\b", f"rport={other}", head)
    head = re.sub(r"(?im)^(content-length|l)(\s*:\s*)\d+", lambda m: f"{m.group(1)}{m.group(2)}{len(body.encode())}", head)
    return head + "\r\n\r\n" + body


tell("ready")
everything = signalling + sound[0] + sound[1]
while True:
    readable, _, _ = select.select(everything + [sys.stdin], [], [])
    if sys.stdin in readable and not sys.stdin.readline():
        tell("lost", packets=lost)
        break
    for made in readable:
        if made is sys.stdin:
            continue
        try:
            data, source = made.recvfrom(65536)
        except OSError:
            continue
        if made in signalling:
            side = signalling.index(made)
            if side == 0:
                far[0] = source
            if b"\r\n\r\n" not in data or far[1 - side] is None:
                continue
            signalling[1 - side].sendto(rewritten(data.decode("utf-8", "replace"), side).encode(), far[1 - side])
        else:
            side = 0 if made in sound[0] else 1
            part = sound[side].index(made)
            if media[1 - side] is None:
                continue
            if part == 0 and chance.random() < options.loss:
                lost += 1
                continue
            sound[1 - side][part].sendto(data, ("127.0.0.1", media[1 - side] + part))
