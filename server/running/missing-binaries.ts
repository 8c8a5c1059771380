// A warning at the start about native packages that are not installed.
import type { ServiceName } from '../config/config.ts'
import { signsIn } from '../config/signing-in.ts'
import { requireArgon2 } from '../services/accounts/native-hashes.ts'

/** A warning if passwords cannot be hashed here, but a service needs it. */
export function missingBinaries(
  services: readonly ServiceName[],
  requireBinary: () => void = requireArgon2,
): readonly string[] {
  if (!signsIn(services)) return []
  try {
    requireBinary()
    return []
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return [`Passwords cannot be hashed: ${reason}. Sign-ins and sign-ups with passwords respond with 500`]
  }
}
