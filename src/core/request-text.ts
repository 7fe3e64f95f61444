/**
 * What may be kept of a message about a request. The gateway's own sentences name what a client has sent: in quotation
 * marks, or as the path of a field. Names are kept; whatever else is there could be a part of the conversation, and is not.
 */
const MESSAGE_CHARACTERS_MAX = 300;
const LEFT_OUT = '[…]';

const NAME = /^[\w./:@+-]{1,100}$/;
const PATH = /^[\w./:@+[\]-]{1,200}$/;

/** A name that the client has given, such as the type of a tool; a name is not a sentence. */
export function shownName(text: string): string {
  return NAME.test(text) ? text : LEFT_OUT;
}

/** `param`: the field that the message is about, whose name can be the client's own. */
export function keptMessage(message: string, param: string | null = null): string {
  const about = param === null || param === '' || PATH.test(param) ? message : message.replaceAll(param, LEFT_OUT);
  const safe = withoutKeys(withoutQuoted(about));
  return safe.length <= MESSAGE_CHARACTERS_MAX ? safe : `${safe.slice(0, MESSAGE_CHARACTERS_MAX - 1)}…`;
}

/** From the first quotation mark to the last: what is quoted may have some of its own. */
function withoutQuoted(message: string): string {
  const from = message.indexOf('"') + 1;
  if (from === 0) return message;
  const last = message.lastIndexOf('"');
  const to = last < from ? message.length : last;
  return message.slice(0, from) + shownName(message.slice(from, to)) + message.slice(to);
}

const KEY_LIKE = /(?:mg_[ct]_|sk-)[\w-]{8,}/g;

/** An API key that was put into the wrong place, such as the name of the model. */
export function withoutKeys(text: string): string {
  return text.includes('mg_') || text.includes('sk-') ? text.replace(KEY_LIKE, '[redacted]') : text;
}
