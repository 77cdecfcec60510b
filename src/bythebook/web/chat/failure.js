import { make } from "./dom.js";
import { icon } from "./icons.js";

/**
 * A problem in place of an answer: what happened, what to do, and a way to try again. Where the
 * service said how long to wait, the seconds count down first.
 * @param {import("./problem.js").Problem} problem
 * @param {{ retry?: () => void, startAnew?: () => void, say?: (words: string) => void }} ways
 */
export function failure(problem, { retry, startAnew, say }) {
  const again = retry ? make("button", { type: "button", class: "plain", onclick: retry }, icon("retry"), "Try again") : null;
  const waiting = make("p", { class: "waiting" });
  if (again && problem.wait) countDown(problem.wait, waiting, again, say);
  const lostSession = problem.kind === "missing" && startAnew;
  return make(
    "div",
    { class: "failure", "data-kind": problem.kind },
    make("p", { class: "what" }, problem.message),
    problem.action ? make("p", {}, problem.action) : null,
    problem.wait ? waiting : null,
    make(
      "div",
      { class: "row" },
      again,
      lostSession
        ? make("button", { type: "button", class: "plain", onclick: startAnew }, icon("plus"), "New conversation")
        : null,
    ),
    problem.requestId ? make("p", { class: "small" }, `Request ${problem.requestId}`) : null,
  );
}

/**
 * @param {number} seconds
 * @param {HTMLElement} words
 * @param {HTMLButtonElement} button
 * @param {(words: string) => void} [say]
 */
function countDown(seconds, words, button, say) {
  const end = Date.now() + seconds * 1000;
  const show = () => {
    // Asked of the clock, since a browser lets timers of hidden pages wait.
    const left = Math.ceil((end - Date.now()) / 1000);
    button.disabled = left > 0;
    words.textContent = left > 0 ? `You can try again in ${left} s.` : "You can try again now.";
    const isGone = shown && !words.isConnected;
    if (left <= 0 || isGone) clearInterval(timer);
    if (left <= 0 && !isGone) say?.("You can try again now.");
    shown = words.isConnected;
  };
  let shown = false;
  const timer = setInterval(show, 250);
  show();
}
