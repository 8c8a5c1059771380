// Numbers as Haskell's `Scientific` prints them, for PostgREST's configuration dump and coercions.

/** `80` -> `80.0`, `1e7` -> `1.0e7`, `0.05` -> `5.0e-2`. */
export function haskellNumber(number: number): string {
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const withPoint = (digits: string): string => (digits.includes('.') ? digits : `${digits}.0`)
  const power = Number(exponent)
  return power >= -1 && power <= 6 ? withPoint(String(number)) : `${withPoint(mantissa)}e${power}`
}
