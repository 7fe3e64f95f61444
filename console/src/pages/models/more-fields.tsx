/** Fields of the config file that a form has no field for, as JSON. */
import { JsonInput } from '@mantine/core';

/** The fields that a form does not show by themselves. */
export function othersOf(definition: object, shown: readonly string[]): string {
  const others = Object.fromEntries(Object.entries(definition).filter(([field]) => !shown.includes(field)));
  return Object.keys(others).length === 0 ? '' : JSON.stringify(others, null, 2);
}

/** Throws where the text is not a JSON object. */
export function fieldsIn(text: string): Record<string, unknown> {
  if (text.trim() === '') return {};
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('must be a JSON object');
  return { ...value };
}

export function isFields(text: string): boolean {
  try {
    fieldsIn(text);
    return true;
  } catch {
    return false;
  }
}

export function MoreFields({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <JsonInput
      label="More fields"
      description="Everything else that the config file can say of it, as JSON."
      autosize
      minRows={2}
      maxRows={10}
      value={value}
      error={isFields(value) ? undefined : 'must be a JSON object, like { "http2": true }'}
      onChange={onChange}
    />
  );
}
