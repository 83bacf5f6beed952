"""Values that schemathesis cannot generate: images, an existing response, and an address that the relay may call."""

import os

import schemathesis
from hypothesis import strategies

PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
# Examples in the document.
EXAMPLE_ID = "resp_0123"
EXAMPLE_URL = "https://api.example.com/v1/chat/completions"

schemathesis.openapi.format("binary", strategies.just(PNG))


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces the document's examples by existing resources."""
    if case.path_parameters and case.path_parameters.get("id") == EXAMPLE_ID:
        case.path_parameters["id"] = os.environ.get("RESPONSE_ID", EXAMPLE_ID)
    if isinstance(case.body, dict) and case.body.get("url") == EXAMPLE_URL:
        case.body["url"] = os.environ.get("RELAY_URL", EXAMPLE_URL)
