from anthropic import Anthropic

from protocol import BOTH, SUNNY, WEATHER, Seen, expect, serve

TOOL = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": WEATHER["parameters"]}


def client(task):
    return Anthropic(api_key=task["key"], auth_token=None, base_url=task["origin"])


def message(task, **body):
    body = {"model": task["model"], "max_tokens": 200, **body}
    if not task["stream"]:
        return client(task).messages.create(**body)
    with client(task).messages.stream(**body) as stream:
        return stream.get_final_message()


def add(seen, usage):
    cached = (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return seen.add(usage.input_tokens + cached, usage.output_tokens)


def text(task):
    return add(Seen(), message(task, messages=[{"role": "user", "content": task["text"]}]).usage)


def tools(task):
    messages = [{"role": "user", "content": "the weather, please [[tool=2]]"}]
    first = message(task, messages=messages, tools=[TOOL])
    calls = [block for block in first.content if block.type == "tool_use"]
    expect(len(calls) == 2, "two calls")
    messages.append({"role": "assistant", "content": first.content})
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": SUNNY} for call in calls]
    messages.append({"role": "user", "content": results})
    second = message(task, messages=messages, tools=[TOOL])
    expect(any("sunny" in (getattr(block, "text", "") or "") for block in second.content), "the answer to the results")
    return add(add(Seen(), first.usage), second.usage)


def count(task):
    counted = client(task).messages.count_tokens(
        model=task["model"], messages=[{"role": "user", "content": task["text"]}]
    )
    expect(counted.input_tokens > 0, "a count")
    return Seen()


def models(task):
    expect(any(model.id == task["model"] for model in client(task).models.list()), "the model in the list")
    expect(client(task).models.retrieve(task["model"]).id == task["model"], "the model by its id")
    return Seen()


serve(
    "anthropic (Python)",
    "anthropic",
    {
        "messages": ("messages", BOTH, text),
        "messages: tools": ("messages", BOTH, tools),
        "count_tokens": ("count_tokens", ["whole"], count),
        "models: list and retrieve": ("models", ["whole"], models),
    },
)
