import { createRequire } from 'node:module'

// The package's modules are no ES modules to Node, its bundle is one that Node can read.
const cards: typeof import('adaptivecards') = createRequire(import.meta.url)(
  'adaptivecards/dist/adaptivecards.js',
)

const VERSIONS = { '1.2': cards.Versions.v1_2, '1.5': cards.Versions.v1_5 }

/** What Microsoft's parser makes of a card as a client of that version. */
export function parseCard(
  json: object,
  version: keyof typeof VERSIONS,
): { complaints: string[]; understood: object } {
  const context = new cards.SerializationContext(VERSIONS[version])
  const card = new cards.AdaptiveCard()
  card.parse(structuredClone(json), context)
  const parsing = Array.from({ length: context.eventCount }, (_, at) => context.getEventAt(at).message)
  const { validationEvents } = card.validateProperties()
  return {
    complaints: [...parsing, ...validationEvents.map(({ message }) => message)],
    understood: card.toJSON(context) ?? {},
  }
}

/**
 * Since when a property exists, by the parser's own data: of elements and actions by the name of their type. Undefined when
 * it knows no such type or property.
 */
export function sinceVersion(type: string, property: string): string | undefined {
  const known =
    type === 'AdaptiveCard'
      ? new cards.AdaptiveCard()
      : (cards.GlobalRegistry.elements.createInstance(type, cards.Versions.latest) ??
        cards.GlobalRegistry.actions.createInstance(type, cards.Versions.latest))
  const schema = known?.getSchema()
  for (let at = 0; at < (schema?.getCount() ?? 0); at += 1) {
    const found = schema?.getItemAt(at)
    if (found?.name === property) return found.targetVersion.toString()
  }
  return undefined
}

/** Since when an element or action exists. */
export function typeSince(type: string): string | undefined {
  if (type === 'AdaptiveCard') return '1.0'
  const registry = [cards.GlobalRegistry.elements, cards.GlobalRegistry.actions]
  return registry.map((one) => one.findByName(type)?.schemaVersion.toString()).find((found) => found)
}
