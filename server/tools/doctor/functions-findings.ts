// Functions that do not compile, that anyone may call, or that lack the keys of the server.
import type { Config } from '../../config/config.ts'
import { tokenSigningKey } from '../../identity/jwt/key-set.ts'
import type { CheckedFunction } from '../functions/checked-functions.ts'
import { CommandError } from '../command-line/command-error.ts'
import type { DoctorFinding } from './finding.ts'

/** @param env variables of the server */
export async function functionsFindings(
  config: Config,
  isEmbedded: boolean,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<DoctorFinding[]> {
  if (!config.services.includes('functions')) return []
  const { checkFunctions } = await import('../functions/checked-functions.ts')
  try {
    const { functions } = await checkFunctions(config, env)
    return [
      ...(config.functionsUrl === null ? functions.flatMap(faultOf) : []),
      ...functions.flatMap(openDoorOf),
      ...(functions.length > 0 && !isEmbedded ? missingKeys(config) : []),
    ]
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    return [
      {
        area: 'functions',
        code: 'functions_unreadable',
        level: 'ERROR',
        subject: 'FUNCTIONS_DIR',
        what: error.message,
        why: 'All calls of functions get 503.',
        advice: 'Correct the file or the setting.',
      },
    ]
  }
}

const faultOf = ({ name, fault }: CheckedFunction): readonly DoctorFinding[] =>
  fault === null
    ? []
    : [
        {
          area: 'functions',
          code: 'function_does_not_compile',
          level: 'ERROR',
          subject: name,
          what: fault,
          why: 'Calls of this function get 503.',
          advice: 'Correct the file, or install the package that it names.',
        },
      ]

const openDoorOf = ({ name, verifyJwt }: CheckedFunction): readonly DoctorFinding[] =>
  verifyJwt
    ? []
    : [
        {
          area: 'functions',
          code: 'function_without_token',
          level: 'INFO',
          subject: name,
          what: 'verify_jwt is false.',
          why: 'Anyone may call this function, which must verify its callers itself, such as by a signature.',
          advice: 'Check that it does, or remove verify_jwt from config.toml.',
        },
      ]

/** With a key that signs, the server makes tokens for functions. */
const missingKeys = (config: Config): readonly DoctorFinding[] =>
  (config.functionsAnonKey !== null && config.functionsServiceRoleKey !== null) || tokenSigningKey(config) !== undefined
    ? []
    : [
        {
          area: 'functions',
          code: 'functions_without_keys',
          level: 'WARN',
          subject: 'FUNCTIONS_ANON_KEY, FUNCTIONS_SERVICE_ROLE_KEY',
          what: 'They are not set, and the server has no key that signs tokens.',
          why: 'SUPABASE_ANON_KEY and SUPABASE_SERVICE_ROLE_KEY are missing in the environment of functions.',
          advice: 'Create API keys with `rowhouse keys create`, and set both.',
        },
      ]
