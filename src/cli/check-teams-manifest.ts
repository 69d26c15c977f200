import { readFileSync } from 'node:fs'
import { z } from 'zod'
import type { TeamsEdition } from '../../adapters/teams/manifest.ts'
import { packagePath } from '../config/package-path.ts'

const FILES: Record<TeamsEdition, string> = {
  published: 'deploy/teams/manifest-schema-1.19.json',
  preview: 'deploy/teams/manifest-schema-dev-preview.json',
}

/**
 * Holds a manifest against Microsoft's published schema, kept in `deploy/teams`. By zod, which is there anyway; it does not
 * know every keyword that the schema uses, so it is given only the part that speaks of what this manifest has.
 * `test/cli/check-teams-manifest.test.ts` compares its verdicts with those of a complete validator.
 * @returns what is wrong, as `path: reason`; empty when the manifest is valid
 */
export function checkTeamsManifest(manifest: unknown, edition: TeamsEdition): string[] {
  const schema: unknown = JSON.parse(readFileSync(packagePath(FILES[edition]), 'utf8'))
  const { error } = z.fromJSONSchema(schemaSchema.parse(partAbout(schema, [manifest]))).safeParse(manifest)
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.') || 'manifest'}: ${message}`)
}

const schemaSchema = z.record(z.string(), z.unknown())

/**
 * A schema without the properties that none of the values has and none must have. What they have beyond the schema stays
 * unknown to it, and is refused where the schema refuses it.
 */
function partAbout(schema: unknown, values: readonly unknown[]): unknown {
  if (!isObject(schema)) return schema
  const { properties, items, required } = schema
  const objects = values.filter(isObject)
  const present = new Set([...objects.flatMap(Object.keys), ...(Array.isArray(required) ? required : [])])
  return {
    ...schema,
    ...(isObject(properties) && {
      properties: Object.fromEntries(
        Object.entries(properties)
          .filter(([name]) => present.has(name))
          .map(([name, inner]) => [
            name,
            partAbout(
              inner,
              objects.map((value) => value[name]),
            ),
          ]),
      ),
    }),
    ...(items !== undefined && { items: partAbout(items, values.filter(Array.isArray).flat()) }),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
