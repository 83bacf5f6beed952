"""The official Anthropic clients list models. Prints what they saw as JSON."""
import asyncio
import json

import anthropic
from common import BASE, KEY, summary

client = anthropic.Anthropic(base_url=BASE, api_key=KEY)
pages = list(client.models.list(limit=2).iter_pages())
seen = {
    "pages": [len(page.data) for page in pages],
    "models": [model.id for page in pages for model in page.data],
    "model": client.models.retrieve("vendor/team/beta").id,
    "years": [model.created_at.year for page in pages for model in page.data],
}

by_header = anthropic.Anthropic(base_url=f"{BASE}/api", api_key=KEY, default_headers={"x-api-key": KEY})
seen["by header"] = [model.id for model in by_header.models.list()]


async def list_async():
    async with anthropic.AsyncAnthropic(base_url=BASE, api_key=KEY) as async_client:
        return [model.id async for model in async_client.models.list(limit=1)]


seen["async"] = asyncio.run(list_async())


def error_of(call):
    try:
        call()
    except anthropic.APIError as error:
        return summary(error)


unknown = anthropic.Anthropic(base_url=BASE, api_key="sk-unknown")
seen["errors"] = {
    "unknown key": error_of(lambda: unknown.models.list()),
    "unknown model": error_of(lambda: client.models.retrieve("nowhere")),
}
print(json.dumps(seen))
