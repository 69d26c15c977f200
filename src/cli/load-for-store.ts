import { hasStore } from '../compose/open-store.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { CliError } from './cli-error.ts'

/**
 * The configuration, for a command about what a store holds. Beside a service with another `DATA_DIR` such a command would
 * make an empty store of its own, and say that nobody is there and that every record is in order.
 * @throws CliError `no_store`, and what `loadConfig` throws
 */
export function loadForStore(): Config {
  const config = loadConfig()
  if (hasStore(config)) return config
  const message = `There is no store in ${config.dataDir}. Set DATA_DIR to the directory of the service, or start the service here first: npm start`
  throw new CliError('no_store', message)
}
