/** An MCP server on its standard input and output. Its second tool is there only once the first one was used. */
import { createInterface } from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const tool = (name, description) => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { how: { type: 'string' } }, required: ['how'] },
});
const tools = [tool('open_drawer', 'Opens the drawer, in which there may be other tools.')];
/** How often the drawer was opened: with the second time there is nothing new. */
let opened = 0;
/** A call that is answered once the client has seen the tools that came with it. */
let waiting = null;

const ANSWERS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'house', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ name, arguments: { how } }) => ({ content: [{ type: 'text', text: `${name} was done ${how}` }] }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = { id, result: ANSWERS[method]?.(params) ?? {} };
  if (method === 'tools/call' && params.name === 'open_drawer' && ++opened === 1) {
    tools.push(tool('take_pen', 'Takes the pen out of the drawer that was opened.'));
    say({ method: 'notifications/tools/list_changed' });
    waiting = answer;
    continue;
  }
  say(answer);
  if (method === 'tools/list' && waiting !== null) {
    say(waiting);
    waiting = null;
  }
}
