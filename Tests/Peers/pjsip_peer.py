#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pjsip phone (PyPI pjsua2-python) driven by lines on standard input; tells events as JSON lines on standard output.

Commands: call URI | answer [STATUS] | hold | resume | update | dtmf DIGITS | info DIGIT | transfer URI | attended | hangup |
          message URI TEXT | watch URI | status TEXT | quit
Events:   ready, registration, incoming, call (state, status), media (active, codec), dtmf (digit), message (from, text),
          message-sent (status), buddy (status), error,
          transfer (state requested with target, or told with status and final; replaced)

pjsip is GPL: it is an installed test peer only, never part of Handset."""
import argparse
import gc
import os
import queue
import sys
import threading
import time

import pjsua2 as pj

from peer_events import tell

arguments = argparse.ArgumentParser()
arguments.add_argument("--port", type=int, required=True)
arguments.add_argument("--rtp-port", type=int, required=True)
arguments.add_argument("--user", required=True)
arguments.add_argument("--domain")
arguments.add_argument("--password", default="")
arguments.add_argument("--server", help="sip:HOST:PORT to register at; none: no registration")
arguments.add_argument("--transport", default="udp", choices=["udp", "tcp", "tls"])
arguments.add_argument("--ca", help="the authorities to trust for TLS")
arguments.add_argument("--play")
arguments.add_argument("--record")
arguments.add_argument("--publish", action="store_true", help="publish the presence of the account")
arguments.add_argument("--auto-answer", type=int, default=0, help="answer every call with this status")
arguments.add_argument("--codecs", default="PCM", help="how the names of the codecs begin, such as G722,PCM")
arguments.add_argument("--prack", action="store_true", help="require reliable provisional responses")
arguments.add_argument("--min-se", type=int, default=90, help="refuse a shorter session timer with 422; pjsip takes none under 90")
arguments.add_argument("--timer", type=int, default=0, help="require a session timer of so many seconds")
options = arguments.parse_args()

calls = []
players = {}


class Call(pj.Call):
    def onCallState(self, _):
        info = self.getInfo()
        tell("call", state=info.stateText, status=info.lastStatusCode, reason=info.lastReason)
        if info.state == pj.PJSIP_INV_STATE_DISCONNECTED and self in calls:
            calls.remove(self)
            finished.append(self)  # destroying it here would abort: its callback is running

    def onCallMediaState(self, _):
        try:
            self.join()
        except pj.Error as error:
            tell("error", text=str(error))

    def join(self):
        info = self.getInfo()  # kept: its media list dangles once it is collected
        for index, media in enumerate(info.media):
            if media.type != pj.PJMEDIA_TYPE_AUDIO:
                continue
            active = media.status == pj.PJSUA_CALL_MEDIA_ACTIVE
            held = media.status == pj.PJSUA_CALL_MEDIA_REMOTE_HOLD
            tell("media", active=active, remoteHold=held, status=int(media.status))
            if not active:
                continue
            audio = self.getAudioMedia(index)
            if options.play:
                if "player" not in players:
                    players["player"] = pj.AudioMediaPlayer()
                    players["player"].createPlayer(options.play, pj.PJMEDIA_FILE_NO_LOOP)
                players["player"].startTransmit(audio)
            if options.record:
                if "recorder" not in players:
                    players["recorder"] = pj.AudioMediaRecorder()
                    players["recorder"].createRecorder(options.record)
                audio.startTransmit(players["recorder"])

    def onCallTransferRequest(self, parameters):
        tell("transfer", state="requested", target=parameters.dstUri)
        new = Call(account)
        calls.append(new)
        parameters.newCall = new

    def onCallTransferStatus(self, parameters):
        tell("transfer", state="told", status=parameters.statusCode, final=str(bool(parameters.finalNotify)).lower())

    def onCallReplaced(self, parameters):
        tell("transfer", state="replaced")
        new = Call(account, parameters.newCallId)
        calls.append(new)
        parameters.newCall = new

    def onDtmfDigit(self, parameters):
        tell("dtmf", digit=parameters.digit)


class Account(pj.Account):
    def onRegState(self, parameters):
        tell("registration", status=parameters.code, reason=parameters.reason)

    def onInstantMessage(self, parameters):
        tell("message", **{"from": parameters.fromUri}, text=parameters.msgBody, type=parameters.contentType)

    def onInstantMessageStatus(self, parameters):
        tell("message-sent", status=int(parameters.code), text=parameters.msgBody)

    def onIncomingCall(self, parameters):
        call = Call(self, parameters.callId)
        calls.append(call)
        tell("incoming", remote=call.getInfo().remoteUri)
        if options.auto_answer:
            answer(call, options.auto_answer)


class Buddy(pj.Buddy):
    def onBuddyState(self):
        info = self.getInfo()
        tell("buddy", uri=info.uri, status=int(info.presStatus.status), text=info.presStatus.statusText, subscription=info.subStateName)


def buddy(uri, watch):
    """The buddy of that URI, made where there is none; it watches the presence if that is wanted."""
    if uri not in buddies:
        configuration = pj.BuddyConfig()
        configuration.uri = uri
        configuration.subscribe = watch
        buddies[uri] = Buddy()
        buddies[uri].create(account, configuration)
    return buddies[uri]


def answer(call, status):
    parameters = pj.CallOpParam(True)
    parameters.statusCode = status
    call.answer(parameters)


finished = []
buddies = {}
endpoint = pj.Endpoint()
endpoint.libCreate()
configuration = pj.EpConfig()
configuration.logConfig.level = 0
configuration.logConfig.consoleLevel = 0
configuration.medConfig.noVad = True
configuration.medConfig.clockRate = 8000
configuration.uaConfig.threadCnt = 1
endpoint.libInit(configuration)
endpoint.audDevManager().setNullDev()
transport = pj.TransportConfig()
transport.port = options.port
transport.boundAddress = "127.0.0.1"
transport.publicAddress = "127.0.0.1"
if options.transport == "tls":
    transport.tlsConfig.CaListFile = options.ca
    transport.tlsConfig.verifyServer = True
kind = {"udp": pj.PJSIP_TRANSPORT_UDP, "tcp": pj.PJSIP_TRANSPORT_TCP, "tls": pj.PJSIP_TRANSPORT_TLS}[options.transport]
transport_id = endpoint.transportCreate(kind, transport)
endpoint.libStart()
for codec in endpoint.codecEnum2():
    wanted = codec.codecId.startswith(tuple(options.codecs.split(",")))
    endpoint.codecSetPriority(codec.codecId, 255 if wanted else 0)
account_configuration = pj.AccountConfig()
account_configuration.mediaConfig.transportConfig.boundAddress = "127.0.0.1"
account_configuration.mediaConfig.transportConfig.publicAddress = "127.0.0.1"
account_configuration.mediaConfig.transportConfig.port = options.rtp_port
if options.server:
    account_configuration.idUri = f"sip:{options.user}@{options.domain}"
    server = options.server + ("" if options.transport == "udp" else ";transport=" + options.transport)
    account_configuration.regConfig.registrarUri = f"sip:{options.domain}"
    account_configuration.sipConfig.proxies.append(server + ";lr")
    account_configuration.sipConfig.authCreds.append(pj.AuthCredInfo("digest", "*", options.user, 0, options.password))
else:
    account_configuration.idUri = f"sip:{options.user}@127.0.0.1:{options.port}"
    account_configuration.sipConfig.transportId = transport_id
if options.prack:
    account_configuration.callConfig.prackUse = pj.PJSUA_100REL_MANDATORY
if options.timer:
    account_configuration.callConfig.timerUse = pj.PJSUA_SIP_TIMER_REQUIRED
    account_configuration.callConfig.timerMinSESec = options.min_se
    account_configuration.callConfig.timerSessExpiresSec = options.timer
account_configuration.presConfig.publishEnabled = options.publish
account = Account()
account.create(account_configuration, True)
tell("ready", version=endpoint.libVersion().full)

lines = queue.Queue()


def read():
    for line in sys.stdin:
        lines.put(line)
    lines.put("quit")


threading.Thread(target=read, daemon=True).start()
while True:
    try:
        line = lines.get(timeout=60)
    except queue.Empty:
        continue
    words = line.split()
    if not words:
        continue
    command, rest = words[0], words[1:]
    try:
        call = calls[-1] if calls else None
        if command == "call":
            call = Call(account)
            calls.append(call)
            call.makeCall(rest[0], pj.CallOpParam(True))
        elif command == "answer":
            answer(call, int(rest[0]) if rest else 200)
        elif command == "hold":
            call.setHold(pj.CallOpParam(True))
        elif command == "resume":
            parameters = pj.CallOpParam(True)
            parameters.opt.flag = pj.PJSUA_CALL_UNHOLD
            call.reinvite(parameters)
        elif command == "update":
            call.update(pj.CallOpParam(True))
        elif command == "info":
            parameters = pj.CallSendDtmfParam()
            parameters.method = pj.PJSUA_DTMF_METHOD_SIP_INFO
            parameters.digits = rest[0]
            call.sendDtmf(parameters)
        elif command == "dtmf":
            call.dialDtmf(rest[0])
        elif command == "transfer":
            call.xfer(rest[0], pj.CallOpParam(True))
        elif command == "attended":
            calls[-2].xferReplaces(calls[-1], pj.CallOpParam(True))
        elif command == "hangup":
            call.hangup(pj.CallOpParam(True))
        elif command == "message":
            parameters = pj.SendInstantMessageParam()
            parameters.content = " ".join(rest[1:])
            buddy(rest[0], False).sendInstantMessage(parameters)
        elif command == "watch":
            buddy(rest[0], True)
        elif command == "status":
            presence = pj.PresenceStatus()
            presence.status = pj.PJSUA_BUDDY_STATUS_ONLINE
            presence.note = " ".join(rest)
            account.setOnlineStatus(presence)
        elif command == "quit":
            break
        else:
            tell("error", text=f"unknown command {command}")
    except Exception as error:  # whatever goes wrong is told to the test
        tell("error", text=f"{command}: {error}")
endpoint.hangupAllCalls()
time.sleep(0.5)
players.clear()
gc.collect()
sys.stdout.flush()
os._exit(0)  # a Call that outlives its call aborts in its destructor, so leave without running destructors
