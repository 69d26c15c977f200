import fc from 'fast-check'

/**
 * Property tests draw the same cases on every run, so that a red run is red on every machine. `FC_SEED=random` looks for
 * new ones; a number repeats the run that reported it.
 */
const wanted = process.env.FC_SEED ?? '20261121'
if (wanted !== 'random') fc.configureGlobal({ seed: Number(wanted) })
