// Signatures of new credentials.

/** ES256, EdDSA and RS256, which all authenticators have one of. https://www.iana.org/assignments/cose */
export const signatureAlgorithms = [-7, -8, -257] as const
