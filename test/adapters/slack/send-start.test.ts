import { expect, it, onTestFinished } from 'vitest'
import { waitUntil } from '../../support/chat-platform.ts'
import { ask } from '../../support/live.ts'
import { about, atRest, cardTo, startSending, tellChannel } from './send-setting.ts'

it('loses no card while Slack is away when the service starts: people and channel get theirs once it is back', async () => {
  const setting = await startSending({ others: ['ana'] })
  onTestFinished(() => setting.close())
  const { slack, service, owner } = setting
  const channel = await slack.addChannel('approvals')
  await tellChannel(setting, channel)
  slack.behave(() => ({ status: 503 }))
  const id = await ask(setting)
  await waitUntil(async () => {
    const cards = await service.composition.deps.cards.ofRequest(id)
    expect(cards.map(({ attempts }) => attempts[0]?.outcome)).toEqual(['failed', 'failed', 'failed'])
  })
  const { body } = await owner.browser.get(`/api/v1/approvals/${id}/review`)
  expect(body.not_reachable).toEqual([])
  slack.behave(() => undefined)
  // The third retry comes after 30 s.
  await atRest(setting, id, 3, 36_000)
  for (const name of ['owner', 'ana']) await cardTo(setting, name, id)
  expect(about(await slack.history(channel), id)).toHaveLength(1)
})
