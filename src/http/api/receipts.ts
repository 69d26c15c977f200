import { z } from 'zod'
import { BUNDLE_TYPE } from '../../domain/bundle.ts'
import { NO_RECEIPT, withoutReceipt } from '../../domain/receipt.ts'
import { cautionAfter } from '../../domain/restore.ts'
import type { DecisionProof, Verdict } from '../../domain/views.ts'
import { bundleAnswer, bundleQuery, presentBundle } from './bundle.ts'
import { delegateField } from './decision.ts'
import {
  type Answer,
  approverField,
  erasedField,
  idField,
  keyIdField,
  methodField,
  outcomeField,
  sandboxMark,
  signatureField,
  statusField,
  timeField,
} from './shared/fields.ts'
import { idInPath, operations } from './shared/operation.ts'

/** The signed payload, format 1 (interface, "Signed payload"). */
const payloadAnswer = z
  .strictObject({
    v: z.literal(1),
    rid: idField('req').meta({ description: 'Request id.' }),
    did: idField('dec').meta({ description: 'Decision id.' }),
    approver: approverField,
    action: z
      .string()
      .regex(/^[0-9a-f]{16}$/)
      .meta({ description: 'First 16 hex characters of the SHA-256 of the action text.' }),
    decision: outcomeField,
    method: methodField,
    ts: z.int().meta({ description: 'Decision time, Unix seconds.' }),
    exp: z.int().meta({ description: 'Expiry of the request, Unix seconds.' }),
    nonce: z
      .string()
      .regex(/^[0-9a-f]{32}$/)
      .meta({
        description: 'First 32 hex characters of the SHA-256 of the intent: binds action and context.',
      }),
    sandbox: sandboxMark.optional(),
  })
  .meta({ id: 'Payload', description: 'The signed payload; `sandbox` is inside the signed bytes.' })

export const verdictAnswer = z
  .union([
    z
      .strictObject({
        valid: z.literal(true),
        decision: outcomeField,
        method: methodField,
        delegate: delegateField.optional(),
        verified_at: timeField,
        public_key: z
          .string()
          .regex(/^[A-Za-z0-9+/]{43}=$/)
          .meta({ description: 'Raw Ed25519 public key, standard base64.' }),
        public_key_id: keyIdField,
        signature: signatureField,
        payload: payloadAnswer,
        sandbox: sandboxMark.optional(),
        caution: z.string().optional().meta({ description: 'A doubt about a valid receipt, for people.' }),
        erased_at: erasedField.optional(),
      })
      .meta({ id: 'ValidReceipt' }),
    z
      .strictObject({
        valid: z.literal(false),
        error: z.string().meta({
          description:
            'The reason why there is no receipt, or the code (`receipt_…`) of the check that failed.',
          example: 'request not decided yet',
        }),
        message: z.string(),
        status: statusField.optional().meta({ description: 'Absent if there is no such request.' }),
      })
      .meta({ id: 'InvalidReceipt' }),
  ])
  .meta({ id: 'Verdict' })

const jwksAnswer = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('OKP'),
        crv: z.literal('Ed25519'),
        x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
        use: z.literal('sig'),
        alg: z.literal('EdDSA'),
        kid: keyIdField,
        purpose: z.enum(['decision', 'decision-sandbox', 'token']).meta({
          description: 'Each key signs only one kind of receipt.',
        }),
        nbf: z.int().meta({ description: 'The key signs from this Unix time on; it may be in the future.' }),
        exp: z
          .int()
          .optional()
          .meta({ description: 'The last Unix second of a receipt that this key may have signed.' }),
        revoked_at: z
          .int()
          .optional()
          .meta({ description: 'Receipts from this Unix time on are not valid.' }),
      }),
    ),
    restores: z
      .array(
        z.strictObject({
          copied_at: z.int().meta({ description: 'When the copy was made, Unix seconds.' }),
          restored_at: z
            .int()
            .meta({ description: 'The first start on it, Unix seconds; new keys sign from then on.' }),
        }),
      )
      .optional()
      .meta({
        description:
          'Restores of the store from a copy, oldest first: a receipt from between the two times, or of a request from before, may be contradicted by another. Absent if there was none.',
      }),
  })
  .meta({
    id: 'JsonWebKeySet',
    description: 'RFC 7517 key set. Old keys stay in it, so old receipts can always be verified.',
  })

