import { z } from 'zod'

/** `GET /healthz`. */
export const aliveAnswer = z.strictObject({ status: z.literal('ok') }).meta({ id: 'Alive' })

/** `GET /readyz`. */
export const readyAnswer = z.strictObject({ status: z.literal('ready') }).meta({ id: 'Ready' })
