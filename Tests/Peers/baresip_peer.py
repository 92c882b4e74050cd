#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A baresip phone (Debian baresip-core) driven by lines on standard input; tells events as JSON lines on standard output.

Commands: call URI | answer | hold | resume | dtmf DIGITS | transfer URI | hangup | quit
Events:   ready, and what baresip's ctrl_tcp tells: {"event": "baresip", "type": "CALL_ESTABLISHED", "param": …}, error"""
import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

from peer_events import tell

arguments = argparse.ArgumentParser()
arguments.add_argument("--directory", required=True, help="an empty folder of the test's")
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--rtp-port", type=int, required=True)
arguments.add_argument("--control-port", type=int, required=True)
arguments.add_argument("--user", required=True)
arguments.add_argument("--domain")
arguments.add_argument("--password", default="")
arguments.add_argument("--server", help="sip:HOST:PORT to register at; none: no registration")
arguments.add_argument("--transport", default="udp", choices=["udp", "tcp"])
arguments.add_argument("--play", help="8 kHz mono WAV")
arguments.add_argument("--codecs", default="pcmu,pcma", help="as baresip names them: opus,g722")
arguments.add_argument("--auto-answer", action="store_true")
options = arguments.parse_args()


folder = options.directory
os.makedirs(folder + "/recordings", exist_ok=True)
modules = next(path for path in ("/usr/lib/baresip/modules", "/usr/lib/x86_64-linux-gnu/baresip/modules") if os.path.isdir(path))
codec_modules = "".join(f"module {name}.so\n" for name in ("opus", "g722") if name in options.codecs)
source = f"audio_source aufile,{options.play}\n" if options.play else ""
with open(folder + "/config", "w") as file:
    file.write(f"""poll_method epoll
sip_listen 127.0.0.1:{options.port}
net_interface 127.0.0.1
call_max_calls 4
{source}ausrc_srate 8000
auplay_srate 8000
ausrc_channels 1
auplay_channels 1
audio_buffer 20-160
rtp_ports {options.rtp_port}-{options.rtp_port + 20}
jitter_buffer_delay 5-10
module_path {modules}
module g711.so
{codec_modules}module aufile.so
module sndfile.so
module_app account.so
module_app menu.so
module_app ctrl_tcp.so
ctrl_tcp_listen 127.0.0.1:{options.control_port}
snd_path {folder}/recordings
""")
mode = "auto" if options.auto_answer else "manual"
with open(folder + "/accounts", "w") as file:
    common = f"answermode={mode};audio_codecs={options.codecs}"
    if options.server:
        host = options.server.removeprefix("sip:")
        file.write(
            f'<sip:{options.user}@{options.domain};transport={options.transport}>;auth_user={options.user};'
            f'auth_pass={options.password};outbound="sip:{host};transport={options.transport}";regint=60;{common}\n')
    else:
        file.write(f"<sip:{options.user}@127.0.0.1>;regint=0;{common}\n")
# Kept with the outputs of the whole test run where there is a place for them.
log_name = f"{os.environ['HANDSET_ARTEFACTS']}/baresip-{os.getpid()}.log" if os.environ.get("HANDSET_ARTEFACTS") else folder + "/log"
log = open(log_name, "wb")
child = subprocess.Popen(["baresip", "-f", folder], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

control = None
for _ in range(100):
    try:
        control = socket.create_connection(("127.0.0.1", options.control_port), timeout=1)
        break
    except OSError:
        time.sleep(0.1)
if control is None:
    tell("error", text="baresip did not open its control port: " + open(log_name, errors="replace").read()[-400:])
    child.kill()
    sys.exit(1)
control.settimeout(None)


def listen():
    """Reads netstrings: LENGTH:JSON,"""
    data = b""
    while True:
        chunk = control.recv(65536)
        if not chunk:
            return
        data += chunk
        while b":" in data:
            length, rest = data.split(b":", 1)
            size = int(length)
            if len(rest) < size + 1:
                break
            message = json.loads(rest[:size])
            data = rest[size + 1:]
            if message.get("event"):
                tell("baresip", type=message.get("type"), param=message.get("param", ""), peer=message.get("peeruri", ""))
            else:
                tell("reply", ok=message.get("ok"), text=str(message.get("data", ""))[:300])


def order(command, parameters=""):
    body = json.dumps({"command": command, "params": parameters, "token": command}).encode()
    control.sendall(str(len(body)).encode() + b":" + body + b",")


threading.Thread(target=listen, daemon=True).start()
tell("ready")
for line in sys.stdin:
    words = line.split()
    if not words:
        continue
    command, rest = words[0], words[1:]
    if command == "call":
        order("dial", rest[0])
    elif command == "answer":
        order("accept")
    elif command == "hold":
        order("hold")
    elif command == "resume":
        order("resume")
    elif command == "dtmf":
        for digit in rest[0]:
            order("sndcode", digit)
            time.sleep(0.25)
            order("sndcode", "\x04")  # baresip's "key released"
            time.sleep(0.1)
    elif command == "transfer":
        order("transfer", rest[0])
    elif command == "hangup":
        order("hangup")
    elif command == "quit":
        break
    else:
        tell("error", text=f"unknown command {command}")
try:
    order("hangup")
    time.sleep(0.3)
    order("quit")
except OSError:
    pass
try:
    child.wait(3)
except subprocess.TimeoutExpired:
    child.send_signal(signal.SIGKILL)
    child.wait()
