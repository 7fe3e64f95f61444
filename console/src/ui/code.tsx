/** Text to be pasted somewhere else. */
import css from './code.module.css';
import { Copy } from './values.tsx';

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className={css.code}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
      <section className={css.scroll} tabIndex={0} aria-label={label}>
        <pre>{text}</pre>
      </section>
      <div className={css.copy}>
        <Copy text={text} label={`Copy: ${label}`} />
      </div>
    </div>
  );
}
