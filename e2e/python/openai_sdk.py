import json

from openai import OpenAI

from protocol import BOTH, SUNNY, WEATHER, Seen, expect, serve


def client(task):
    return OpenAI(api_key=task["key"], base_url=task["baseUrl"])


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
        "responses": ("responses", BOTH, responses_text),
        "responses: three turns by previous_response_id": ("responses", BOTH, responses_turns),
        "models: list and retrieve": ("models", ["whole"], models),
    },
)
