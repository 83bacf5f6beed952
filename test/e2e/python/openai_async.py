"""The official OpenAI client with asyncio: the same as the blocking one. Prints what it saw as JSON."""
import asyncio
import json

import openai
from common import BASE, HELLO, KEY, REFUSED, TOOL, summary


async def main():
    client = openai.AsyncOpenAI(base_url=f"{BASE}/v1", api_key=KEY)
    seen = {"models": [model.id async for model in client.models.list()]}
    seen["model"] = (await client.models.retrieve("vendor/team/beta")).id

    answer = await client.chat.completions.create(**HELLO)
    seen["answer"] = answer.choices[0].message.content
    seen["usage"] = answer.usage.total_tokens
    seen["id"] = answer._request_id

    below_api = openai.AsyncOpenAI(base_url=f"{BASE}/api/v1", api_key=KEY)
    seen["below /api"] = (await below_api.chat.completions.create(**HELLO)).choices[0].message.content

    async with await client.chat.completions.create(**HELLO, stream=True) as stream:
        seen["stream"] = [chunk.choices[0].delta.content or "" async for chunk in stream]

    async with client.chat.completions.stream(**HELLO, stream_options={"include_usage": True}) as helper:
        async for event in helper:
            pass
        final = await helper.get_final_completion()
    seen["helper"] = [final.choices[0].message.content, final.choices[0].finish_reason, final.usage.total_tokens]

    answer = await client.chat.completions.create(**{**HELLO, "model": "tools"}, tools=[TOOL])
    calls = answer.choices[0].message.tool_calls
    seen["tools"] = [[call.id, call.function.name, call.function.arguments] for call in calls]

    async def refused(name, key, request):
        try:
            await client.with_options(api_key=key).chat.completions.create(**request)
        except openai.APIError as error:
            return name, summary(error)

    # Concurrently, so that connections are shared.
    errors = await asyncio.gather(*(refused(name, *case) for name, case in REFUSED.items()))
    seen["errors"] = dict(error for error in errors if error)

    text = ""
    try:
        async for chunk in await client.chat.completions.create(**{**HELLO, "model": "cut"}, stream=True):
            text += chunk.choices[0].delta.content or ""
    except openai.APIError as error:
        seen["cut"] = [text, summary(error)]

    print(json.dumps(seen))


asyncio.run(main())
