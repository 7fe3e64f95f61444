import instructor
from anthropic import Anthropic
from openai import OpenAI
from pydantic import BaseModel

from protocol import WHOLE, Seen, expect, serve


class City(BaseModel):
    city: str


def prompt(task):
    # A count of tokens would add words behind the JSON.
    said = task["text"].replace("[[tokens=25]]", "")
    return [{"role": "user", "content": f"a city [[tool]] {said}"}]


def run(mode):
    def asked(task):
        client = instructor.from_openai(OpenAI(api_key=task["key"], base_url=task["baseUrl"]), mode=mode)
        city, raw = client.chat.completions.create_with_completion(
            model=task["model"], response_model=City, max_retries=0, messages=prompt(task)
        )
        expect(isinstance(city.city, str), "an object of the schema")
        return Seen().add(raw.usage.prompt_tokens, raw.usage.completion_tokens)

    return asked


def messages(task):
    anthropic = Anthropic(api_key=task["key"], auth_token=None, base_url=task["origin"])
    client = instructor.from_anthropic(anthropic, mode=instructor.Mode.ANTHROPIC_TOOLS)
    city, raw = client.messages.create_with_completion(
        model=task["model"], max_tokens=200, response_model=City, max_retries=0, messages=prompt(task)
    )
    expect(isinstance(city.city, str), "an object of the schema")
    return Seen().add(raw.usage.input_tokens, raw.usage.output_tokens)


serve(
    "instructor (Python)",
    "instructor",
    {
        "from_openai: tools": ("chat", WHOLE, run(instructor.Mode.TOOLS)),
        "from_openai: JSON schema": ("chat", WHOLE, run(instructor.Mode.JSON_SCHEMA)),
        "from_anthropic: tools": ("messages", WHOLE, messages),
    },
)
