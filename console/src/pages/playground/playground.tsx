/** The playground: try a model, or two side by side, and see what it holds, what it charges, and how to send the same. */
import {
  Anchor,
  Button,
  Checkbox,
  Collapse,
  FileButton,
  PasswordInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Tabs,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { call } from '../../api/client.ts';
import { useModels } from '../../api/models.ts';
import { Code } from '../../ui/code.tsx';
import { useFilters } from '../../ui/filters.tsx';
import { headlineCredits, nanosOf } from '../../ui/format.ts';
import { IconCross } from '../../ui/icons.tsx';
import { Failure, Page, Section } from '../../ui/page.tsx';
import { Answers, type Run } from './answers.tsx';
import { curlOf, sdkOf } from './code.ts';
import { type Body, bodyOf, type Draft, type Format, NEW } from './draft.ts';
import css from './playground.module.css';
import { send } from './send.ts';

const IMAGE_BYTES_MAX = 5_000_000;
const FORMATS = [
  { value: 'chat', label: 'Chat' },
  { value: 'responses', label: 'Responses' },
  { value: 'messages', label: 'Messages' },
];

function usePlayground() {
  return useQuery({
    queryKey: ['playground'],
    queryFn: ({ signal }) => call('get', '/admin/v1/playground', { signal }),
  });
}

export function PlaygroundPage() {
  const { data: state, error } = usePlayground();
  return (
    <Page
      title="Playground"
      wide
      answer={
        state && (
          <>
            <strong className="num">{headlineCredits(nanosOf(state.left_today))} credits</strong> left of the{' '}
            {headlineCredits(nanosOf(state.daily_credit))} that it may spend today. Its requests go through the gateway
            as those of any client: held, charged and logged.
          </>
        )
      }
    >
      <Failure error={error} />
      <Workbench baseUrl={state?.base_url ?? ''} origin={state?.origin ?? ''} />
    </Page>
  );
}

function Workbench({ baseUrl, origin }: { baseUrl: string; origin: string }) {
  const { filters } = useFilters(['model'] as const);
  const models = useModels().data ?? [];
  const [draft, setDraft] = useState<Draft>({ ...NEW, models: filters.model === undefined ? [] : [filters.model] });
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const { runs, run, stop } = useRuns();
  const set = (part: Partial<Draft>): void => setDraft({ ...draft, ...part });
  const [first = models[0]?.id ?? '', second = null] = draft.models;
  const wanted = second === null ? [first] : [first, second];
  const running = runs.some(({ state }) => state === 'running');
  const submit = (event?: FormEvent): void => {
    event?.preventDefault();
    const bodies = wanted.map((model) => bodyOf(draft, model));
    const wrong =
      draft.prompt.trim() === '' ? 'Write a message first.' : bodies.find((body) => typeof body === 'string');
    setProblem(typeof wrong === 'string' ? wrong : null);
    if (wrong !== undefined) return;
    run(draft.format, wanted, bodies as Body[], key.trim() === '' ? null : key.trim());
  };
  const body = bodyOf(draft, first);
  return (
    <>
      <form className={css.bench} onSubmit={submit} noValidate>
        <Setup draft={draft} set={set} models={models.map(({ id }) => id)} secretKey={key} setKey={setKey} />
        <div className={css.message}>
          <Textarea
            label="Message"
            placeholder="Ask something. Ctrl Enter sends it."
            autosize
            minRows={6}
            maxRows={18}
            data-autofocus
            value={draft.prompt}
            onChange={(event) => set({ prompt: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
            }}
          />
          <Images draft={draft} set={set} onProblem={setProblem} />
          <Failure error={problem} />
          <div className={css.buttons}>
            <Checkbox
              label="Stream"
              size="xs"
              checked={draft.stream}
              onChange={(event) => set({ stream: event.currentTarget.checked })}
            />
            {running ? (
              <Button variant="default" onClick={stop}>
                Stop
              </Button>
            ) : (
              <Button type="submit">{second === null ? 'Send' : 'Send to both'}</Button>
            )}
          </div>
        </div>
      </form>
      {runs.length > 0 && <Answers runs={runs} />}
      {typeof body !== 'string' && (
        <Section title="The same request" note="Exactly as it is sent, with your own key.">
          <Tabs defaultValue="curl" keepMounted={false}>
            <Tabs.List mb="xs" className="tabs">
              <Tabs.Tab value="curl">curl</Tabs.Tab>
              <Tabs.Tab value="sdk">{draft.format === 'messages' ? 'Anthropic SDK' : 'OpenAI SDK'}</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="curl">
              <Code label="curl" text={curlOf(draft.format, body, baseUrl)} />
            </Tabs.Panel>
            <Tabs.Panel value="sdk">
              <Code label="SDK" text={sdkOf(draft.format, body, baseUrl, origin)} />
            </Tabs.Panel>
          </Tabs>
        </Section>
      )}
    </>
  );
}

interface Part {
  readonly draft: Draft;
  readonly set: (part: Partial<Draft>) => void;
}

function Setup({
  draft,
  set,
  models,
  secretKey,
  setKey,
}: Part & { models: readonly string[]; secretKey: string; setKey: (key: string) => void }) {
  const [more, setMore] = useState(false);
  const [first = models[0] ?? null, second = null] = draft.models;
  const choose = (model: string | null, other: string | null): void =>
    set({ models: [model ?? '', ...(other === null ? [] : [other])] });
  return (
    <div className={css.setup}>
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label="Format"
        data={FORMATS}
        value={draft.format}
        onChange={(format) => set({ format: format as Format })}
      />
      <Select
        label="Model"
        searchable
        allowDeselect={false}
        data={[...models]}
        value={first}
        onChange={(model) => choose(model, second)}
      />
      <Select
        label="Compare with"
        placeholder="no other model"
        searchable
        clearable
        data={[...models]}
        value={second}
        onChange={(model) => choose(first, model)}
      />
      <Textarea
        label="System prompt"
        autosize
        minRows={2}
        maxRows={8}
        value={draft.system}
        onChange={(event) => set({ system: event.currentTarget.value })}
      />
      <SimpleGrid cols={2} spacing="sm">
        <TextInput
          label="Maximum output"
          inputMode="numeric"
          placeholder="model’s own"
          value={draft.maxTokens}
          onChange={(event) => set({ maxTokens: event.currentTarget.value })}
        />
        <TextInput
          label="Temperature"
          inputMode="decimal"
          placeholder="default"
          value={draft.temperature}
          onChange={(event) => set({ temperature: event.currentTarget.value })}
        />
      </SimpleGrid>
      <Anchor component="button" type="button" size="sm" ta="left" aria-expanded={more} onClick={() => setMore(!more)}>
        {more ? 'Less' : 'Tools, and another key'}
      </Anchor>
      <Collapse expanded={more}>
        <div className={css.setup}>
          <Textarea
            label="Tools"
            description="A JSON array in the chosen format."
            autosize
            minRows={3}
            maxRows={12}
            className={css.tools}
            value={draft.tools}
            onChange={(event) => set({ tools: event.currentTarget.value })}
          />
          <PasswordInput
            label="Another key"
            description="Used instead of the playground’s own key, with its limits. It is not stored."
            placeholder="An API key"
            autoComplete="off"
            maxLength={200}
            value={secretKey}
            onChange={(event) => setKey(event.currentTarget.value)}
          />
        </div>
      </Collapse>
    </div>
  );
}

function Images({ draft, set, onProblem }: Part & { onProblem: (problem: string | null) => void }) {
  const add = (files: readonly File[]): void => {
    if (files.some(({ size }) => size > IMAGE_BYTES_MAX)) {
      onProblem('An image can have up to 5 MB.');
      return;
    }
    onProblem(null);
    void Promise.all(files.map(read)).then((images) => set({ images: [...draft.images, ...images] }));
  };
  return (
    <div className={css.images}>
      {draft.images.map((image) => (
        <button
          key={image.url}
          type="button"
          className={css.image}
          aria-label={`Remove ${image.name}`}
          onClick={() => set({ images: draft.images.filter((other) => other !== image) })}
        >
          <img src={image.url} alt={image.name} />
          <IconCross size={12} />
        </button>
      ))}
      <FileButton accept="image/png,image/jpeg,image/gif,image/webp" multiple onChange={add}>
        {(props) => (
          <Button {...props} variant="subtle" size="compact-sm" ml={-8}>
            Add an image
          </Button>
        )}
      </FileButton>
    </div>
  );
}

function read(file: File): Promise<{ name: string; url: string }> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: String(reader.result) });
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

