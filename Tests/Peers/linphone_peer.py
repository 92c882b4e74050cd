#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Linphone phone (Debian linphone-cli) without an account, driven by lines on standard input; tells events as JSON lines on
standard output. It plays one WAV file and records what it hears; both are turned to and from its 48 kHz here.

Commands: call URI | hangup | quit
Events:   ready, linphone (text), recorded (file)

Linphone is GPL: it is an installed test peer only, never part of Handset."""
import argparse
import audioop
import os
import subprocess
import sys
import threading
import time
import wave

from peer_events import tell

arguments = argparse.ArgumentParser()
arguments.add_argument("--directory", required=True, help="an empty folder of the test's")
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--rtp-port", type=int, required=True)
arguments.add_argument("--user", default="linphone")
arguments.add_argument("--codec", default="opus")
arguments.add_argument("--play", required=True, help="mono WAV")
arguments.add_argument("--record", required=True, help="8 kHz mono WAV to be made at the end")
arguments.add_argument("--auto-answer", action="store_true")
options = arguments.parse_args()

RATE = {"opus": 48000, "G722": 16000}.get(options.codec, 8000)
CODECS = [("PCMU", 8000, 1), ("opus", 48000, 2), ("PCMA", 8000, 1), ("speex", 8000, 1), ("speex", 16000, 1), ("speex", 32000, 1),
          ("GSM", 8000, 1), ("G722", 8000, 1), ("iLBC", 8000, 1), ("L16", 44100, 2), ("L16", 44100, 1), ("BV16", 8000, 1)]


def convert(source, target, rate):
    with wave.open(source) as file:
        samples, from_rate = file.readframes(1 << 30), file.getframerate()
    if from_rate != rate:
        samples, _ = audioop.ratecv(samples, 2, 1, from_rate, rate, None)
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples)


folder = options.directory
os.makedirs(folder + "/home/.local/share/linphone", exist_ok=True)
convert(options.play, folder + "/play.wav", RATE)
lines = f"""[sip]
sip_port={options.port}
sip_tcp_port=0
sip_tls_port=0
bind_address=127.0.0.1
contact=sip:{options.user}@127.0.0.1:{options.port}
guess_hostname=0
use_ipv6=0
[rtp]
audio_rtp_port={options.rtp_port}
nortp_timeout=60
[net]
firewall_policy=0
[misc]
log_collection=0
"""
for index, (name, rate, channels) in enumerate(CODECS):
    lines += f"[audio_codec_{index}]\nmime={name}\nrate={rate}\nchannels={channels}\nenabled={1 if name == options.codec else 0}\n"
with open(folder + "/rc", "w") as file:
    file.write(lines)
child = subprocess.Popen(
    ["linphonec", "-c", folder + "/rc"] + (["-a"] if options.auto_answer else []), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    stderr=subprocess.STDOUT, text=True, errors="replace", env={**os.environ, "HOME": folder + "/home"})


def listen():
    for line in child.stdout:
        if line.strip():
            tell("linphone", text=line.strip())


def order(line):
    child.stdin.write(line + "\n")
    child.stdin.flush()


threading.Thread(target=listen, daemon=True).start()
time.sleep(0.7)
for line in ("ipv6 disable", "soundcard use files", f"play {folder}/play.wav", f"record {folder}/heard.wav"):
    order(line)
time.sleep(0.7)
tell("ready")
for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    if words[0] == "call":
        order("call " + words[1])
    elif words[0] == "hangup":
        order("terminate")
    elif words[0] == "quit":
        break
try:
    order("terminate")
    time.sleep(0.5)
    order("quit")
    child.wait(5)
except (OSError, subprocess.TimeoutExpired):
    child.kill()
    child.wait()
try:
    convert(folder + "/heard.wav", options.record, 8000)
    tell("recorded", file=options.record)
except (OSError, EOFError, wave.Error) as error:
    tell("error", text=str(error))
