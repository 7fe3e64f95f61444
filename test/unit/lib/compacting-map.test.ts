/** Collections for what comes and goes with every request: right, and without keeping what has left. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { CompactingMap } from '../../../src/lib/compacting-map.ts';
import { LinkedList, type Node } from '../../../src/lib/linked-list.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void;

const MEMBERS = 1_000;
const MEMBER_BYTES = 8_000;

interface Member {
  readonly content: readonly number[];
}

const member = (): Member => ({ content: new Array<number>(MEMBER_BYTES / 8).fill(0) });

/** The part of what passed through a collection, old already, that a collection of young garbage cannot free. */
function keptShare(pass: (member: Member) => void): number {
  for (let i = 0; i < 50; i++) pass(member());
  collect();
  const beforeBytes = getHeapStatistics().used_heap_size;
  for (let i = 0; i < MEMBERS; i++) pass(member());
  for (let i = 0; i < 3; i++) collect({ type: 'minor' });
  return (getHeapStatistics().used_heap_size - beforeBytes) / (MEMBERS * MEMBER_BYTES);
}

describe('LinkedList', () => {
  test('keeps the order of arrival, whatever is removed', () => {
    const list = new LinkedList<string>();
    const [a, b, c] = ['a', 'b', 'c'].map((name) => list.add(name));
    assert.ok(a && b && c);
    list.remove(b);
    assert.deepEqual([list.values(), list.size], [['a', 'c'], 2]);
    list.remove(a);
    list.add('d');
    assert.deepEqual(list.values(), ['c', 'd']);
    list.remove(c);
    assert.deepEqual([list.values(), list.size], [['d'], 1]);
  });

  test('what was removed is young garbage; with a plain Set it is not, which is why this class exists', () => {
    const list = new LinkedList<Member>();
    const nodes: Node<Member>[] = [];
    const kept = keptShare((one) => {
      nodes.push(list.add(one));
      const first = nodes.length > 16 ? nodes.shift() : undefined;
      if (first) list.remove(first);
    });
    const set = new Set<Member>();
    const plain = keptShare((one) => {
      set.add(one);
      const [first] = set;
      if (first && set.size > 16) set.delete(first);
    });
    assert.ok(kept < 0.1 && plain > 0.9, `${kept} was kept, and ${plain} by a plain Set`);
  });
});

describe('CompactingMap', () => {
  test('is a map through all its moves', () => {
    const map = new CompactingMap<number, string>([[-1, 'first']]);
    for (let i = 0; i < 1_000; i++) {
      map.set(i, `${i}`);
      if (i >= 3) map.delete(i - 3);
      map.delete(12_345);
    }
    assert.deepEqual([[...map.values()], map.size], [['first', '997', '998', '999'], 4]);
    assert.deepEqual([map.get(998), map.get(996)], ['998', undefined]);
  });

  test('what was deleted is young garbage; with a plain Map it is not, which is why this class exists', () => {
    const through = (map: { set(key: number, value: Member): unknown; delete(key: number): unknown }): number => {
      let count = 0;
      return keptShare((one) => {
        map.set(count, one);
        map.delete(count - 16);
        count += 1;
      });
    };
    const [compacting, plain] = [through(new CompactingMap()), through(new Map())];
    assert.ok(compacting < 0.1 && plain > 0.9, `${compacting} was kept, and ${plain} by a plain Map`);
  });
});
