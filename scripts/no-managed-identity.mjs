/**
 * Stands in for the package `@azure/identity` within `botframework-connector`, which asks it only for bots that sign in as a managed
 * identity of Azure; ours has a client secret. With what it imports, it was a tenth of the service.
 */
export class DefaultAzureCredential {
  constructor() {
    throw new Error('bots with a managed identity are not supported')
  }
}
