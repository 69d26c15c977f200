import { z } from 'zod'
import { BUNDLE_FORMAT, type Bundle } from '../../domain/bundle.ts'
import { waitQuery } from './approvals.ts'
import { type Answer, approverField, idField, keyIdField, signatureField } from './shared/fields.ts'

/** `GET /api/v1/approvals/:id/receipt`. */
export const bundleQuery = z
  .object({
    log: z
      .enum(['none', 'logged', 'witnessed'], { error: 'must be none, logged or witnessed' })
      .default('none')
      .meta({
        description:
          'Waits until the decision is in a checkpoint of the log (`logged`), and until a witness has signed it, too (`witnessed`).',
      }),
    enrolment: z
      .enum(['1'], { error: 'must be 1, or left out' })
      .optional()
      .transform((text) => text !== undefined)
      .meta({
        description:
          'With `1`, and `log`: the registration of each passkey that decided is in it, too, as far as the log has it.',
      }),
    ...waitQuery.shape,
  })
  .refine(({ log, enrolment }) => log !== 'none' || !enrolment, {
    path: ['enrolment'],
    error: 'needs log=logged or log=witnessed',
  })

const base64url = z.string().regex(/^[A-Za-z0-9_-]+$/)

const logPlace = { record: base64url, proof: z.string() }

const voteMembers = {
  receipt: z
    .strictObject({ did: idField('dec'), ts: z.int(), signature: signatureField, public_key_id: keyIdField })
    .meta({ description: 'The rest of the signed payload follows from the intent and the kind of proof.' }),
  intent: z.string().meta({ description: 'RFC 8785 text to which the `nonce` and the challenge commit.' }),
  passkey: z
    .strictObject({
      key: base64url.meta({ description: 'COSE key.' }),
      client_data: z
        .string()
        .optional()
        .meta({ description: 'The exact text that was signed; absent where it is the usual one.' }),
      authenticator_data: base64url,
      signature: base64url,
      batch: z.string().optional().meta({
        description:
          'One gesture decided several requests: the text that was the challenge, with the hash of this intent in it.',
      }),
    })
    .optional()
    .meta({ description: "The approver's own signature over the intent." }),
  totp: z
    .strictObject({ checked_by: z.literal('service') })
    .optional()
    .meta({ description: 'A code was checked by the service, and by nobody else.' }),
  enrolment: z
    .strictObject({
      ...logPlace,
      subject: z.strictObject({
        aaguid: z.string().nullable(),
        approver: approverField,
        attestation: z.string().nullable(),
        credential_id: base64url,
        public_key: base64url,
      }),
    })
    .optional()
    .meta({
      description:
        'Asked for by `enrolment`: the registration of the passkey, which the log had before the decision.',
    }),
}

export const bundleAnswer = z
  .strictObject({
    format: z.literal(BUNDLE_FORMAT),
    ...voteMembers,
    context: z.string().optional().meta({ description: 'RFC 8785 text of the context.' }),
    votes: z.array(z.strictObject(voteMembers)).optional().meta({
      description: 'The other signed votes, in the order in which they were cast; absent if there is none.',
    }),
    log: z.strictObject(logPlace).optional().meta({
      description: 'The hash of the audit record, and the proof that it is in the log (C2SP tlog-proof).',
    }),
  })
  .meta({ id: 'ReceiptBundle', description: 'Everything that proves one decision, as RFC 8785 JSON.' })

/** Presents a bundle. Its members are texts that were signed, so nothing is changed. */
export function presentBundle(bundle: Bundle): Answer<typeof bundleAnswer> {
  return bundle
}
