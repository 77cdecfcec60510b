import { Problem } from "./problem.js";
import { inWords } from "./progress.js";

/**
 * Ask a question and show in its exchange what comes, until it is answered.
 * @param {import("./service.js").Service} service
 * @param {object} question A ChatRequest.
 * @param {import("./exchange.js").Exchange} exchange
 * @param {{ signal: AbortSignal, say: (words: string) => void, shown: () => void }} around
 * @returns {Promise<import("./types.js").Answer>}
 */
export async function runTurn(service, question, exchange, { signal, say, shown }) {
  let text = "";
  const tell = (/** @type {string} */ words) => {
    exchange.showProgress(words);
    say(words);
    shown();
  };
  tell("Reading your question …");
  const { events } = await service.ask(question, signal);
  for await (const event of whole(events, signal)) {
    if (event.name === "done") return event.data;
    if (event.name === "error") throw Problem.ofEvent(event.data);
    if (event.name === "token") {
      text += event.data.text;
      exchange.showText(text, event.data.html);
      shown();
    }
    const words = inWords(event);
    if (words) tell(words);
  }
  throw Problem.brokenOff();
}

/**
 * The events; a connection that is lost among them is told as such.
 * @param {AsyncGenerator<import("./types.js").StreamEvent>} events
 * @param {AbortSignal} signal
 */
async function* whole(events, signal) {
  try {
    yield* events;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    throw Problem.brokenOff();
  }
}
