/** The limits that keys and accounts have alike, as fields of a form. */
import { SimpleGrid, TagsInput, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { useModelNames } from '../../api/models.ts';

export interface Limits {
  readonly rpm_limit: string;
  readonly tpm_limit: string;
  readonly parallel_limit: string;
  readonly runs_limit: string;
  readonly output_limit: string;
  readonly models: readonly string[];
  readonly addresses: readonly string[];
}

export const NO_LIMITS: Limits = {
  rpm_limit: '',
  tpm_limit: '',
  parallel_limit: '',
  runs_limit: '',
  output_limit: '',
  models: [],
  addresses: [],
};

interface Limited {
  readonly rpm_limit: number | null;
  readonly tpm_limit: number | null;
  readonly parallel_limit: number | null;
  readonly runs_limit: number | null;
  readonly output_limit: number | null;
  readonly models: readonly string[] | null;
  readonly addresses: readonly string[] | null;
}

export function limitsOf(of: Limited): Limits {
  const text = (value: number | null): string => (value === null ? '' : String(value));
  return {
    rpm_limit: text(of.rpm_limit),
    tpm_limit: text(of.tpm_limit),
    parallel_limit: text(of.parallel_limit),
    runs_limit: text(of.runs_limit),
    output_limit: text(of.output_limit),
    models: of.models ?? [],
    addresses: of.addresses ?? [],
  };
}

/** As the API takes them. */
export function limitSettings(limits: Limits) {
  return {
    rpm_limit: limitOf(limits.rpm_limit),
    tpm_limit: limitOf(limits.tpm_limit),
    parallel_limit: limitOf(limits.parallel_limit),
    runs_limit: limitOf(limits.runs_limit),
    output_limit: limitOf(limits.output_limit),
    models: limits.models.length === 0 ? ('all' as const) : [...limits.models],
    addresses: limits.addresses.length === 0 ? ('any' as const) : [...limits.addresses],
  };
}

export function limitOf(text: string): string {
  return text.trim() === '' ? 'none' : text.trim();
}

/** What a conflict calls them. */
export const LIMIT_NAMES = {
  rpm_limit: 'Requests per minute',
  tpm_limit: 'Tokens per minute',
  parallel_limit: 'Parallel requests',
  runs_limit: 'Background responses at a time',
  output_limit: 'Maximum output',
  models: 'Models',
  addresses: 'Client addresses',
};

interface LimitFieldsProps {
  readonly limits: Limits;
  readonly set: (part: Partial<Limits>) => void;
  readonly at: (field: string) => string | undefined;
  /** More fields, beside those with a number. */
  readonly children?: ReactNode;
}

export function LimitFields({ limits, set, at, children }: LimitFieldsProps) {
  const models = useModelNames();
  const number = (name: 'rpm_limit' | 'tpm_limit' | 'parallel_limit' | 'runs_limit' | 'output_limit') => ({
    label: LIMIT_NAMES[name],
    placeholder: 'no limit',
    inputMode: 'numeric' as const,
    value: limits[name],
    error: at(name),
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => set({ [name]: event.currentTarget.value }),
  });
  return (
    <>
      <SimpleGrid cols={2} spacing="sm">
        <TextInput {...number('rpm_limit')} />
        <TextInput {...number('tpm_limit')} />
        <TextInput {...number('parallel_limit')} />
        <TextInput {...number('runs_limit')} />
        <TextInput
          {...number('output_limit')}
          placeholder="the model’s own"
          rightSection={<span className="muted">tokens</span>}
          rightSectionWidth={60}
        />
        {children}
      </SimpleGrid>
      <TagsInput
        label="Models"
        description="Ids, or patterns such as openai/*."
        placeholder={limits.models.length === 0 ? 'all models' : ''}
        data={[...models]}
        value={[...limits.models]}
        error={at('models')}
        onChange={(chosen) => set({ models: chosen })}
      />
      <TagsInput
        label="Client addresses"
        placeholder={limits.addresses.length === 0 ? 'from anywhere' : '10.0.0.0/8'}
        value={[...limits.addresses]}
        error={at('addresses')}
        onChange={(chosen) => set({ addresses: chosen })}
      />
    </>
  );
}
