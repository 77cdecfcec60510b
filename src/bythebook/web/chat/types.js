/**
 * The shapes that travel between the page and the service; see docs/reference/http-api.md. Only read by
 * tools that check types: no browser loads this file.
 *
 * @typedef {{ id: string, title: string }} BookModule
 *
 * @typedef {object} Book
 * @property {string} book_id
 * @property {string} title
 * @property {string} language
 * @property {number} chunks
 * @property {number} files
 * @property {string | null} base_url
 * @property {BookModule[]} modules
 * @property {number[]} hardware_tiers
 * @property {string[]} proficiency_levels
 * @property {string[]} layers
 * @property {string[]} suggestions
 *
 * @typedef {object} Filters Where to look; what is not given does not restrict.
 * @property {number} [hardware_tier_filter]
 * @property {string} [module_filter]
 * @property {string[]} [proficiency_levels]
 * @property {string} [layer_filter]
 *
 * @typedef {object} Citation
 * @property {number} number
 * @property {string} chapter
 * @property {string | null} [section]
 * @property {number | null} [page_number]
 * @property {string} source_url
 * @property {string} quote
 * @property {[number, number][]} stretches
 * @property {string} passage_id
 *
 * @typedef {object} NearSection
 * @property {string} title
 * @property {string | null} section
 * @property {string} url
 * @property {string} passage_id
 * @property {string[]} path
 *
 * @typedef {object} Answer What `done` brings, and what a kept answer can be turned into.
 * @property {string} response
 * @property {string | null} [html]
 * @property {string} [session_id]
 * @property {string | null} [answer_id]
 * @property {number | null} [confidence]
 * @property {string} [confidence_level]
 * @property {boolean} refused
 * @property {Citation[]} citations
 * @property {string[]} [notes]
 * @property {string | null} [searched]
 * @property {NearSection[]} [nearest]
 * @property {{ num_chunks: number }} [metrics]
 *
 * @typedef {object} Passage
 * @property {string} id
 * @property {string} text
 * @property {string | null} [html]
 * @property {string | null} section_title
 * @property {string} title
 * @property {string} chapter_title
 * @property {string[]} [path]
 * @property {number | null} [page_number]
 * @property {string | null} prev_chunk_id
 * @property {string | null} next_chunk_id
 * @property {number} chunk_index
 * @property {number} total_chunks
 * @property {string} url
 * @property {string} source_file
 * @property {string | null} parent_doc_id
 * @property {boolean} [has_file] Whether its PDF can be had.
 *
 * @typedef {object} Message
 * @property {"user" | "assistant"} role
 * @property {string} content
 * @property {string | null} [html]
 * @property {string | null} [answer_id]
 * @property {number | null} [confidence]
 * @property {boolean | null} [refused]
 * @property {Citation[]} [citations]
 *
 * @typedef {{ messages: Message[], metadata: { book_id?: string } }} History
 *
 * @typedef {{ name: string, data: any }} StreamEvent
 */
export {};
