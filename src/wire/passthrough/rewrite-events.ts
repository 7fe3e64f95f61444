/** Complete frames with some of their events written again. */
import { isObject, type JsonObject } from '../../lib/json.ts';
import { eventName, FrameSplitter, parsedData } from '../sse.ts';
import { dataFrame, eventFrame } from '../translate/answer-writing.ts';
import { EditList } from './observer.ts';

const CARRIAGE_RETURN = 0x0d;
const LINE_FEED = Buffer.from('\n');

/** `rewrite`: the event as it should be, or null where it stays. */
export function rewriteEvents(frames: Buffer, rewrite: (event: JsonObject) => JsonObject | null): Buffer {
  const splitter = new FrameSplitter();
  const edits = new EditList();
  // A carriage return at the end could still become a line end of two characters.
  const bytes = frames.at(-1) === CARRIAGE_RETURN ? Buffer.concat([frames, LINE_FEED]) : frames;
  splitter.feed(bytes);
  while (splitter.next()) {
    const event = splitter.dataLines === 0 ? null : parsedData(splitter);
    const written = isObject(event) ? rewrite(event) : null;
    if (written === null) continue;
    const name = eventName(splitter);
    const frame = name === '' ? dataFrame(written) : eventFrame(name, written);
    edits.replace(splitter.start, splitter.end, Buffer.from(frame));
  }
  return edits.apply(bytes, 0, bytes.length);
}
