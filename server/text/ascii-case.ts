// The case of ASCII letters, and of no others.

/**
 * Text with its ASCII letters in lower case. Other alphabets have letters whose lower case is an ASCII letter, such as the
 * Kelvin sign (U+212A), so that two different addresses would be the same.
 */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())
