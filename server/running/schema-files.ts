// The JSON Schemas that apply: those of the program, and those of the user's project.
import type { Config } from '../config/config.ts'
import { readSchemas, readTableSchemas, type SchemaFile } from '../validation/schema-directory.ts'
import { ownSchemas } from '../validation/validator.ts'
import { findProject } from '../config/project.ts'
import { isSchemaOf } from './service-choice.ts'

/**
 * Reads the schemas of the chosen services, and those of the project's tables.
 *
 * @throws Error naming the file that is wrong; ProjectError when a configured folder does not exist
 */
export async function readUsedSchemas(
  config: Pick<Config, 'services' | 'migrationsDir' | 'schemasDir'>,
): Promise<readonly SchemaFile[]> {
  const { schemas } = await findProject(config)
  const own = (await readSchemas(ownSchemas)).filter(isSchemaOf(config.services))
  return schemas === undefined ? own : [...own, ...(await readTableSchemas(schemas))]
}
