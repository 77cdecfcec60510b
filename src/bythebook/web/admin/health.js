import { make } from "../chat/dom.js";
import { Section } from "./section.js";

const WORDS = { ok: "All is well", degraded: "Something is missing", down: "It can’t answer" };

/** Whether the service and what it depends on work. */
export class Health extends Section {
  /** @param {import("../chat/service.js").Service} service */
  constructor(service) {
    super("Health");
    this.service = service;
  }

  load() {
    return this.attempt(async () => {
      // A service that is down says so with 503 and the same body.
      const response = await this.service.fetch("GET", "/health");
      const found = await response.json();
      const parts = Object.entries(found.dependencies).map(([name, part]) => dependency(name, part));
      const word = WORDS[/** @type {keyof typeof WORDS} */ (found.status)];
      this.show(make("p", { class: "state", "data-status": found.status }, `${word}. Version ${found.version}.`), make("ul", { class: "parts" }, ...parts));
    });
  }
}

/** @param {string} name @param {{ status: string, message?: string }} part */
function dependency(name, part) {
  const words = `${name.replaceAll("_", " ")}: ${part.status}`;
  return make("li", { "data-status": part.status, title: part.message ?? null }, make("span", { class: "dot", "aria-hidden": "true" }), words);
}
