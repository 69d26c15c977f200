import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { renderConsent as drawSlack, plainConsent } from '../../adapters/slack/cards.ts'
import { renderConsent as drawTeams } from '../../adapters/teams/cards.ts'
import type { Bootstrap } from '../../src/domain/bootstrap.ts'
import { viewConsent } from '../../src/flow/tell/view-card.ts'
import { anyText } from '../support/any-request.ts'
import { buttonsOf, placedTexts, shownText } from '../support/block-parts.ts'
import { cardText } from '../support/card-lines.ts'
import { checkMessage } from '../support/check-blocks.ts'
import { checkCard } from '../support/check-card.ts'
import { everyBootstrap, sampleBootstrap } from '../support/consent-samples.ts'

const BASE = 'https://approve.example.com'
const view = (bootstrap: Bootstrap) => viewConsent(bootstrap, BASE)
const HEADINGS = [
  'Give this caller an API key?',
  'Approved: the agent can collect its key',
  'Rejected',
  'Rejected after three wrong codes',
  'Expired: no key was given out',
  'The API key was collected',
  'The API key was collected',
]

describe('the card of an agent that asks for a key', () => {
  it('says in Slack and Teams who asks, from where, for what and until when, in every state', () => {
    for (const [index, bootstrap] of everyBootstrap().entries()) {
      const [slack, teams] = [drawSlack(view(bootstrap)), drawTeams(view(bootstrap))]
      expect(checkMessage(slack)).toEqual([])
      expect(checkCard(teams)).toEqual([])
      for (const text of [shownText(slack.blocks), cardText(teams.card)]) {
        expect(text).toContain(HEADINGS[index])
        expect(text).toContain('Unverified name')
        expect(text).toContain('Release agent')
        expect(text).toContain('203.0.113.7')
        expect(text).toContain(bootstrap.id)
      }
    }
    for (const text of [
      shownText(drawSlack(view(sampleBootstrap())).blocks),
      cardText(drawTeams(view(sampleBootstrap())).card),
    ]) {
      expect(text).toContain('ask people for approvals in the name of your account; read their outcome')
      expect(text).toContain('Expires at: ')
    }
  })

  it('never holds the matching code, in whatever form: the owner must bring it from the agent', () => {
    for (const bootstrap of everyBootstrap()) {
      const all = JSON.stringify([
        view(bootstrap),
        drawSlack(view(bootstrap)),
        drawTeams(view(bootstrap)),
        plainConsent(view(bootstrap)),
      ])
      expect(all).not.toMatch(/BDWP.?HQPK/i)
      expect(all).not.toContain(bootstrap.secret_hash)
    }
  })

  it('has one button, which opens the consent page and decides nothing, and in Teams one to refresh it', () => {
    const page = `${BASE}/b/bst_7h3k9m2p5q8r1s4t6v0w2x5y8z`
    const open = view(sampleBootstrap())
    expect(buttonsOf(drawSlack(open).blocks)).toMatchObject([{ url: page, text: { text: 'Review…' } }])
    expect(drawTeams(open).card.actions).toMatchObject([
      { type: 'Action.OpenUrl', url: page, title: 'Review…' },
      { type: 'Action.Execute', title: 'Refresh', data: { request_id: open.request_id } },
    ])
    for (const bootstrap of everyBootstrap().slice(1)) {
      expect(buttonsOf(drawSlack(view(bootstrap)).blocks)).toEqual([])
      expect(JSON.stringify(drawSlack(view(bootstrap)).blocks)).toContain(`"url":"${page}"`)
      expect(drawTeams(view(bootstrap)).card.actions).toMatchObject([{ type: 'Action.OpenUrl', url: page }])
    }
  })

  it('tells the owner who collected, and where to revoke', () => {
    const collected = everyBootstrap()[5] ?? expect.unreachable('no sample')
    for (const text of [
      shownText(drawSlack(view(collected)).blocks),
      cardText(drawTeams(view(collected)).card),
    ]) {
      expect(text).toContain('198.51.100.4')
      expect(text).toContain('revoke the key on the page API keys')
    }
  })

  it('frames the name, whatever it is, and stays within the limits of both platforms', () => {
    fc.assert(
      fc.property(anyText(60), fc.nat(6), (name, state) => {
        const bootstrap = everyBootstrap({ client_name: name })[state] ?? expect.unreachable('no state')
        const [slack, teams] = [drawSlack(view(bootstrap)), drawTeams(view(bootstrap))]
        expect(checkMessage(slack)).toEqual([])
        expect(checkCard(teams)).toEqual([])
        // Notifications and plain words are ours alone.
        const plain = drawSlack(view(everyBootstrap({ client_name: 'other' })[state] ?? bootstrap))
        expect(slack.text).toBe(plain.text)
      }),
      { numRuns: 300 },
    )
    const marked = drawSlack(view(sampleBootstrap({ client_name: '<!channel> *Approved* by IT' })))
    const holding = placedTexts(marked.blocks).filter(({ text }) => text.includes('<!channel>'))
    expect(holding).toHaveLength(1)
    expect(JSON.stringify(holding)).toContain('rich_text_quote')
  })

  it('warns of letters that pass for others, and invites whoever was found by e-mail', () => {
    const mixed = view(sampleBootstrap({ client_name: 'p\u0430ypal' }))
    const invited = { ...mixed, invite_to_link: true as const }
    for (const text of [shownText(drawSlack(invited).blocks), cardText(drawTeams(invited).card)]) {
      expect(text).toContain('Look-alike letters')
      expect(text).toContain('found by your e-mail address')
    }
  })
})
