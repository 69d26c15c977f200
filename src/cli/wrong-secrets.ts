import type { StoreReport } from '../compose/inspect-store.ts'
import { otherSetting } from '../config/secrets.ts'
import { reasonOf } from './doctor/checks.ts'

/** Says why a service would not start on a store with the secrets of the configuration; empty if it would. */
export function wrongSecrets({ keys, changed }: Pick<StoreReport, 'keys' | 'changed'>): string[] {
  const wrong = changed.filter((name) => name !== 'BASE_URL').map(otherSetting)
  return keys instanceof Error ? [...wrong, reasonOf(keys)] : wrong
}
