/** What is not needed before the first question. */
export { Exchange } from "./exchange.js";
export { runTurn } from "./turn.js";
