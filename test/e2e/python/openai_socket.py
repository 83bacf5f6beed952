"""The official OpenAI client on a WebSocket, over upstreams of every dialect. Prints what it saw as JSON."""
import asyncio
import json

import openai
from common import BASE, KEY

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0)
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
TOOL = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}
ENDS = {"error", "response.completed", "response.incomplete", "response.failed"}


def end(connection, **fields):
    """Creates a response and returns its last event."""
    connection.response.create(**fields)
    for event in connection:
        if event.type in ENDS:
            return event


def text(response):
    return "".join(part.text for item in response.output if item.type == "message" for part in item.content)


def texts_in(event):
    return json.loads(text(event.response)) if event.type == "response.completed" else event.to_dict()


def summary(event):
    return [type(event).__name__, event.type, event.status, event.error.code]


def turns(model):
    with client.responses.connect() as connection:
        params = {"model": model, "store": False}
        one = end(connection, **params, input="one")
        two = end(connection, **params, input="two", previous_response_id=one.response.id)
        called = end(connection, **params, input="Weather?", tools=[TOOL])
        call = called.response.output[0]
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        after = end(connection, **params, input=[output], tools=[TOOL], previous_response_id=called.response.id)
        return {
            "turns": [texts_in(one), texts_in(two)],
            "call": [call.type, call.name, call.arguments],
            "after": "Weather?" in text(after.response),
            "missing": summary(end(connection, **params, input="x", previous_response_id="resp_missing")),
            "broken": summary(end(connection, **params, input="now fail")),
            "still there": texts_in(end(connection, **params, input="again")),
        }


def streams(model):
    """The second response ends while the first one waits for it."""
    with client.responses.connect() as connection:
        for stream, question in [("slow", "slow: wait"), ("quick", "quick: free")]:
            connection.response.create(model=model, input=question, stream_id=stream)
        ended = []
        for event in connection:
            if event.type in ENDS:
                ended.append([event.stream_id, texts_in(event)])
                if len(ended) == 2:
                    return ended


def reconnect(model):
    """Breaks the connection and continues from a stored response."""
    times = 0

    def create_again(_):
        nonlocal times
        times += 1
        connection.response.create(model=model, input="here")

    with client.responses.connect(on_reconnecting=create_again, initial_delay=0.001, max_delay=0.01) as connection:
        stored = end(connection, model=model, input="one")
        unstored = end(connection, model=model, input="one", store=False)
        return {
            "here": texts_in(end(connection, model=model, input="cut")),
            "times": times,
            "stored": texts_in(end(connection, model=model, input="again", previous_response_id=stored.response.id)),
            "lost": summary(end(connection, model=model, input="x", store=False, previous_response_id=unstored.response.id)),
        }


async def in_async(model):
    async with openai.AsyncOpenAI(base_url=f"{BASE}/v1", api_key=KEY) as other:
        async with other.responses.connect() as connection:
            await connection.response.create(model=model, input="one")
            deltas = []
            async for event in connection:
                if event.type == "response.output_text.delta":
                    deltas.append(event.delta)
                if event.type in ENDS:
                    return ["".join(deltas), texts_in(event)]


def refused():
    try:
        with client.with_options(api_key="sk-unknown").responses.connect():
            return "connected"
    except Exception as error:
        return [type(error).__name__, "401" in str(error)]


models = ["chat", "responses", "messages"]
seen = {
    model: {**turns(model), "streams": streams(model), "reconnect": reconnect(model), "async": asyncio.run(in_async(model))}
    for model in models
}
print(json.dumps({**seen, "refused": refused()}))
