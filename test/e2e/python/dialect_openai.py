"""The official OpenAI client over upstreams of every dialect, chat and responses. Prints what it saw as JSON."""
import json

import openai
from common import BASE, KEY, summary
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY, max_retries=0)
QUESTION = [{"role": "user", "content": "Weather in Ulm?"}]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
CHAT_TOOL = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS, "strict": True}}
TOOL = {"type": "function", "name": "weather", "parameters": PARAMETERS, "strict": True}


class Weather(BaseModel):
    city: str
    degrees: float


def chat(model):
    answer = client.chat.completions.create(model=model, messages=QUESTION, tools=[CHAT_TOOL])
    message = answer.choices[0].message
    call = message.tool_calls[0]
    history = [*QUESTION, message, {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
    request = {"model": model, "messages": history, "tools": [CHAT_TOOL], "stream_options": {"include_usage": True}}
    with client.chat.completions.stream(**request) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    parsed = client.chat.completions.parse(model=f"{model}-object", messages=QUESTION, response_format=Weather)
    return {
        "call": [call.id, call.function.name, call.function.arguments],
        "final": [final.choices[0].message.content, final.choices[0].finish_reason],
        "usage": [final.usage.prompt_tokens, final.usage.prompt_tokens_details.cached_tokens, final.usage.completion_tokens],
        "parsed": parsed.choices[0].message.parsed.model_dump(),
    }


def responses(model):
    answer = client.responses.create(model=model, input=QUESTION, tools=[TOOL], store=False)
    call = next(item for item in answer.output if item.type == "function_call")
    output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
    history = [*QUESTION, *answer.output, output]
    with client.responses.stream(model=model, input=history, tools=[TOOL], store=False) as stream:
        for _ in stream:
            pass
        final = stream.get_final_response()
    parsed = client.responses.parse(model=f"{model}-object", input=QUESTION, text_format=Weather)
    return {
        "call": [call.call_id, call.name, call.arguments],
        "final": [final.output_text, final.status],
        "usage": [final.usage.input_tokens, final.usage.input_tokens_details.cached_tokens, final.usage.output_tokens],
        "parsed": parsed.output_parsed.model_dump(),
    }


def cut(call):
    text = ""
    try:
        for event in call:
            if getattr(event, "type", None) == "response.failed":
                return [text, "failed"]
            if getattr(event, "type", None) == "response.output_text.delta":
                text += event.delta
            if getattr(event, "choices", None):
                text += event.choices[0].delta.content or ""
    except openai.APIError:
        return [text, "failed"]
    return [text, "whole"]


seen = {}
for name in ["chat", "responses", "messages"]:
    seen[name] = {"chat": chat(name), "responses": responses(name)}
    seen[name]["cut"] = [
        cut(client.chat.completions.create(model=f"{name}-cut", messages=QUESTION, stream=True)),
        cut(client.responses.create(model=f"{name}-cut", input=QUESTION, stream=True)),
    ]
    errors = []
    for call in [
        lambda: client.chat.completions.create(model=f"{name}-long", messages=QUESTION),
        lambda: client.responses.create(model=f"{name}-long", input=QUESTION, stream=True),
    ]:
        try:
            call()
        except openai.APIError as error:
            errors.append(summary(error))
    seen[name]["errors"] = errors

print(json.dumps(seen))
