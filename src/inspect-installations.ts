import { createInstalledWorkspaces } from '../adapters/slack/installed-workspaces.ts'
import type { Config } from './config.ts'
import { openStore } from './open-store.ts'
import { loadSecrets } from './secrets.ts'
import { createVault } from './signing/vault.ts'
import { createChatInstallationStore } from './store/chat-installations.ts'
import { connectStore } from './store/connect.ts'

/** A workspace with the Slack app in it. */
export interface InstalledToken {
  tenant: string
  name: string
  /** Undefined when it cannot be opened: it was sealed under another key. */
  token: string | undefined
}

/**
 * Who installed the Slack app, and with which token; changes nothing in the store.
 * @throws when the store cannot be opened or does not answer
 */
export async function inspectInstallations(config: Config): Promise<InstalledToken[]> {
  const vault = createVault(await loadSecrets(config))
  const store = await openStore(config, true)
  try {
    const connection = await connectStore(store.uri)
    try {
      const installations = createChatInstallationStore(connection)
      const workspaces = createInstalledWorkspaces(config.slack?.apiUrl ?? '', {
        installations,
        vault,
        log: silent,
      })
      const listed = await installations.list('slack')
      return await Promise.all(
        listed.map(async ({ tenant, workspace_name }) => {
          const found = await workspaces.find(tenant)
          return { tenant, name: workspace_name, token: found?.token }
        }),
      )
    } finally {
      await connection.close()
    }
  } finally {
    await store.close()
  }
}

/** Whoever asks hears of each workspace. */
const silent = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
