import instructor
from openai import OpenAI
from pydantic import BaseModel

from protocol import Seen, expect, serve


class City(BaseModel):
    city: str


def run(mode):
    def asked(task):
        # A count of tokens would add words behind the JSON.
        said = task["text"].replace("[[tokens=25]]", "")
        client = instructor.from_openai(OpenAI(api_key=task["key"], base_url=task["baseUrl"]), mode=mode)
        city, raw = client.chat.completions.create_with_completion(
            model=task["model"],
            response_model=City,
            max_retries=0,
            messages=[{"role": "user", "content": f"a city [[tool]] {said}"}],
        )
        expect(isinstance(city.city, str), "an object of the schema")
        return Seen().add(raw.usage.prompt_tokens, raw.usage.completion_tokens)

    return asked


serve(
    "instructor (Python)",
    "instructor",
    {
        "from_openai: tools": ("chat", ["whole"], run(instructor.Mode.TOOLS)),
        "from_openai: JSON schema": ("chat", ["whole"], run(instructor.Mode.JSON_SCHEMA)),
    },
)
