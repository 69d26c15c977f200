export { findRunningStore } from './find-running-store.ts'
export { runStoreProcess } from './run-store-process.ts'
export { type EmbeddedStore, startEmbeddedStore } from './start-embedded-store.ts'
export { StoreLockedError } from './store-locked-error.ts'
