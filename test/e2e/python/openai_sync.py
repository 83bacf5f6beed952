"""The official OpenAI client, blocking. Prints what it saw as JSON."""
import json

import openai
from common import BASE, HELLO, KEY, REFUSED, TOOL, summary

client = openai.OpenAI(base_url=f"{BASE}/v1", api_key=KEY)
seen = {"models": [model.id for model in client.models.list()]}
seen["model"] = client.models.retrieve("vendor/team/beta").id

answer = client.chat.completions.create(**HELLO)
seen["answer"] = answer.choices[0].message.content
seen["usage"] = answer.usage.total_tokens
seen["id"] = answer._request_id

below_api = openai.OpenAI(base_url=f"{BASE}/api/v1", api_key=KEY)
seen["below /api"] = below_api.chat.completions.create(**HELLO).choices[0].message.content

with client.chat.completions.create(**HELLO, stream=True) as stream:
    seen["stream"] = [chunk.choices[0].delta.content or "" for chunk in stream]

with client.chat.completions.stream(**HELLO, stream_options={"include_usage": True}) as helper:
    for event in helper:
        pass
    final = helper.get_final_completion()
seen["helper"] = [final.choices[0].message.content, final.choices[0].finish_reason, final.usage.total_tokens]

calls = client.chat.completions.create(**{**HELLO, "model": "tools"}, tools=[TOOL]).choices[0].message.tool_calls
seen["tools"] = [[call.id, call.function.name, call.function.arguments] for call in calls]

seen["errors"] = {}
for name, (key, request) in REFUSED.items():
    try:
        client.with_options(api_key=key).chat.completions.create(**request)
    except openai.APIError as error:
        seen["errors"][name] = summary(error)

text = ""
try:
    for chunk in client.chat.completions.create(**{**HELLO, "model": "cut"}, stream=True):
        text += chunk.choices[0].delta.content or ""
except openai.APIError as error:
    seen["cut"] = [text, summary(error)]

print(json.dumps(seen))
