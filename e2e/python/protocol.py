"""How a client program talks with the runner: one JSON object a line; see ../clients/protocol.mjs."""

import json
import sys
from importlib.metadata import version

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SUNNY = "sunny in the city"
BOTH = ["whole", "streamed"]


class Seen:
    """Adds what each answer of a scenario reports."""

    def __init__(self):
        self.input = self.output = self.answers = 0

    def add(self, input_tokens, output_tokens):
        self.input += input_tokens
        self.output += output_tokens
        self.answers += 1
        return self


def expect(condition, what):
    if not condition:
        raise AssertionError(f"unexpected: {what}")


def serve(client, package, cases, also=()):
    """`cases`: name -> (route, modes, function of a task); `also`: packages whose versions are told too."""

    def say(line):
        print(json.dumps(line, separators=(",", ":")), flush=True)

    others = ", ".join(f"{name} {version(name)}" for name in also)
    versions = f"{version(package)} ({others})" if others else version(package)
    announced = [{"name": name, "route": route, "modes": modes} for name, (route, modes, _) in cases.items()]
    say({"client": client, "version": versions, "cases": announced})
    for line in sys.stdin:
        task = json.loads(line)
        try:
            seen = cases[task["case"]][2](task)
            say({"ok": True, "input": seen.input, "output": seen.output, "answers": seen.answers})
        except Exception as error:  # Whatever it is, the runner is told.
            say({"ok": False, "name": type(error).__name__, "message": str(error)})
