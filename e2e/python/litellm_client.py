import litellm

from protocol import BOTH, SUNNY, WEATHER, Seen, expect, serve

litellm.suppress_debug_info = True


def ask(task, provider, messages, **more):
    address = task["origin"] if provider == "anthropic" else task["baseUrl"]
    common = {"api_base": address, "api_key": task["key"], "num_retries": 0, "max_tokens": 250, **more}
    if not task["stream"]:
        return litellm.completion(f"{provider}/{task['model']}", messages, **common)
    stream = litellm.completion(
        f"{provider}/{task['model']}", messages, stream=True, stream_options={"include_usage": True}, **common
    )
    return litellm.stream_chunk_builder(list(stream), messages=messages)


def seen(*answers):
    total = Seen()
    for answer in answers:
        total.add(answer.usage.prompt_tokens, answer.usage.completion_tokens)
    return total


def text(provider):
    return lambda task: seen(ask(task, provider, [{"role": "user", "content": task["text"]}]))


def tools(provider):
    def run(task):
        offered = [{"type": "function", "function": WEATHER}]
        messages = [{"role": "user", "content": "the weather, please [[tool=2]]"}]
        first = ask(task, provider, messages, tools=offered)
        said = first.choices[0].message
        expect(len(said.tool_calls) == 2, "two calls")
        messages.append(said.model_dump(exclude_none=True))
        messages += [{"role": "tool", "tool_call_id": call.id, "content": SUNNY} for call in said.tool_calls]
        second = ask(task, provider, messages, tools=offered)
        expect("sunny" in second.choices[0].message.content, "the answer to the tool results")
        return seen(first, second)

    return run


def responses(task):
    asked = {"model": f"openai/{task['model']}", "input": task["text"]}
    common = {"api_base": task["baseUrl"], "api_key": task["key"], "num_retries": 0}
    answer = litellm.responses(**asked, **common, stream=task["stream"])
    if task["stream"]:
        answer = [event for event in answer if event.type == "response.completed"][-1].response
    return Seen().add(answer.usage.input_tokens, answer.usage.output_tokens)


cases = {}
for provider, route in (("openai", "chat"), ("anthropic", "messages")):
    cases[f"{provider}: text"] = (route, BOTH, text(provider))
    cases[f"{provider}: tool loop"] = (route, BOTH, tools(provider))
cases["responses: text"] = ("responses", BOTH, responses)
serve("LiteLLM as a client (Python)", "litellm", cases)
