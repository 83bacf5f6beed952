/** Errors about state that upstreams of the responses API store: responses, items and encrypted reasoning. */
import type { Wordings } from '../core/errors/wordings.ts'

export const responsesWordings: Wordings = {
  words: { carrier: ['invalid_encrypted_content'], previousResponse: ['previous_response_not_found'] },
  sentences: {
    // Self-hosted upstreams: `Response with id 'resp_1' not found.`, `Invalid 'response_id'`.
    previousResponse: /\bresponse(?:[_ ]id\b|\b[^.]{0,40}\bnot found\b)/i,
  },
  carriers: [
    {
      wordings: [/encrypted.content.{0,2000}could not be (?:verified|decrypted|parsed)/is],
      sentence:
        'The upstream refused the reasoning of an earlier answer: its encrypted content could not be verified.',
      coded: true,
    },
    {
      wordings: [
        /item (?:with id )?'?[a-z]{2,5}_\w{1,128}'? not found/i,
        /item '?rs_\w{1,128}'?.{0,40} was provided without its required/i,
        /without its required 'reasoning' item/i,
      ],
      sentence: 'The upstream does not know an item of the input, or misses the one that belongs to it.',
    },
  ],
}
