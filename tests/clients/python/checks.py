"""Checks that print TAP, which the scenario's test reads as its own."""

import base64
import hmac
import json
import struct
import time
import traceback
from contextlib import contextmanager

_count = 0


def _line(passed, name, details=None):
    global _count
    _count += 1
    print(f"{'ok' if passed else 'not ok'} {_count} - {name}")
    if details is not None:
        # YAML contains JSON, so a JSON string is a valid value.
        print("  ---")
        for key, value in details.items():
            print(f"  {key}: {json.dumps(value, default=repr)}")
        print("  ...", flush=True)


def ok(value, name):
    _line(bool(value), name, None if value else {"found": value})


def equal(found, wanted, name):
    _line(found == wanted, name, None if found == wanted else {"found": found, "wanted": wanted})


@contextmanager
def part(name):
    """A part of a scenario: what it raises is a failed check, and the parts after it run."""
    try:
        yield
    except Exception as error:  # noqa: BLE001
        _line(False, f"{name}: {type(error).__name__}: {error}", {"stack": traceback.format_exc()})


@contextmanager
def refused(name, kind, **attributes):
    """Expects an error of a class with attributes."""
    try:
        yield
    except kind as error:
        found = {key: getattr(error, key, None) for key in attributes}
        equal(found, attributes, name)
    else:
        _line(False, f"{name}: no error")


def end():
    print(f"1..{_count}", flush=True)


def totp(secret):
    """The code of RFC 6238 for now."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, struct.pack(">Q", int(time.time()) // 30), "sha1")
    start = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[start : start + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"
