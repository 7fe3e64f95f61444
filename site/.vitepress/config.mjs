import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { gatherPages, TOP_PAGES } from '../pages.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const page = (text, name) => ({ text, link: `/docs/${name}` });

gatherPages();

export default defineConfig({
  title: 'Model Gateway',
  description:
    'One HTTP service in front of text-generation models: prepaid keys, exact charges, idempotent generation.',
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: 'node_modules/.cache/vitepress',
  cleanUrls: true,
  lastUpdated: false,
  // Without the extension for attributes: braces at the end of a line or cell are text, such as an error's body.
  markdown: {
    config: extend,
    anchor: { slugify: anchorOf },
    attrs: { disable: true },
    codeTransformers: [{ name: 'unbroken-options', span: keepOption }],
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/README' },
      { text: 'Try', link: '/docs/try/first-customer' },
      { text: 'Connect', link: '/docs/connect/clients' },
      { text: 'Run', link: '/docs/run/configuration' },
      { text: 'Understand', link: '/docs/understand/architecture' },
      { text: 'Changes', link: '/CHANGELOG' },
    ],
    sidebar: [
      {
        text: 'Try',
        items: [
          { text: 'Start', link: '/README' },
          page('All pages', 'README'),
          page('First requests', 'try/first-requests'),
          page('Sell credit to a first customer', 'try/first-customer'),
          page('A team with Claude Code and a budget', 'try/claude-code-team'),
          page('In front of vLLM', 'try/vllm'),
          page('Move from LiteLLM', 'try/from-litellm'),
          page('Two replicas', 'try/two-replicas'),
          page('What to do at 3 a.m.', 'try/at-3-am'),
          page('Sandbox', 'try/sandbox'),
        ],
      },
      {
        text: 'Connect',
        items: [
          { ...page('Clients', 'connect/clients'), collapsed: true, items: clientPages() },
          page('Compatibility', 'connect/compatibility'),
          page('Errors', 'connect/errors'),
          page('WebSocket', 'connect/websocket'),
          page('Translation', 'connect/translation'),
          page('Names of the SDKs', 'connect/sdk-names'),
          page('Models', 'connect/models'),
        ],
      },
      {
        text: 'Run',
        items: [
          page('Configuration', 'run/configuration'),
          page('Prices', 'run/prices'),
          page('Deployment', 'run/deployment'),
          page('Operations', 'run/operations'),
          { text: 'Deployment files', link: '/deploy/README' },
          page('Scaling out', 'run/scaling'),
          page('PostgreSQL in production', 'run/postgres'),
          page('Observability', 'run/observability'),
          page('Alerts', 'run/alerts'),
          page('Console', 'run/console'),
          page('Operators', 'run/operators'),
          page('Accounts', 'run/accounts'),
          page('Statements', 'run/statements'),
          page('Usage reports', 'run/usage'),
          page('Import and export', 'run/import'),
          page('Tasks', 'run/tasks'),
          page('Answers', 'run/answers'),
          { text: 'Security', link: '/SECURITY' },
        ],
      },
      {
        text: 'Understand',
        items: [
          page('Architecture', 'understand/architecture'),
          page('Promises', 'understand/promises'),
          page('Rulings', 'understand/rulings'),
          page('Reliability', 'understand/reliability'),
          page('Holds', 'understand/holds'),
          page('Counting', 'understand/counting'),
          page('Routing', 'understand/routing'),
          page('Performance', 'understand/performance'),
          page('Dependencies', 'understand/dependencies'),
          { text: 'Benchmarks', link: '/bench/README' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
        ],
      },
    ],
  },
});

function extend(md) {
  withoutSourceLinks(md);
  withoutLocalLinks(md);
  withLineBreaks(md);
}

/** Paths, names of settings and JSON may break behind a separator, so that a table fits on its page. */
function withLineBreaks(md) {
  const breaking = (html) => html.replaceAll(/(?<=[^<>\s]{6})([/_=,:.-])(?=[^<>\s]{3})/g, '$1<wbr>');
  const { code_inline: code, text } = md.renderer.rules;
  const whole = '<span class="unbroken">$&</span>';
  md.renderer.rules.code_inline = (...args) =>
    code(...args)
      .replace(/(?<=>)[^<]{24,}/, breaking)
      .replaceAll(/(?<=[\s>])--?[a-zA-Z][\w-]*/g, whole);
  md.renderer.rules.text = (...args) =>
    text(...args)
      .replaceAll(/[^\s<>]{30,}/g, breaking)
      .replaceAll(/\b\d{4}-\d{2}-\d{2}\b/g, whole);
}

/** A browser may break a line behind a hyphen: `--` at its end and `cap` on the next are no option. */
function keepOption(node) {
  const [first] = node.children;
  if (first?.type === 'text' && /^\s*--?[a-zA-Z][\w-]*\s*$/.test(first.value)) this.addClassToHast(node, 'unbroken');
}

/** One for each client, by its heading. */
function clientPages() {
  return readdirSync(join(root, 'docs/connect/clients')).map((name) => {
    const [, heading = name] = /^# (.+)$/m.exec(readFileSync(join(root, 'docs/connect/clients', name), 'utf8')) ?? [];
    return page(heading, `connect/clients/${name.replace(/\.md$/, '')}`);
  });
}

/** The site has no copy of the sources: a link to one of their files becomes its name. */
function withoutSourceLinks(md) {
  md.core.ruler.push('without-source-links', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let closing = 0;
      for (const token of children ?? []) {
        if (token.type === 'link_open' && leadsToSource(token.attrGet('href') ?? '', env.relativePath ?? '')) {
          token.tag = 'span';
          token.attrs = [
            ['class', 'source'],
            ['title', token.attrGet('href') ?? ''],
          ];
          closing += 1;
        } else if (token.type === 'link_close' && closing > 0) {
          token.tag = 'span';
          closing -= 1;
        }
      }
    }
  });
}

/** An address of the reader's own machine inside a text, such as a client's message, leads nowhere. */
function withoutLocalLinks(md) {
  const { validateLink } = md;
  md.validateLink = (url) => !/^https?:\/\/(127\.0\.0\.1|localhost)\b/.test(url) && validateLink(url);
}

function leadsToSource(href, from) {
  if (/^([a-z]+:|#|\/)/.test(href)) return false;
  const [path = ''] = href.split('#');
  const target = join(dirname(from), path);
  if (/^docs\/[\w/-]+\.md$/.test(target) || TOP_PAGES.includes(target)) return false;
  if (!existsSync(join(root, target))) throw new Error(`${from} has a link to ${target}, which does not exist`);
  return true;
}

/** As GitHub makes the anchors of headings, for which the links of the pages are written. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
