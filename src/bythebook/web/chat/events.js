/**
 * The Server-Sent Events of a response, each with its JSON read; comments are passed over.
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<import("./types.js").StreamEvent>}
 */
export async function* readEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const blocks = waiting.split(/\r?\n\r?\n/);
      waiting = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    // A stream that failed can't be cancelled, and its failure has been told already.
    reader.cancel().catch(() => undefined);
  }
}

/** @param {string} block */
function parse(block) {
  let name = "";
  /** @type {string[]} */
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    if (line.startsWith("data:")) data.push(line.slice(5));
  }
  return name && data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
