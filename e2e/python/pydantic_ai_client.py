from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from protocol import BOTH, SUNNY, Seen, expect, serve


class City(BaseModel):
    city: str


def openai(task):
    return OpenAIProvider(base_url=task["baseUrl"], api_key=task["key"])


def anthropic(task):
    return AnthropicProvider(base_url=task["origin"], api_key=task["key"])


MODELS = {
    "OpenAIChatModel": ("chat", lambda task: OpenAIChatModel(task["model"], provider=openai(task))),
    "OpenAIResponsesModel": ("responses", lambda task: OpenAIResponsesModel(task["model"], provider=openai(task))),
    "AnthropicModel": ("messages", lambda task: AnthropicModel(task["model"], provider=anthropic(task))),
}


def ended(agent, prompt, stream):
    if not stream:
        return agent.run_sync(prompt)
    result = agent.run_stream_sync(prompt)
    for _ in result.stream_text(delta=True):
        pass
    return result


def usage_of(result):
    return Seen().add(result.usage.input_tokens, result.usage.output_tokens)


def text(model):
    return lambda task: usage_of(ended(Agent(model(task)), task["text"], task["stream"]))


def tools(model):
    def run(task):
        agent = Agent(model(task))

        @agent.tool_plain
        def get_weather(city: str) -> str:
            """The weather of a city"""
            return SUNNY

        result = ended(agent, "the weather, please [[tool=2]]", task["stream"])
        said = result.get_output() if task["stream"] else result.output
        expect("sunny" in said, "the answer to the tool results")
        return usage_of(result)

    return run


def structured(model):
    def run(task):
        result = Agent(model(task), output_type=City).run_sync("a city [[tool]]")
        expect(isinstance(result.output.city, str), "an object of the schema")
        return usage_of(result)

    return run


cases = {}
for name, (route, model) in MODELS.items():
    cases[f"{name}: text"] = (route, BOTH, text(model))
    cases[f"{name}: tool loop"] = (route, BOTH, tools(model))
    cases[f"{name}: structured output"] = (route, ["whole"], structured(model))
serve("pydantic-ai (Python)", "pydantic-ai-slim", cases)
