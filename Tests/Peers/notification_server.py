#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A notification server on the session bus (Desktop Notifications Specification 1.2), for tests.

Prints a line of JSON for each question. Reads commands: `action NUMBER KEY`, `close NUMBER REASON`, `leave`, `come`, `quit`.
notification_server.py [CAPABILITY...]
"""
import json
import sys
import threading

import dbus
import dbus.service
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"


def tell(**fields):
    print(json.dumps(fields), flush=True)


class Server(dbus.service.Object):
    last = 0

    @dbus.service.method(NAME, in_signature="", out_signature="as")
    def GetCapabilities(self):
        return sys.argv[1:] or ["body", "body-markup", "actions"]

    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, expiry):
        if not replaces:
            self.last += 1
        number = int(replaces) or self.last
        tell(event="notify", number=number, replaces=int(replaces), app=app, summary=summary, body=body, actions=" ".join(actions[::2]),
             labels="|".join(actions[1::2]), urgency=int(hints.get("urgency", 1)), expiry=int(expiry))
        return dbus.UInt32(number)

    @dbus.service.method(NAME, in_signature="u", out_signature="")
    def CloseNotification(self, number):
        tell(event="closed", number=int(number))
        self.NotificationClosed(number, 3)

    @dbus.service.signal(NAME, signature="us")
    def ActionInvoked(self, number, key):
        pass

    @dbus.service.signal(NAME, signature="uu")
    def NotificationClosed(self, number, reason):
        pass


def obey(server, line):
    words = line.split()
    if words[0] == "action":
        server.ActionInvoked(dbus.UInt32(int(words[1])), words[2])
    elif words[0] == "close":
        server.NotificationClosed(dbus.UInt32(int(words[1])), dbus.UInt32(int(words[2])))
    elif words[0] == "leave":
        bus.release_name(NAME)
        tell(event="left")
    elif words[0] == "come":
        bus.request_name(NAME)
        tell(event="came")
    else:
        loop.quit()


def read(server):
    for line in sys.stdin:
        if line.strip():
            GLib.idle_add(obey, server, line)
    GLib.idle_add(loop.quit)


DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
bus.request_name(NAME)
server = Server(bus, PATH)
loop = GLib.MainLoop()
threading.Thread(target=read, args=(server,), daemon=True).start()
tell(event="came")
loop.run()
