import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import type { TeamsEdition } from '../../adapters/teams/manifest.ts'
import { packagePath } from '../../src/config/package-path.ts'

const FILES = {
  published: 'test/vectors/teams/manifest-schema-1.19.json',
  preview: 'test/vectors/teams/manifest-schema-dev-preview.json',
} as const

/** Microsoft's schema in the hands of a complete validator. It calls its dialect draft 4, and uses words of later ones. */
export function compiledManifestSchema(edition: TeamsEdition): ValidateFunction {
  const { $schema: _, ...schema } = JSON.parse(readFileSync(packagePath(FILES[edition]), 'utf8'))
  return new Ajv({
    strict: false,
    allErrors: true,
    formats: { uri: (text: string) => URL.canParse(text) },
  }).compile(schema)
}
