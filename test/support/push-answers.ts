import { it } from 'vitest'
import { enrolWithPasskey } from './enrolled.ts'
import { usePushService } from './push-setting.ts'
import type { TestService } from './service.ts'
import { documented, refused } from './witness.ts'

const PATH = '/api/v1/me/push'

/** Every answer about notifications in browsers is as the document says. */
export function itAnswersAboutPush(service: () => TestService): void {
  it('about browsers that show notifications', async () => {
    const push = await usePushService()
    const { browser } = await enrolWithPasskey(service(), 'notified@example.com')
    const { public_key } = documented('get', PATH, 200, await browser.get(PATH))
    const { subscription } = push.subscribe(String(public_key))
    const body = { subscription, name: 'laptop' }
    const { device } = documented('post', PATH, 201, await browser.post(PATH, body))
    documented('get', PATH, 200, await browser.get(PATH))
    const id = String(Object(device).id)
    for (const verb of ['test', 'remove']) {
      const path = `${PATH}/{id}/${verb}`
      documented('post', path, 200, await browser.post(`${PATH}/${id}/${verb}`, {}))
    }
    refused('post', `${PATH}/{id}/test`, 404, await browser.post(`${PATH}/${id}/test`, {}), 'not_found')
  })
}