export const proofAnswer = z
  .strictObject({
    log: z.enum(['waiting', 'logged', 'witnessed', 'stopped', 'before_log']).meta({
      description:
        '`stopped`: the log signs nothing more (`log_rolled_back`). `before_log`: the decision is older than the log.',
    }),
    origin: z.string().optional(),
    index: z.int().optional().meta({ description: 'From 0.' }),
    size: z.int().optional(),
    witnesses: z.array(z.strictObject({ name: z.string(), at: timeField })),
    awaited: z.array(z.string()).meta({ description: 'The witnesses that are asked and have not signed.' }),
    bundle: z.string().optional().meta({
      description: 'The text of `countersign.receipt.json`, as of now. Absent once the texts were erased.',
    }),
  })
  .meta({ id: 'DecisionProof' })

/**
 * Presents how far the log has a decision.
 * @param text writes the bundle; verifiers accept only RFC 8785
 */
export function presentProof(
  { standing, awaited, bundle }: DecisionProof,
  text: (bundle: Answer<typeof bundleAnswer>) => string,
): Answer<typeof proofAnswer> {
  const { place: _, witnesses = [], ...rest } = { witnesses: undefined, place: undefined, ...standing }
  return {
    ...rest,
    witnesses: witnesses.map(({ name, at }) => ({ name, at: at.toISOString() })),
    awaited,
    ...(bundle && { bundle: text(presentBundle(bundle)) }),
  }
}

export const logAnswer = z
  .strictObject({
    origin: z.string().meta({ description: 'The name of the log; it never changes.' }),
    vkey: z
      .string()
      .meta({ description: 'The key of its checkpoints, as a trust policy has it (C2SP signed-note).' }),
    url: z.url().meta({ description: 'What `checkpoint` and `tile/` follow.' }),
    witnesses: z.array(z.strictObject({ vkey: z.string(), url: z.url() })),
    former: z
      .array(
        z.strictObject({
          origin: z.string(),
          vkey: z.string().optional(),
          url: z.url(),
          checkpoint: z
            .string()
            .meta({ description: 'Its last known one: the first entry of the log after it.' }),
        }),
      )
      .meta({
        description: 'Logs that ended after a restore of the store, oldest first. They stay readable.',
      }),
  })
  .meta({ id: 'TransparencyLog' })

/** Presents the verdict of a verification (interface, endpoint 4). */
export function presentVerdict(verdict: Verdict): Answer<typeof verdictAnswer> {
  if (!verdict.valid) {
    const { code, error, status } = verdict
    const none = SENTENCES[withoutReceipt(verdict)]
    if (none !== undefined) return { valid: false, error, message: none, status }
    return { valid: false, error: code, message: `${error} ${DO_NOT_ACT}`, status }
  }
  return {
    valid: true,
    decision: verdict.payload.decision,
    method: verdict.payload.method,
    delegate: verdict.delegate,
    verified_at: verdict.at.toISOString(),
    public_key: verdict.publicKey,
    public_key_id: verdict.publicKeyId,
    signature: verdict.signature,
    payload: verdict.payload,
    sandbox: verdict.payload.sandbox,
    caution: verdict.restored && cautionAfter(verdict.restored),
    erased_at: verdict.erasedAt?.toISOString(),
  }
}

const DO_NOT_ACT = 'Do not act on this request: its receipt is not valid.'

/** Sentences by code, for requests without a receipt; any other code means that the receipt does not hold. */
const SENTENCES: Readonly<Record<string, string>> = NO_RECEIPT

