# SPDX-License-Identifier: BSD-3-Clause
"""A peer emulated by a case byte by byte: socklnd V3 and LNet's 72-byte header, as far as cases need them."""
import ipaddress
import itertools
import socket
import struct

PORT = 988
ACCEPTOR_MAGIC, HELLO_MAGIC = 0xACCE7100, 0x45726963
CONTROL, BULK_IN, BULK_OUT, NONE = 1, 2, 3, -1
NOOP, LNET = 0xC0, 0xC1
ACK, PUT, GET, REPLY = range(4)
PID = 12345
PING_BITS = 1 << 63
BYTES_MAX = 1 << 20
HEADER_BYTES = 72
INCARNATIONS = itertools.count(1_000_000)
RESERVED_PORTS = range(1023, 511, -1)


def nid_of(address, number=0):
    return 2 << 48 | number << 32 | int(ipaddress.IPv4Address(address))


def request(target):
    return struct.pack("<IIQ", ACCEPTOR_MAGIC, 1, target)


def hello(source, target, kind=CONTROL, version=3, incarnation=1, addresses=0):
    return struct.pack("<IIQQIIQQiI", HELLO_MAGIC, version, source, target, PID, 0, incarnation, 0, kind, addresses)


def frame(kind=LNET, checksum=0, cookies=(0, 0)):
    return struct.pack("<IIQQ", kind, checksum, *cookies)


def header(source, target, kind, payload=0, area=b""):
    return struct.pack("<QQIIII", target, source, PID, PID, kind, payload) + area.ljust(40, b"\0")


def get_ping(source, target, cookie, sink=272):
    return frame() + header(source, target, GET, 0, struct.pack("<QQQIII", 7, cookie, PING_BITS, 0, 0, sink))


def put(source, target, portal, bits, length):
    """The header; the caller sends the payload."""
    return frame() + header(source, target, PUT, length, struct.pack("<QQQQII", 2**64 - 1, 2**64 - 1, bits, 0, portal, 0))


def connect(to, source="", port=None, timeout_s=10):
    """Connects from a reserved port like peers, unless `port` is given (0: any)."""
    family = socket.AF_INET6 if ":" in to else socket.AF_INET
    for local in RESERVED_PORTS if port is None else [port]:
        link = socket.socket(family, socket.SOCK_STREAM)
        link.settimeout(timeout_s)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        try:
            link.bind((source, local))
            link.connect((to, PORT))
            return link
        except OSError as error:
            link.close()
            if port is not None or error.errno not in (98, 99):  # EADDRINUSE, EADDRNOTAVAIL
                raise
    raise OSError("all reserved ports are in use")


def read(link, count):
    """Exactly this many bytes; fewer if the other side closes."""
    got = b""
    while len(got) < count:
        try:
            piece = link.recv(count - len(got))
        except ConnectionResetError:
            break
        if not piece:
            break
        got += piece
    return got


def is_closed(link):
    """Waits until the other side closes the connection, and ignores received bytes. True: it closed."""
    try:
        while link.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except TimeoutError:
        return False
    return True


class ScriptPeer:
    """One connection of a peer, after its handshake."""

    def __init__(self, to, source, kind=CONTROL, number=0, incarnation=None):
        """`incarnation`: shared by the connections of one life. `number`: the network's number."""
        self.target, self.nid = nid_of(to, number), nid_of(source, number)
        self.incarnation = incarnation or next(INCARNATIONS)
        self.link = connect(to, source)
        self.link.sendall(request(self.target) + hello(self.nid, self.target, kind, incarnation=self.incarnation))

    def introduced(self):
        """The reply to our HELLO, as a connection type; None: no reply."""
        answer = read(self.link, 56)
        return struct.unpack_from("<i", answer, 48)[0] if len(answer) == 56 else None

    def ask(self, cookie=1):
        self.link.sendall(get_ping(self.nid, self.target, cookie))

    def message(self):
        """The next message: (type, type's area, payload), without keepalives. None: closed."""
        while True:
            head = read(self.link, 24)
            if len(head) < 24:
                return None
            if struct.unpack_from("<I", head)[0] == NOOP:
                continue
            body = read(self.link, HEADER_BYTES)
            kind, length = struct.unpack_from("<II", body, 24)
            return kind, body[32:], read(self.link, length)

    def is_answered(self, cookie=1):
        """The node may send requests before it answers."""
        while (got := self.message()) is not None:
            kind, area, payload = got
            if kind == REPLY and area[8:16] == struct.pack("<Q", cookie):
                return len(payload) >= 16
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.link.close()
