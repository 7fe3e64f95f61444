"""Responses and their events, read with the types that mozilla.ai publishes for the Open Responses specification."""

import json

import httpx2
import openresponses_types.types as types
from pydantic import BaseModel, TypeAdapter

from protocol import BOTH, WEATHER, Seen, serve

EVENTS = {}
for model in vars(types).values():
    if isinstance(model, type) and issubclass(model, BaseModel) and model.__name__.endswith("StreamingEvent"):
        for kind in model.model_fields["type"].annotation:
            EVENTS[kind.value] = TypeAdapter(model)
RESPONSE = TypeAdapter(types.ResponseResource)


def send(task, **body):
    headers = {"authorization": f"Bearer {task['key']}"}
    body = {"model": task["model"], "stream": task["stream"], **body}
    answer = httpx2.post(f"{task['baseUrl']}/responses", json=body, headers=headers, timeout=30)
    if answer.status_code != 200:
        raise RuntimeError(answer.json()["error"]["message"])
    if not task["stream"]:
        return RESPONSE.validate_python(answer.json())
    last = None
    for line in answer.text.splitlines():
        if line.startswith("data: {"):
            data = json.loads(line.removeprefix("data: "))
            last = EVENTS[data["type"]].validate_python(data)
    return last.response


def seen(response):
    return Seen().add(response.usage.input_tokens, response.usage.output_tokens)


def tools(task):
    offered = [{"type": "function", "strict": True, **WEATHER}]
    return seen(send(task, input="the weather, please [[tool=2]]", tools=offered))


def thinking(task):
    return seen(send(task, input="think, please [[thinking]]", reasoning={"effort": "low", "summary": "auto"}))


serve(
    "Open Responses types (Python)",
    "openresponses-types",
    {
        "text": ("responses", BOTH, lambda task: seen(send(task, input=task["text"]))),
        "tools": ("responses", BOTH, tools),
        "thinking": ("responses", BOTH, thinking),
    },
)
