/** Credits in a currency, for people to read: rounded to its smallest unit. What counts are the credits. */
const NANOS = 1_000_000_000n;

export class Currency {
  readonly code: string;
  /** What one credit costs, in billionths of the currency. */
  readonly creditPriceNanos: bigint;
  readonly #decimals: number;

  /** `code`: three capital letters. */
  constructor(code: string, creditPriceNanos: bigint) {
    this.code = code;
    this.creditPriceNanos = creditPriceNanos;
    const { maximumFractionDigits = 2 } = new Intl.NumberFormat('en', {
      style: 'currency',
      currency: code,
    }).resolvedOptions();
    this.#decimals = maximumFractionDigits;
  }

  /** Half a unit is rounded away from zero. Null stays null. */
  text(creditNanos: bigint): string;
  text(creditNanos: bigint | null): string | null;
  text(creditNanos: bigint | null): string | null {
    if (creditNanos === null) return null;
    const size = (creditNanos < 0n ? -creditNanos : creditNanos) * this.creditPriceNanos;
    const unit = (NANOS * NANOS) / 10n ** BigInt(this.#decimals);
    const units = (size + unit / 2n) / unit;
    const digits = String(units).padStart(this.#decimals + 1, '0');
    const whole = digits.slice(0, digits.length - this.#decimals);
    const rest = digits.slice(digits.length - this.#decimals);
    return `${creditNanos < 0n && units > 0n ? '-' : ''}${whole}${rest === '' ? '' : `.${rest}`}`;
  }
}