const checkpointOperation = {
  description: 'Public. A signed note: origin, size and root (C2SP tlog-checkpoint).',
  access: { by: [] },
  answers: { '200': { schema: z.string(), description: 'The checkpoint.', type: 'text/plain' } },
  refusals: ['not_found', 'log_rolled_back'],
} as const

const tileOperation = {
  description:
    'Public. Hashes of the tree, or what they are of, its entries, unless the service keeps these to itself (C2SP tlog-tiles).',
  access: { by: [] },
  answers: { '200': { schema: z.string(), description: 'The tile.', type: 'application/octet-stream' } },
  refusals: ['not_found'],
} as const

const tileInPath = z.string().meta({ description: 'Such as `0/x001/067` or `entries/000.p/8`.' })

/** The first log has no number in its addresses. */
const laterLog = z.string().meta({ description: 'From 2: the log that goes on for one that ended.' })

export const receiptOperations = operations('Receipts', {
  'get /api/v1/approvals/{id}/verify': {
    id: 'verifyDecision',
    summary: 'Verify a decision',
    description:
      'Public. Checks the stored receipt, and that it commits to the stored action and context; every attempt is logged. Never decides a sandbox request. In production also refuse answers with `sandbox`.',
    access: { by: [] },
    parameters: {
      path: z.object({
        id: z.string().meta({ description: 'Request id, or id of the decision that closed it.' }),
      }),
    },
    answers: {
      '200': {
        schema: verdictAnswer,
        description: 'The verdict; `valid` is false while nothing is signed.',
      },
      '404': {
        schema: verdictAnswer,
        description: 'There is no such request: `valid` is false, without `status`.',
      },
    },
  },
  'get /api/v1/approvals/{id}/receipt': {
    id: 'getReceiptBundle',
    summary: 'Get everything that proves the decision',
    description:
      'One file, `countersign.receipt.json`, which `countersign verify` checks without the service: the receipt, the intent, the context and the signature of the approver’s own passkey. Keep its bytes as they are.',
    access: { by: ['key'], scope: 'approval:read' },
    parameters: { path: idInPath('req', 'Request id.'), query: bundleQuery },
    answers: { '200': { schema: bundleAnswer, description: 'The bundle.', type: BUNDLE_TYPE } },
    refusals: [
      ...(['not_found', 'no_receipt', 'receipt_erased', 'before_log', 'too_many_waits'] as const),
      ...(['not_logged', 'log_rolled_back'] as const),
    ],
  },
  'get /.well-known/jwks.json': {
    id: 'getKeySet',
    summary: 'Get the keys that sign receipts',
    description:
      'Public. Pin this set to verify receipts offline, with `countersign verify` or any Ed25519 library. A key is published before it signs.',
    access: { by: [] },
    limited: false,
    answers: {
      '200': { schema: jwksAnswer, description: 'The key set.', type: 'application/jwk-set+json' },
    },
  },
  'get /.well-known/countersign-log': {
    id: 'getLog',
    summary: 'Get the name and the key of the log',
    description:
      'Public. All decisions are in this append-only log, as hashes; docs/proof.md says what that proves.',
    access: { by: [] },
    answers: { '200': { schema: logAnswer, description: 'The log.' } },
    refusals: ['not_found'],
  },
  'get /log/checkpoint': {
    ...checkpointOperation,
    id: 'getCheckpoint',
    summary: 'Get the newest checkpoint of the log',
  },
  'get /log/{number}/checkpoint': {
    ...checkpointOperation,
    id: 'getLaterCheckpoint',
    summary: 'Get the newest checkpoint of a later log',
    parameters: { path: z.object({ number: laterLog }) },
  },
  'get /log/tile/{path}': {
    ...tileOperation,
    id: 'getLogTile',
    summary: 'Get a part of the log',
    parameters: { path: z.object({ path: tileInPath }) },
  },
  'get /log/{number}/tile/{path}': {
    ...tileOperation,
    id: 'getLaterLogTile',
    summary: 'Get a part of a later log',
    parameters: { path: z.object({ number: laterLog, path: tileInPath }) },
  },
})