const NOT_YET = { text: '', state: 'running', status: null, requestId: null, error: null } as const;

/** One request per model, at the same time. Leaving the page stops them. */
function useRuns() {
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const queries = useQueryClient();
  const stopping = useRef<AbortController | null>(null);
  useEffect(() => () => stopping.current?.abort(), []);
  const run = (format: Format, models: readonly string[], bodies: readonly Body[], key: string | null): void => {
    const abort = new AbortController();
    stopping.current = abort;
    const change = (index: number, part: (before: Run) => Partial<Run>): void =>
      setRuns((all) => all.map((one, at) => (at === index ? { ...one, ...part(one) } : one)));
    setRuns(models.map((model, place) => ({ ...NOT_YET, place, model })));
    for (const [index, body] of bodies.entries()) {
      const say = (text: string): void => change(index, (before) => ({ text: before.text + text }));
      send(format, body, key, say, abort.signal)
        .then((answer) => change(index, () => ({ ...answer, state: 'done' })))
        .catch((error: unknown) =>
          change(index, () => (abort.signal.aborted ? { state: 'stopped' } : { state: 'done', error })),
        )
        // Money has moved: whatever shows balances is renewed.
        .finally(() => void queries.invalidateQueries());
    }
  };
  return { runs, run, stop: () => stopping.current?.abort() };
}
