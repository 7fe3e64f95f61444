from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI

from protocol import BOTH, SUNNY, WEATHER, Seen, expect, serve


def openai(task, responses):
    return ChatOpenAI(
        model=task["model"],
        base_url=task["baseUrl"],
        api_key=task["key"],
        max_retries=1,
        stream_usage=True,
        use_responses_api=responses,
    )


def anthropic(task):
    return ChatAnthropic(
        model=task["model"], base_url=task["origin"], api_key=task["key"], max_tokens=250, max_retries=1
    )


MODELS = {
    "ChatOpenAI: chat": ("chat", lambda task: openai(task, False)),
    "ChatOpenAI: responses": ("responses", lambda task: openai(task, True)),
    "ChatAnthropic": ("messages", anthropic),
}


def answer(chat, messages, stream):
    if not stream:
        return chat.invoke(messages)
    whole = None
    for chunk in chat.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


def seen(*answers):
    total = Seen()
    for said in answers:
        total.add(said.usage_metadata["input_tokens"], said.usage_metadata["output_tokens"])
    return total


def text(model):
    return lambda task: seen(answer(model(task), [HumanMessage(task["text"])], task["stream"]))


def tools(model):
    def run(task):
        chat = model(task).bind_tools([{"type": "function", "function": WEATHER}])
        messages = [HumanMessage("the weather, please [[tool=2]]")]
        first = answer(chat, messages, task["stream"])
        expect(len(first.tool_calls) == 2, "two calls")
        messages.append(first)
        messages += [ToolMessage(content=SUNNY, tool_call_id=call["id"]) for call in first.tool_calls]
        second = answer(chat, messages, task["stream"])
        expect("sunny" in second.text, "the answer to the tool results")
        return seen(first, second)

    return run


def structured(model, route):
    def run(task):
        method = "function_calling" if route == "messages" else "json_schema"
        schema = {"title": "city", **WEATHER["parameters"]}
        chat = model(task).with_structured_output(schema, method=method, include_raw=True)
        result = chat.invoke("a city [[tool]]")
        expect(isinstance(result["parsed"]["city"], str), "an object of the schema")
        return seen(result["raw"])

    return run


cases = {}
for name, (route, model) in MODELS.items():
    cases[f"{name}: text"] = (route, BOTH, text(model))
    cases[f"{name}: tool loop"] = (route, BOTH, tools(model))
    cases[f"{name}: structured output"] = (route, ["whole"], structured(model, route))
serve("LangChain (Python)", "langchain-core", cases, also=["langchain-openai", "langchain-anthropic"])
