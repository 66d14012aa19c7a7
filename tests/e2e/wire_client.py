"""A client of the wire protocol in plain Python: NNG's REQ over a Unix domain socket.

    handshake  00 'S' 'P' 00 <protocol:u16> 00 00      REQ is 0x30, REP 0x31
    message    01 <length:u64> <request id:u32> <body>  big-endian; the id has its highest bit set
"""
import base64
import json
import socket
import struct

REQ, REP = 0x30, 0x31
ITEM = {"float16": "e", "float32": "f", "float64": "d", "int8": "b", "int16": "h", "int32": "i",
        "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "bool": "?"}


def handshake(protocol):
    return b"\0SP\0" + struct.pack(">HH", protocol, 0)


def frame(body, request_id=0x80000001):
    return struct.pack(">BQI", 1, len(body) + 4, request_id) + body


class WireClient:
    """One connection. Requests are objects, or bytes to send as they are."""

    def __init__(self, path, timeout=60):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(timeout)
        self.socket.connect(str(path))
        self.socket.sendall(handshake(REQ))
        assert self.receive(8) == handshake(REP)
        self.next_id = 0x80000000

    def receive(self, count):
        parts = bytearray()
        while len(parts) < count:
            part = self.socket.recv(min(count - len(parts), 1 << 20))
            if not part:
                raise ConnectionError(f"the daemon hung up after {len(parts)} of {count} bytes")
            parts += part
        return bytes(parts)

    def send(self, request):
        """Sends and does not wait."""
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        self.next_id = 0x80000000 | (self.next_id + 1)
        self.socket.sendall(frame(body, self.next_id))

    def reply_text(self):
        kind, length, request_id = struct.unpack(">BQI", self.receive(13))
        assert kind == 1 and request_id == self.next_id
        return self.receive(length - 4).decode("utf-8")

    def ask(self, request=None, **members):
        """The reply as an object. NaN and Infinity, which JSON does not have, raise."""
        self.send({"type": request, **members} if isinstance(request, str) else request)
        return json.loads(self.reply_text(), parse_constant=refuse)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def refuse(token):
    raise ValueError(f"{token} is not JSON")


def tensor(values, dtype="float32", shape=None, strides=None):
    """TensorData as the published Python client sends it: strides in bytes, data packed."""
    shape = [len(values)] if shape is None else shape
    if strides is None:
        strides, step = [], struct.calcsize(ITEM[dtype])
        for size in reversed(shape):
            strides.insert(0, step)
            step *= size
    data = struct.pack(f"<{len(values)}{ITEM[dtype]}", *values)
    return {"shape": shape, "strides": strides, "dtype": dtype,
            "data": base64.b64encode(data).decode()}


def values_of(record):
    data = base64.b64decode(record["data"], validate=True)
    code = ITEM[record["dtype"]]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))
