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
WHOLE = ["whole"]
STREAMED = ["streamed"]
LONG = "A long story. [[tokens=2000]] [[delay=20]]"
SLOW = "Tell me something. [[tokens=30]] [[delay=20]]"


class Seen:
    """Adds what each answer of a scenario reports."""

    def __init__(self):
        self.input = self.output = self.answers = 0
        self.is_cut = False

    def cut(self):
        """The client went before the end, so that it cannot know what it is charged."""
        self.is_cut = True
        return self

    def add(self, input_tokens, output_tokens):
        self.input += input_tokens
        self.output += output_tokens
        self.answers += 1
        return self


def expect(condition, what):
    if not condition:
        raise AssertionError(f"unexpected: {what}")


def failure(call):
    """The error that a call ends with."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("unexpected: an answer where an error is due")


def check_errors(sdk, ask):
    """What an SDK makes of errors: its classes, their request ids, and how often it asks. `ask(options, body)` is to fail."""

    def tried(options=None, **body):
        # Only the SDKs' own environment has it.
        import httpx2

        sent = []
        http = httpx2.Client(event_hooks={"request": [sent.append]})
        error = failure(lambda: ask({"http_client": http, **(options or {})}, body))
        expect(error.request_id.startswith("req_"), "the request id of an error")
        return error, len(sent)

    unknown, once = tried(model="no/such")
    expect(isinstance(unknown, sdk.NotFoundError) and "not in the catalog" in str(unknown), "NotFoundError")
    expect(isinstance(tried(messages=[])[0], sdk.BadRequestError), "BadRequestError")
    expect(isinstance(tried({"api_key": "mg_c_wrong"})[0], sdk.AuthenticationError), "AuthenticationError")
    down, often = tried(messages=[{"role": "user", "content": "Hello [[status=500]]"}])
    expect(isinstance(down, sdk.InternalServerError), "InternalServerError")
    expect((once, often) == (1, 3), f"one request for what stays wrong, three for what may pass: {once}, {often}")


def say(line):
    print(json.dumps(line, separators=(",", ":")), flush=True)


def restarted():
    """The runner stops the gateway and starts it again on its data, at the same address."""
    say({"restart": True})
    sys.stdin.readline()


def serve(client, package, cases, also=()):
    """`cases`: name -> (route, modes, function of a task[, provider whose models alone it is for[, whether it asks for a
    restart]]); `also`: packages whose versions are told too."""

    others = ", ".join(f"{name} {version(name)}" for name in also)
    versions = f"{version(package)} ({others})" if others else version(package)
    announced = [
        {"name": name, "route": route, "modes": modes, "provider": (rest or [None])[0], "restarts": True in rest}
        for name, (route, modes, _, *rest) in cases.items()
    ]
    say({"client": client, "version": versions, "cases": announced})
    for line in iter(sys.stdin.readline, ""):
        task = json.loads(line)
        try:
            seen = cases[task["case"]][2](task)
            told = {"input": seen.input, "output": seen.output, "answers": seen.answers, "isCut": seen.is_cut}
            say({"ok": True, **told})
        except Exception as error:  # Whatever it is, the runner is told.
            say({"ok": False, "name": type(error).__name__, "message": str(error)})
