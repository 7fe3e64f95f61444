/** Stacked bars over time. At most five series and the rest; a bar leads to the requests behind it. */
import { Bar, BarChart, CartesianGrid, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts';
import { tick } from '../../ui/format.ts';
import css from './overview.module.css';

export interface Series {
  readonly id: string;
  readonly name: string;
  readonly color: string;
}

export interface Point {
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

export interface ChartProps {
  readonly label: string;
  readonly points: readonly Point[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  readonly time: (at: number) => string;
  readonly open: (at: number, series: string) => void;
}

export function Chart({ label, points, series, format, time, open }: ChartProps) {
  const data = points.map(({ at, values }) => ({ at, ...values }));
  return (
    <figure className={css.chart} aria-label={label}>
      <ResponsiveContainer width="100%" height={240}>
        <BarChart
          data={data}
          margin={{ top: 8, right: 0, bottom: 0, left: 0 }}
          barCategoryGap="18%"
          accessibilityLayer={false}
        >
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis
            dataKey="at"
            tickFormatter={time}
            tickLine={false}
            axisLine={{ stroke: 'var(--line-strong)' }}
            tick={{ fill: 'var(--text-2)', fontSize: 12 }}
            minTickGap={28}
          />
          <YAxis
            width={52}
            tickFormatter={tick}
            tickLine={false}
            axisLine={false}
            tick={{ fill: 'var(--text-2)', fontSize: 12 }}
          />
          <Tooltip
            isAnimationActive={false}
            cursor={{ fill: 'var(--hover)' }}
            content={({ active, payload, label: at }) =>
              active === true && payload !== undefined && payload.length > 0 ? (
                <div className={css.tip}>
                  <div className={css.tipTime}>{time(Number(at))}</div>
                  {payload
                    .filter(({ value }) => Number(value) > 0)
                    .toReversed()
                    .map(({ dataKey, name, value, color }) => (
                      <div key={String(dataKey)} className={css.tipRow}>
                        <span className={css.swatch} style={{ background: color ?? '' }} />
                        <span>{name}</span>
                        <strong>{format(Number(value))}</strong>
                      </div>
                    ))}
                </div>
              ) : null
            }
          />
          {series.map(({ id, name, color }) => (
            <Bar
              key={id}
              dataKey={id}
              name={name}
              stackId="all"
              fill={color}
              isAnimationActive={false}
              cursor="pointer"
              maxBarSize={36}
              onClick={({ payload }) => open(Number((payload as { at: number }).at), id)}
            />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </figure>
  );
}
