import anthropic
from anthropic import Anthropic, beta_tool
from pydantic import BaseModel

from protocol import BOTH, LONG, STREAMED, SUNNY, WEATHER, WHOLE, Seen, check_errors, expect, failure, serve

TOOL = {"name": WEATHER["name"], "description": WEATHER["description"], "input_schema": WEATHER["parameters"]}


class City(BaseModel):
    city: str


@beta_tool
def get_weather(city: str) -> str:
    """The weather of a city"""
    return SUNNY


def client(task, **options):
    return Anthropic(**{"api_key": task["key"], "auth_token": None, "base_url": task["origin"], **options})


def user(text):
    return [{"role": "user", "content": text}]


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


def runner(task):
    seen = Seen()
    runner = client(task).beta.messages.tool_runner(
        model=task["model"],
        max_tokens=400,
        tools=[get_weather],
        messages=user("the weather, please [[tool=2]]"),
        stream=task["stream"],
    )
    last = None
    for step in runner:
        last = step.get_final_message() if task["stream"] else step
        add(seen, last.usage)
    expect(any("sunny" in (getattr(block, "text", "") or "") for block in last.content), "the answer to the results")
    return seen


def thinking(task):
    asked = {"max_tokens": 2000, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    messages = user("think, please [[thinking]]")
    first = message(task, messages=messages, **asked)
    messages += [{"role": "assistant", "content": first.content}, *user("and then? [[thinking]]")]
    return add(add(Seen(), first.usage), message(task, messages=messages, **asked).usage)


def structured(task):
    answer = client(task).messages.parse(
        model=task["model"], max_tokens=200, messages=user("a city"), output_format=City
    )
    expect(isinstance(answer.parsed_output, City), "an object of the schema")
    return add(Seen(), answer.usage)


def events(task):
    said, start, end = "", None, None
    body = {"model": task["model"], "max_tokens": 200, "messages": user(task["text"])}
    for event in client(task).messages.create(**body, stream=True):
        if event.type == "message_start":
            start = event.message.usage
        if event.type == "content_block_delta":
            said += event.delta.text
        if event.type == "message_delta":
            end = event.usage
    expect(said, "text in the events")
    return Seen().add(end.input_tokens or start.input_tokens, end.output_tokens)


def abort(task):
    stream = client(task).messages.create(model=task["model"], max_tokens=3000, messages=user(LONG), stream=True)
    next(iter(stream))
    stream.close()
    return Seen().cut()


def time_out(task):
    slow = client(task, timeout=0.3, max_retries=0).messages
    body = {"model": task["model"], "max_tokens": 3000, "messages": user(f"{LONG} [[wait=2000]]")}
    expect(isinstance(failure(lambda: slow.create(**body)), anthropic.APITimeoutError), "APITimeoutError")
    return Seen().cut()


def idempotency(task):
    headers = {"Idempotency-Key": f"once-{task['key'][-6:]}"}
    first, again = (message(task, messages=user(task["text"]), extra_headers=headers) for _ in range(2))
    expect(first.id == again.id, "the same answer again")
    return add(Seen(), first.usage)


def errors(task):
    check_errors(
        anthropic,
        lambda options, body: client(task, **options).messages.create(
            **{"model": task["model"], "max_tokens": 200, "messages": user("Hello"), **body}
        ),
    )
    answer = client(task).messages.create(model=task["model"], max_tokens=200, messages=user(task["text"]))
    expect(answer._request_id.startswith("req_"), "the request id of an answer")
    return add(Seen(), answer.usage)


serve(
    "anthropic (Python)",
    "anthropic",
    {
        "messages": ("messages", BOTH, text),
        "messages: tools": ("messages", BOTH, tools),
        "messages: tool runner": ("messages", BOTH, runner),
        "messages: thinking through two turns": ("messages", BOTH, thinking),
        "messages: structured output": ("messages", WHOLE, structured),
        "messages: the events of a stream": ("messages", STREAMED, events),
        "messages: an abort": ("messages", STREAMED, abort),
        "messages: a time-out of its own": ("messages", WHOLE, time_out, "sandbox"),
        "count_tokens": ("count_tokens", WHOLE, count),
        "models: list and retrieve": ("models", WHOLE, models),
        "idempotency key": ("messages", BOTH, idempotency),
        "error classes, request ids and retries": ("messages", WHOLE, errors, "sandbox"),
    },
)
