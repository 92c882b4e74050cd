#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers calls with 200 and no description, and everything else with 200. Prints its port as JSON."""

import socket

from peer_events import tell

peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
peer.bind(("127.0.0.1", 0))
port = peer.getsockname()[1]
tell("listening", transport="udp", port=port)
while True:
    datagram, source = peer.recvfrom(65535)
    lines = datagram.decode().split("\r\n\r\n")[0].split("\r\n")
    if lines[0].startswith(("ACK ", "SIP/2.0 ")):
        continue
    answer = ["SIP/2.0 200 OK"]
    for line in lines[1:]:
        name = line.split(":")[0].lower()
        if name in ("via", "from", "call-id", "cseq"):
            answer.append(line)
        elif name == "to":
            answer.append(line if "tag=" in line else line + ";tag=1")
    answer += [f"Contact: <sip:127.0.0.1:{port}>", "Content-Length: 0", "", ""]
    peer.sendto("\r\n".join(answer).encode(), source)
