/** Used, held and left on one line. */
import css from './meter.module.css';

export function Meter({
  all,
  used,
  held,
  texts,
}: {
  all: number;
  used: number;
  held: number;
  texts: { readonly used: string; readonly held: string; readonly left: string };
}) {
  const share = (value: number): string => `${Math.min(100, Math.max(0, (value / all) * 100))}%`;
  return (
    <>
      <div className={css.meter} aria-hidden="true">
        <span className={css.used} style={{ width: share(used) }} />
        <span className={css.held} style={{ width: share(held) }} />
      </div>
      <div className={css.legend}>
        <span>
          <span className={`${css.swatch} ${css.used}`} />
          Used <strong className="num">{texts.used}</strong>
        </span>
        <span>
          <span className={`${css.swatch} ${css.held}`} />
          Held <strong className="num">{texts.held}</strong>
        </span>
        <span>
          Left <strong className="num">{texts.left}</strong>
        </span>
      </div>
    </>
  );
}
