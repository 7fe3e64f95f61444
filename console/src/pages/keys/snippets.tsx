/** Ready to paste, with the address and the key in them. */
import { Tabs } from '@mantine/core';
import { Code } from '../../ui/code.tsx';

interface Access {
  /** For clients of the OpenAI API. */
  readonly baseUrl: string;
  /** For clients of the Anthropic API, which append /v1/messages themselves. */
  readonly origin: string;
  readonly secret: string;
  readonly model: string;
}

const SNIPPETS: readonly { id: string; name: string; text: (access: Access) => string }[] = [
  {
    id: 'curl',
    name: 'curl',
    text: ({ baseUrl, secret, model }) => `curl ${baseUrl}/chat/completions \\
  -H 'Authorization: Bearer ${secret}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'`,
  },
  {
    id: 'openai',
    name: 'OpenAI SDK',
    text: ({ baseUrl, secret, model }) => `import OpenAI from 'openai';

const client = new OpenAI({
  baseURL: '${baseUrl}',
  apiKey: '${secret}',
});

const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.choices[0].message.content);`,
  },
  {
    id: 'anthropic',
    name: 'Anthropic SDK',
    text: ({ origin, secret, model }) => `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({
  baseURL: '${origin}',
  apiKey: '${secret}',
});

const answer = await client.messages.create({
  model: '${model}',
  max_tokens: 1024,
  messages: [{ role: 'user', content: 'Hello!' }],
});
console.log(answer.content);`,
  },
  {
    id: 'claude',
    name: 'Claude Code',
    text: ({ origin, secret }) => `export ANTHROPIC_BASE_URL='${origin}'
export ANTHROPIC_AUTH_TOKEN='${secret}'
export CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1
claude`,
  },
  {
    id: 'codex',
    name: 'Codex',
    text: ({ baseUrl, secret, model }) => `# ~/.codex/config.toml
model = "${model}"
model_provider = "gateway"

[model_providers.gateway]
name = "Model Gateway"
base_url = "${baseUrl}"
env_key = "GATEWAY_KEY"
wire_api = "responses"

# then, in the shell:
export GATEWAY_KEY='${secret}'
codex`,
  },
];

export function Snippets(access: Access) {
  return (
    <Tabs defaultValue="curl" keepMounted={false}>
      <Tabs.List mb="xs" className="tabs">
        {SNIPPETS.map(({ id, name }) => (
          <Tabs.Tab key={id} value={id} fz={13}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {SNIPPETS.map(({ id, name, text }) => (
        <Tabs.Panel key={id} value={id}>
          <Code text={text(access)} label={name} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
