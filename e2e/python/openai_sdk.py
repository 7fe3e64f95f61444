import json
import time

import openai
from openai import OpenAI
from pydantic import BaseModel

from protocol import (
    BOTH,
    LONG,
    SLOW,
    STREAMED,
    SUNNY,
    WEATHER,
    WHOLE,
    Seen,
    check_errors,
    expect,
    failure,
    restarted,
    serve,
)


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


def ended(responses, id):
    """A background response once it has ended."""
    while (response := responses.retrieve(id)).status in ("queued", "in_progress"):
        time.sleep(0.05)
    return response


def events_of(stream, until=lambda event: False):
    """The events of a background response; with `until` they are left at the first that fits, as by a connection that is cut."""
    events = []
    with stream:
        for event in stream:
            events.append(event)
            if until(event):
                break
    return events


def left_in_the_middle(responses, model, text):
    """A background response that is read up to its first text, and left."""
    begun = responses.create(model=model, input=text, background=True, stream=True)
    events = events_of(begun, lambda event: event.type == "response.output_text.delta")
    return events[0].response.id, events, events[-1].sequence_number


def rest_of(responses, id, events, after):
    """The events after that one; together with those before, they are all, and each of them once."""
    rest = events_of(responses.retrieve(id, stream=True, starting_after=after))
    whole = events_of(responses.retrieve(id, stream=True))
    numbers, wanted = ([event.sequence_number for event in part] for part in (events + rest, whole))
    expect(numbers == wanted, f"every event once: {numbers} of {wanted}")
    return rest


def background_polled(task):
    responses = client(task).responses
    begun = responses.create(model=task["model"], input=task["text"], background=True)
    expect(begun.background is True and begun.status == "in_progress", "it has begun")
    response = ended(responses, begun.id)
    expect(response.status == "completed" and response.output_text, "it is complete")
    return Seen().add(response.usage.input_tokens, response.usage.output_tokens)


def background_cut(task):
    responses = client(task).responses
    last = rest_of(responses, *left_in_the_middle(responses, task["model"], SLOW))[-1]
    expect(last.type == "response.completed", "it is complete")
    return Seen().add(last.response.usage.input_tokens, last.response.usage.output_tokens)


def background_restart(task):
    responses = client(task).responses
    before = left_in_the_middle(responses, task["model"], SLOW)
    expect(ended(responses, before[0]).status == "completed", "one that is complete")
    live = left_in_the_middle(responses, task["model"], LONG)
    restarted()
    for left, last in ((before, "completed"), (live, "failed")):
        expect(rest_of(responses, *left)[-1].type == f"response.{last}", f"the end: {last}")
        expect(responses.retrieve(left[0]).status == last, last)
    error = responses.retrieve(live[0]).error
    expect(error.code == "server_error" and "shutting down" in error.message, "why it failed")
    return Seen().cut()


def background_cancelled(task):
    responses = client(task).responses
    id, _, after = left_in_the_middle(responses, task["model"], LONG)
    expect(responses.cancel(id).status == "cancelled", "it is cancelled")
    expect(responses.cancel(id).status == "cancelled", "twice is no mistake")
    rest = events_of(responses.retrieve(id, stream=True, starting_after=after))
    expect(rest[-1].type == "response.cancelled", "its readers see the end")
    return Seen().cut()


def web_socket(task):
    seen, previous = Seen(), None
    with client(task).responses.connect(max_retries=0) as connection:
        for text in (task["text"], "and then?"):
            connection.response.create(model=task["model"], input=text, store=False, previous_response_id=previous)
            for event in connection:
                expect(event.type not in ("error", "response.failed"), event)
                if event.type == "response.completed":
                    break
            previous = event.response.id
            seen.add(event.response.usage.input_tokens, event.response.usage.output_tokens)
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
        "responses: in the background, polled": ("responses", WHOLE, background_polled),
        "responses: in the background, taken up after a cut in the middle": ("responses", STREAMED, background_cut),
        "responses: in the background, taken up after a restart of the gateway": (
            "responses",
            STREAMED,
            background_restart,
            "sandbox",
            True,
        ),
        "responses: in the background, cancelled": ("responses", WHOLE, background_cancelled, "sandbox"),
        "responses: over a WebSocket": ("responses", STREAMED, web_socket),
        "models: list and retrieve": ("models", WHOLE, models),
        "idempotency key": ("chat", BOTH, idempotency),
        "error classes, request ids and retries": ("chat", WHOLE, errors, "sandbox"),
    },
)
