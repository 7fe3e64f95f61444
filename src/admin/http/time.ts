/** Times that an operator gives. */

const ISO_TIME = /^(\d{4}-\d{2}-\d{2})(?:T(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/;

/** UTC where no zone is given; null where it is not a time. */
export function readTime(text: string): number | null {
  const [, date = '', time = '00:00', zone = 'Z'] = ISO_TIME.exec(text) ?? [];
  const dayMs = Date.parse(`${date}T00:00Z`);
  const atMs = Date.parse(`${date}T${time}${zone}`);
  // Date.parse turns February 30 into March 2; the operator meant something else.
  const exists = !Number.isNaN(dayMs) && new Date(dayMs).toISOString().startsWith(date);
  return !exists || Number.isNaN(atMs) ? null : atMs;
}
