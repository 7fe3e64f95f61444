from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai import OpenAIResponses
from llama_index.llms.openai_like import OpenAILike

from protocol import BOTH, SUNNY, Seen, expect, serve


def chat(task):
    # Its streams do not ask for their usage otherwise.
    more = {"stream_options": {"include_usage": True}} if task["stream"] else {}
    return OpenAILike(
        model=task["model"],
        api_base=task["baseUrl"],
        api_key=task["key"],
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=128000,
        max_retries=1,
        additional_kwargs=more,
    )


def responses(task):
    return OpenAIResponses(
        model=task["model"], api_base=task["baseUrl"], api_key=task["key"], context_window=128000, max_retries=1
    )


MODELS = {
    "OpenAILike": ("chat", chat),
    "OpenAIResponses": ("responses", responses),
}


def get_weather(city: str) -> str:
    """The weather of a city"""
    return SUNNY


WEATHER = FunctionTool.from_defaults(get_weather)


def told(raw):
    """What an answer, or an event, tells of its usage."""
    found = {}
    for holder in (raw, getattr(raw, "response", None), getattr(raw, "message", None)):
        usage = holder.get("usage") if isinstance(holder, dict) else getattr(holder, "usage", None)
        if usage is not None:
            found.update(usage if isinstance(usage, dict) else usage.model_dump(exclude_none=True))
    return found


def asked(answers, stream):
    """The last answer, and the usage of all that was told."""
    if not stream:
        return answers, told(answers.raw)
    usage, last = {}, None
    for last in answers:
        usage.update(told(last.raw))
    return last, usage


def add(seen, usage):
    output = usage.get("output_tokens", usage.get("completion_tokens"))
    return seen.add(usage.get("input_tokens", usage.get("prompt_tokens")), output)


def text(model):
    def run(task):
        llm = model(task)
        ask = llm.stream_chat if task["stream"] else llm.chat
        answer, usage = asked(ask([ChatMessage(role="user", content=task["text"])]), task["stream"])
        expect(answer.message.content, "text")
        return add(Seen(), usage)

    return run


def tools(model):
    def run(task):
        llm = model(task)
        ask = llm.stream_chat_with_tools if task["stream"] else llm.chat_with_tools
        messages = [ChatMessage(role="user", content="the weather, please [[tool=2]]")]
        more = {"allow_parallel_tool_calls": True}
        first, one = asked(ask([WEATHER], chat_history=messages, **more), task["stream"])
        calls = llm.get_tool_calls_from_response(first)
        expect(len(calls) == 2, "two calls")
        messages.append(first.message)
        for call in calls:
            messages.append(ChatMessage(role="tool", content=SUNNY, additional_kwargs={"tool_call_id": call.tool_id}))
        second, two = asked(ask([WEATHER], chat_history=messages, **more), task["stream"])
        expect("sunny" in (second.message.content or ""), "the answer to the tool results")
        return add(add(Seen(), one), two)

    return run


cases = {}
for name, (route, model) in MODELS.items():
    cases[f"{name}: text"] = (route, BOTH, text(model))
    cases[f"{name}: tool loop"] = (route, BOTH, tools(model))
serve(
    "LlamaIndex (Python)",
    "llama-index-core",
    cases,
    also=["llama-index-llms-openai-like", "llama-index-llms-openai"],
)
