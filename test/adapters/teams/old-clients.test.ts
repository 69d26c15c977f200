import { describe, expect, it } from 'vitest'
import { renderBatch, renderCard, renderDetails } from '../../../adapters/teams/cards.ts'
import { viewCard } from '../../../src/flow/tell/view-card.ts'
import { buttonsOn, cardText } from '../../support/card-lines.ts'
import { BATCH_VIEWS, decidedRequest, SIX_VIEWS, sampleRequest, TO_ANA } from '../../support/card-samples.ts'
import { parseCard, sinceVersion, typeSince } from '../../support/parse-card.ts'

const cards = [
  ...SIX_VIEWS.flatMap(({ view }) => [renderCard(view).card, renderDetails(view).card]),
  ...BATCH_VIEWS.map(({ view }) => renderBatch(view).card),
  renderCard(viewCard(decidedRequest(), TO_ANA)).card,
  renderCard(viewCard(sampleRequest({ action: 'p\u0430ypal \u202e', sandbox: true }), TO_ANA)).card,
]

/** Type and property of everything in a card. */
function features(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(features)
  if (typeof value !== 'object' || value === null) return []
  const type: unknown = Reflect.get(value, 'type')
  const inner = Object.entries(value).flatMap(([name, one]) => (name === 'data' ? [] : features(one)))
  if (typeof type !== 'string') return inner
  return [type, ...Object.keys(value).map((name) => `${type}.${name}`), ...inner]
}

/** Since when the parser of Microsoft knows it. */
function since(feature: string): string | undefined {
  const at = feature.lastIndexOf('.')
  const property = feature.slice(at + 1)
  if (feature.startsWith('Action.') && at === 'Action'.length) return typeSince(feature)
  return at < 0 ? typeSince(feature) : sinceVersion(feature.slice(0, at), property)
}

describe('clients of version 1.2, as the phones’ are documented to be', () => {
  it('draw every element and property of ours, but for what only adds to it', () => {
    // Read by the parser without an entry in its data; 1.2 or older by the published schema.
    const core = ['AdaptiveCard.body', 'AdaptiveCard.actions', 'Container.items', 'ActionSet.actions']
    const outside = [...core, 'RichTextBlock.inlines', 'Action.Execute.fallback']
    const used = [...new Set(cards.flatMap(features))].filter((feature) => !outside.includes(feature))
    const known = used.map((feature) => [feature, since(feature)] as const)
    expect(known.length).toBeGreaterThan(25)
    expect(known.filter(([, version]) => version === undefined)).toEqual([])
    expect(
      known
        .filter(([, version]) => version !== undefined && version > '1.2')
        .map(([feature, version]) => `${feature} ${version}`)
        .sort(),
    ).toEqual(
      [
        'Action.Execute 1.4',
        // A hint for screen readers.
        'Action.OpenUrl.tooltip 1.5',
        // Named by the data with the element that carries it; parsers of 1.2 look at `fallback`.
        'Action.Execute.verb 1.4',
        // A heading for screen readers.
        'TextBlock.style 1.5',
      ].sort(),
    )
  })

  it('read every word, and get the buttons that they know in place of the newer ones', () => {
    for (const card of cards) {
      const { understood } = parseCard(card, '1.2')
      expect(cardText(understood)).toBe(cardText(card))
      const types = JSON.stringify(understood).match(/"Action\.\w+"/g) ?? []
      expect(types).not.toContain('"Action.Execute"')
      expect(types.length).toBe(buttonsOn(card).length)
    }
  })
})
