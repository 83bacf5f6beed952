"""The official Anthropic clients over upstreams of every dialect. Prints what they saw as JSON."""
import asyncio
import json

import anthropic
from common import BASE, KEY, summary
from pydantic import BaseModel

client = anthropic.Anthropic(base_url=BASE, api_key=KEY, max_retries=0)
QUESTION = [{"role": "user", "content": "Weather in Ulm?"}]


class Weather(BaseModel):
    city: str
    degrees: float


@anthropic.beta_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def text_and_end(message):
    return ["".join(block.text for block in message.content if block.type == "text"), message.stop_reason]


def runner(model):
    request = {"model": model, "max_tokens": 500, "messages": QUESTION, "tools": [weather]}
    last = client.beta.messages.tool_runner(**request).until_done()
    return text_and_end(last)


def stream(model):
    with client.messages.stream(model=model, max_tokens=500, messages=QUESTION) as events:
        for _ in events:
            pass
        final = events.get_final_message()
    usage = final.usage
    calls = [[block.id, block.name, block.input] for block in final.content if block.type == "tool_use"]
    return {
        "calls": calls,
        "end": final.stop_reason,
        "usage": [usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens, usage.output_tokens],
    }


def cut(model):
    text = ""
    try:
        with client.messages.stream(model=model, max_tokens=500, messages=QUESTION) as events:
            for piece in events.text_stream:
                text += piece
            events.get_final_message()
    except anthropic.APIError:
        return [text, "failed"]
    return [text, "whole"]


def too_long(model):
    try:
        client.messages.create(model=model, max_tokens=500, messages=QUESTION)
    except anthropic.APIError as error:
        return [summary(error), error.body["error"]["message"]]


async def ask_async(model):
    async with anthropic.AsyncAnthropic(base_url=BASE, api_key=KEY, max_retries=0) as async_client:
        return (await async_client.messages.create(model=model, max_tokens=500, messages=QUESTION)).stop_reason


seen = {}
for name in ["chat", "responses", "messages"]:
    parsed = client.messages.parse(model=f"{name}-object", max_tokens=500, messages=QUESTION, output_format=Weather)
    seen[name] = {
        "runner": runner(name),
        "stream": stream(name),
        "async": asyncio.run(ask_async(name)),
        "parsed": parsed.parsed_output.model_dump(),
        "cut": cut(f"{name}-cut"),
        "error": too_long(f"{name}-long"),
    }

print(json.dumps(seen))
