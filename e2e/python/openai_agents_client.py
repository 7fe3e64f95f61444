import asyncio

from agents import Agent, ModelSettings, OpenAIProvider, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled

from protocol import BOTH, SUNNY, Seen, expect, serve

set_tracing_disabled(True)
# Its clients keep connections, which belong to one loop.
loop = asyncio.new_event_loop()


@function_tool
def get_weather(city: str) -> str:
    """The weather of a city"""
    return SUNNY


async def ended(task, responses, prompt, tools, session=None):
    provider = OpenAIProvider(api_key=task["key"], base_url=task["baseUrl"], use_responses=responses)
    # Its streams of chat do not ask for their usage otherwise.
    settings = ModelSettings(include_usage=True)
    agent = Agent(name="A", model=task["model"], tools=tools, model_settings=settings)
    config = RunConfig(model_provider=provider)
    if not task["stream"]:
        return await Runner.run(agent, prompt, session=session, run_config=config)
    result = Runner.run_streamed(agent, prompt, session=session, run_config=config)
    async for _ in result.stream_events():
        pass
    return result


def seen(*results):
    total = Seen()
    for result in results:
        usage = result.context_wrapper.usage
        total.add(usage.input_tokens, usage.output_tokens)
    return total


def text(responses):
    return lambda task: seen(loop.run_until_complete(ended(task, responses, task["text"], [])))


def turns(responses):
    async def run(task):
        session = SQLiteSession("s", ":memory:")
        first = await ended(task, responses, "the weather, please [[tool=2]]", [get_weather], session)
        expect("sunny" in first.final_output, "the answer to the tool results")
        second = await ended(task, responses, "and tomorrow?", [get_weather], session)
        return seen(first, second)

    return lambda task: loop.run_until_complete(run(task))


cases = {}
for route, responses in (("responses", True), ("chat", False)):
    cases[f"{route}: text"] = (route, BOTH, text(responses))
    cases[f"{route}: tools and a session of two turns"] = (route, BOTH, turns(responses))
serve("OpenAI Agents (Python)", "openai-agents", cases)
