#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A phone of today's baresip (PyPI baresip-python) driven by lines on standard input; tells events as JSON lines on standard output.

Commands: call URI | answer | hold | resume | dtmf DIGITS | transfer URI | hangup | quit
Events:   ready, incoming, call (state), dtmf (digit), done (command), transfer (state requested with target, done), error"""
import argparse
import asyncio
import sys

import baresip

from peer_events import tell

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--rtp-port", type=int, required=True)
arguments.add_argument("--user", required=True)
arguments.add_argument("--domain", required=True)
arguments.add_argument("--password", default="")
arguments.add_argument("--server", required=True, help="sip:HOST:PORT to register at")
arguments.add_argument("--play", help="8 kHz mono WAV")
arguments.add_argument("--record", help="a WAV file for what is heard")
arguments.add_argument("--codecs", default="pcmu,pcma", help="as baresip names them: opus/48000/2")
arguments.add_argument("--dtmf-mode", default="rtpevent", choices=["rtpevent", "info", "auto"])
arguments.add_argument("--auto-answer", action="store_true")
options = arguments.parse_args()
calls = []


def watch(call):
    calls.append(call)
    call.on(lambda event: tell("call", type=event.event.name, state=call.state.value, held=str(call.remote_on_hold).lower()))
    call.on_dtmf(lambda digit: tell("dtmf", digit=digit.digit))
    call.on_transfer_request(lambda request: asyncio.ensure_future(follow(call, request)))


async def attempt(action):
    try:
        await action
    except Exception as error:  # whatever goes wrong is news for the test
        tell("error", text=f"{type(error).__name__}: {error}")


async def follow(call, request):
    tell("transfer", state="requested", target=request.target)
    watch(await call.accept_transfer())
    tell("transfer", state="done")


async def patiently(action):
    """Again while a change of the call is under way: baresip sends no second one, and says so."""
    for _ in range(20):
        try:
            return await action()
        except baresip.BaresipError as error:
            if "retry" not in str(error):
                raise
            await asyncio.sleep(0.1)


async def order(agent, command, rest):
    call = next((call for call in reversed(calls) if call.state.value != "closed"), None)
    if command == "call":
        watch(await agent.dial(rest[0]))
    elif command == "answer":
        await call.answer()
    elif command == "hold":
        await patiently(call.hold)
    elif command == "resume":
        await patiently(call.resume)
    elif command == "dtmf":
        await call.send_dtmf(rest[0])
    elif command == "transfer":
        await call.transfer(rest[0])
        tell("transfer", state="done")
    elif command == "hangup":
        await call.hangup()
    else:
        return tell("error", text=f"unknown command {command}")
    tell("done", command=command)


async def main():
    configuration = baresip.Config(
        net_interface="127.0.0.1", max_concurrent_calls=4,
        audio_source=f"aufile,{options.play}" if options.play else None,
        audio_player=f"aufile,{options.record}" if options.record else None,
        # What is played and recorded is 8 kHz and mono, whatever the codec has.
        extra_config_text=f"sip_listen 127.0.0.1:{options.port}\nrtp_ports {options.rtp_port}-{options.rtp_port + 20}\n"
        "ausrc_srate 8000\nauplay_srate 8000\nausrc_channels 1\nauplay_channels 1\n")
    runtime = baresip.Runtime()
    await runtime.start(configuration)
    try:
        account = baresip.Account(
            user=options.user, domain=options.domain, password=options.password, registrar=options.server, reg_interval=60,
            dtmf_mode=options.dtmf_mode, audio_codecs=tuple(options.codecs.split(",")))
        agent = await baresip.UserAgent.create(runtime, account)

        def incoming(call):
            watch(call)
            tell("incoming")
            if options.auto_answer:
                asyncio.ensure_future(attempt(call.answer()))

        agent.on_incoming(incoming)
        await agent.register()
        tell("ready", version=getattr(baresip, "__version__", ""))
        lines = asyncio.Queue()
        loop = asyncio.get_running_loop()
        loop.run_in_executor(None, read, loop, lines)
        while True:
            words = (await lines.get()).split()
            if words and words[0] == "quit":
                break
            if words:
                asyncio.ensure_future(attempt(order(agent, words[0], words[1:])))
    finally:
        await runtime.close()


def read(loop, lines):
    for line in iter(sys.stdin.readline, ""):
        loop.call_soon_threadsafe(lines.put_nowait, line)
        if line.split() == ["quit"]:
            return
    loop.call_soon_threadsafe(lines.put_nowait, "quit")


asyncio.run(main())
