import json

import openai
from openai import OpenAI
from pydantic import BaseModel

from protocol import BOTH, LONG, STREAMED, SUNNY, WEATHER, WHOLE, Seen, check_errors, expect, failure, serve


class City(BaseModel):
    city: str


def client(task, **options):
    return OpenAI(**{"api_key": task["key"], "base_url": task["baseUrl"], **options})


def user(text):
    return [{"role": "user", "content": text}]


def chat(task, **body):
    if not task["stream"]:
        return client(task).chat.completions.create(model=task["model"], **body)
    options = {"include_usage": True}
    with client(task).chat.completions.stream(model=task["model"], stream_options=options, **body) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def respond(task, **body):
    if not task["stream"]:
        return client(task).responses.create(model=task["model"], **body)
    with client(task).responses.stream(model=task["model"], **body) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def chat_text(task):
    usage = chat(task, messages=[{"role": "user", "content": task["text"]}]).usage
    return Seen().add(usage.prompt_tokens, usage.completion_tokens)


def chat_tools(task):
    tools = [{"type": "function", "function": {**WEATHER, "strict": True}}]
    messages = [{"role": "user", "content": "the weather, please [[tool=2]]"}]
    first = chat(task, messages=messages, tools=tools)
    calls = first.choices[0].message.tool_calls
    expect(len(calls) == 2 and "city" in json.loads(calls[0].function.arguments), "two calls")
    said = [{"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}} for c in calls]
    messages.append({"role": "assistant", "tool_calls": said})
    messages += [{"role": "tool", "tool_call_id": call.id, "content": SUNNY} for call in calls]
    second = chat(task, messages=messages, tools=tools)
    expect("sunny" in second.choices[0].message.content, "the answer to the tool results")
    seen = Seen()
    for answer in (first, second):
        seen.add(answer.usage.prompt_tokens, answer.usage.completion_tokens)
    return seen


def chat_structured(task):
    answer = client(task).chat.completions.parse(
        model=task["model"], messages=user("a city"), response_format=City
    )
    expect(isinstance(answer.choices[0].message.parsed, City), "an object of the schema")
    return Seen().add(answer.usage.prompt_tokens, answer.usage.completion_tokens)


def chat_chunks(task):
    usage, said = None, ""
    stream = client(task).chat.completions.create(
        model=task["model"], messages=user(task["text"]), stream=True, stream_options={"include_usage": True}
    )
    for chunk in stream:
        said += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        usage = chunk.usage or usage
    expect(said, "text in the chunks")
    return Seen().add(usage.prompt_tokens, usage.completion_tokens)


def chat_abort(task):
    stream = client(task).chat.completions.create(model=task["model"], messages=user(LONG), stream=True)
    next(iter(stream))
    stream.close()
    return Seen().cut()


def chat_timeout(task):
    slow = client(task, timeout=0.3, max_retries=0).chat.completions
    error = failure(lambda: slow.create(model=task["model"], messages=user(f"{LONG} [[wait=2000]]")))
    expect(isinstance(error, openai.APITimeoutError), "APITimeoutError")
    return Seen().cut()


def idempotency(task):
    headers = {"Idempotency-Key": f"once-{task['key'][-6:]}"}
    first, again = (chat(task, messages=user(task["text"]), extra_headers=headers) for _ in range(2))
    expect(first.id == again.id, "the same answer again")
    return Seen().add(first.usage.prompt_tokens, first.usage.completion_tokens)


def errors(task):
    check_errors(
        openai,
        lambda options, body: client(task, **options).chat.completions.create(
            **{"model": task["model"], "messages": user("Hello"), **body}
        ),
    )
    answer = client(task).chat.completions.create(model=task["model"], messages=user(task["text"]))
    expect(answer._request_id.startswith("req_"), "the request id of an answer")
    return Seen().add(answer.usage.prompt_tokens, answer.usage.completion_tokens)


def responses_structured(task):
    answer = client(task).responses.parse(model=task["model"], input="a city", text_format=City)
    expect(isinstance(answer.output_parsed, City), "an object of the schema")
    return Seen().add(answer.usage.input_tokens, answer.usage.output_tokens)


def responses_kept(task):
    responses = client(task).responses
    ended = None
    for event in responses.create(model=task["model"], input=task["text"], stream=True):
        if event.type == "response.completed":
            ended = event.response
    expect(responses.retrieve(ended.id).output_text == ended.output_text, "the same text again")
    responses.delete(ended.id)
    expect(isinstance(failure(lambda: responses.retrieve(ended.id)), openai.NotFoundError), "it is gone")
    return Seen().add(ended.usage.input_tokens, ended.usage.output_tokens)


def responses_text(task):
    usage = respond(task, input=task["text"]).usage
    return Seen().add(usage.input_tokens, usage.output_tokens)


def responses_turns(task):
    tools = [{"type": "function", "strict": True, **WEATHER}]
    first = respond(task, input="the weather, please [[tool]]", tools=tools)
    call = next(item for item in first.output if item.type == "function_call")
    result = {"type": "function_call_output", "call_id": call.call_id, "output": SUNNY}
    second = respond(task, input=[result], tools=tools, previous_response_id=first.id)
    expect("sunny" in second.output_text, "the answer to the tool result")
    third = respond(task, input="and then?", previous_response_id=second.id)
    seen = Seen()
    for answer in (first, second, third):
        seen.add(answer.usage.input_tokens, answer.usage.output_tokens)
    return seen


def models(task):
    expect(any(model.id == task["model"] for model in client(task).models.list()), "the model in the list")
    expect(client(task).models.retrieve(task["model"]).id == task["model"], "the model by its id")
    return Seen()


serve(
    "openai (Python)",
    "openai",
    {
        "chat": ("chat", BOTH, chat_text),
        "chat: tools": ("chat", BOTH, chat_tools),
        "chat: structured output": ("chat", WHOLE, chat_structured),
        "chat: the chunks of a stream": ("chat", STREAMED, chat_chunks),
        "chat: an abort": ("chat", STREAMED, chat_abort),
        "chat: a time-out of its own": ("chat", WHOLE, chat_timeout, "sandbox"),
        "responses": ("responses", BOTH, responses_text),
        "responses: structured output": ("responses", WHOLE, responses_structured),
        "responses: three turns by previous_response_id": ("responses", BOTH, responses_turns),
        "responses: the events of a stream, retrieve and delete": ("responses", STREAMED, responses_kept),
        "models: list and retrieve": ("models", WHOLE, models),
        "idempotency key": ("chat", BOTH, idempotency),
        "error classes, request ids and retries": ("chat", WHOLE, errors, "sandbox"),
    },
)
