"""Shared by the scripts: the gateway's address and keys, and the form in which errors are reported."""
import os

BASE = os.environ["GATEWAY_BASE"]
KEY = os.environ["GATEWAY_KEY"]
POOR = os.environ["GATEWAY_POOR_KEY"]
LIMITED = os.environ["GATEWAY_LIMITED_KEY"]

HELLO = {"model": "alpha", "messages": [{"role": "user", "content": "Hello"}]}
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}

# Refused requests by expected error: API key and parameters.
REFUSED = {
    "unknown key": ("sk-unknown", HELLO),
    "model not allowed": (LIMITED, HELLO),
    "no messages": (KEY, {**HELLO, "messages": []}),
    "no funds": (POOR, HELLO),
    "no route": (KEY, {**HELLO, "model": "nowhere"}),
    "upstream broken": (KEY, {**HELLO, "model": "broken"}),
}


def summary(error):
    return {
        "class": type(error).__name__,
        "status": getattr(error, "status_code", None),
        "code": getattr(error, "code", None),
        "type": getattr(error, "type", None),
        "id": bool(getattr(error, "request_id", None)),
    }
