/** Exact fractions, for the way from a decimal price in a file to integers in the ledger. */
export interface Rational {
  readonly numerator: bigint;
  /** Always positive; the fraction is in lowest terms. */
  readonly denominator: bigint;
}

export function rational(numerator: bigint, denominator = 1n): Rational {
  if (denominator <= 0n) throw new RangeError('a denominator must be positive');
  const divisor = greatestCommonDivisor(numerator < 0n ? -numerator : numerator, denominator);
  return { numerator: numerator / divisor, denominator: denominator / divisor };
}

/**
 * The decimal that was written. A double prints as the shortest decimal that reads back as the same double, so a
 * price of up to 15 significant digits comes out exactly as its author typed it.
 */
export function rationalFromDecimal(value: number): Rational {
  const match = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
  if (!match) throw new RangeError(`not a finite number: ${value}`);
  const [, sign = '', whole = '0', fraction = '', exponent = '0'] = match;
  const digits = BigInt(whole + fraction) * (sign === '-' ? -1n : 1n);
  const shift = Number(exponent) - fraction.length;
  return shift >= 0 ? rational(digits * 10n ** BigInt(shift)) : rational(digits, 10n ** BigInt(-shift));
}

export function multiply(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator);
}

/** `b` must be positive. */
export function divide(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator, a.denominator * b.numerator);
}

/** For showing only: the nearest double of a non-negative decimal fraction (a denominator that divides a power of ten). */
export function decimalNumber({ numerator, denominator }: Rational): number {
  let decimals = 0;
  let scale = 1n;
  while (scale % denominator !== 0n) {
    decimals += 1;
    scale *= 10n;
    if (decimals > 1000) throw new RangeError('not a decimal fraction');
  }
  return Number(`${numerator * (scale / denominator)}e-${decimals}`);
}

export function leastCommonMultiple(a: bigint, b: bigint): bigint {
  return (a / greatestCommonDivisor(a, b)) * b;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
