import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A machine without a desktop has no system font worth the name: the one in the browser's package stands for it. */
export function fontsFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'fonts-')), 'fonts.conf');
  const alias = (family: string, font: string): string =>
    `<match><test name="family"><string>${family}</string></test><edit name="family" mode="assign" binding="strong"><string>${font}</string></edit></match>`;
  const families = [
    ...['system-ui', 'ui-sans-serif', 'sans-serif'].map((family) => alias(family, 'Open Sans')),
    ...['ui-monospace', 'monospace'].map((family) => alias(family, 'DejaVu Sans Mono')),
  ].join('');
  writeFileSync(
    file,
    `<?xml version="1.0"?><fontconfig><dir>${tmpdir()}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>${tmpdir()}/fonts-cache</cachedir>${families}</fontconfig>`,
  );
  return file;
}
