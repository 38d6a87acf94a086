# SPDX-License-Identifier: BSD-3-Clause
"""A thousand peers in one thread: a host with that many addresses, each of which accepts connections and answers pings. Every
peer has its own NID, its own connections and its own place in the node's tables."""
import ipaddress
import selectors
import socket
import struct
import threading

from script_peer import GET, HEADER_BYTES, HELLO_MAGIC, LNET, PID, PORT, REPLY, frame, header, hello, nid_of

REQUEST_BYTES, HELLO_BYTES, FRAME_BYTES = 16, 56, 24
UP = 0x15AAC0DE
PING_MAGIC, NI_STATUS = 0x70696E67, 0x2
INVERTED = {1: 1, 2: 3, 3: 2}


def addresses(count, first="10.77.0.1"):
    start = int(ipaddress.IPv4Address(first))
    return [str(ipaddress.IPv4Address(start + i + 2 * (i // 254))) for i in range(count)]


def ping_buffer(nid):
    return struct.pack("<IIII", PING_MAGIC, NI_STATUS | 0x4, PID, 2) + struct.pack("<QII", 9 << 48, 1, 0) + struct.pack(
        "<QII", nid, UP, 0)


class Link:
    """One connection made by a node."""

    def __init__(self, link):
        self.link, self.input, self.introduced = link, b"", False
        self.nid = nid_of(link.getsockname()[0])

    def take(self):
        """True while the connection stays open."""
        try:
            piece = self.link.recv(65536)
        except OSError:
            return False
        self.input += piece
        try:
            while self.step():
                pass
        except (OSError, ValueError):
            return False
        return bool(piece)

    def step(self):
        if not self.introduced:
            if len(self.input) < REQUEST_BYTES + HELLO_BYTES:
                return False
            self.introduce(self.cut(REQUEST_BYTES), self.cut(HELLO_BYTES))
            return True
        if len(self.input) < FRAME_BYTES:
            return False
        if struct.unpack_from("<I", self.input)[0] != LNET:
            self.cut(FRAME_BYTES)
            return True
        if len(self.input) < FRAME_BYTES + HEADER_BYTES:
            return False
        length = struct.unpack_from("<I", self.input, FRAME_BYTES + 28)[0]
        if len(self.input) < FRAME_BYTES + HEADER_BYTES + length:
            return False
        self.answer(self.cut(FRAME_BYTES + HEADER_BYTES + length)[FRAME_BYTES:])
        return True

    def cut(self, count):
        head, self.input = self.input[:count], self.input[count:]
        return head

    def introduce(self, _, its_hello):
        magic, _, source = struct.unpack_from("<IIQ", its_hello)
        if magic != HELLO_MAGIC:
            raise ValueError("no HELLO")
        kind = struct.unpack_from("<i", its_hello, 48)[0]
        self.link.sendall(hello(self.nid, source, INVERTED[kind]))
        self.introduced = True

    def answer(self, message):
        target, source, _, _, kind, _ = struct.unpack_from("<QQIIII", message)
        if kind != GET:
            return
        reply = ping_buffer(self.nid)
        self.link.sendall(frame() + header(target, source, REPLY, len(reply), message[32:48]) + reply)


class Crowd:
    """Belongs to the host on which it is created (see Hosts.inside), with a thread of its own."""

    def __init__(self):
        self.listener = socket.create_server(("", PORT), backlog=1024)
        self.quit, quit_here = socket.socketpair()
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.selector.register(quit_here, selectors.EVENT_READ, quit_here)
        self.links = set()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.data is None:
                    link = Link(self.listener.accept()[0])
                    self.links.add(link)
                    self.selector.register(link.link, selectors.EVENT_READ, link)
                elif not isinstance(key.data, Link):
                    key.data.close()
                    return
                elif not key.data.take():
                    self.selector.unregister(key.data.link)
                    key.data.link.close()
                    self.links.discard(key.data)

    def peers(self):
        return len({each.nid for each in list(self.links)})

    def close(self):
        self.quit.send(b"x")
        self.thread.join(10)
        self.listener.close()
        for each in self.links:
            each.link.close()
        self.quit.close()
