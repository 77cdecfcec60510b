import { fill, make } from "../chat/dom.js";
import { Section, tell } from "./section.js";

const SERVERS = [
  ["https://api.openai.com/v1", "OpenAI"],
  ["http://localhost:11434/v1", "Ollama on this machine"],
  ["http://localhost:1234/v1", "LM Studio on this machine"],
];

/** Who writes the answers: the language model, chosen and tested. */
export class Model extends Section {
  /**
   * @param {import("../chat/service.js").Service} service
   * @param {{ question: import("./question.js").Question, changed: () => void }} parts
   */
  constructor(service, { question, changed }) {
    super("Language model");
    this.service = service;
    this.question = question;
    this.changed = changed;
    this.told = make("p", { class: "told", role: "status" });
    this.checks = make("ul", { class: "checks", "aria-label": "What the test found" });
  }

  load() {
    return this.attempt(async () => this.render(await this.service.read("/admin/model")));
  }

  /** @param {{ address: string | null, model: string | null, has_key: boolean, chosen_by: string, variables: string[] }} now */
  render(now) {
    const isFixed = now.chosen_by === "environment";
    const field = (/** @type {Record<string, any>} */ more) => make("input", { autocomplete: "off", spellcheck: "false", disabled: isFixed, ...more });
    this.address = field({ required: true, maxlength: 500, list: "servers", value: now.address, placeholder: SERVERS[0][0] });
    this.model = field({ required: true, maxlength: 200, pattern: "\\S+", value: now.model, placeholder: "gpt-4o-mini" });
    this.key = field({ type: "password", autocomplete: "new-password", maxlength: 500, placeholder: now.has_key ? "kept; leave empty to keep it" : "if the server wants one" });
    const writes = now.model ? `${now.model} at ${now.address} writes the answers${now.has_key ? ", with a key that is kept" : ""}.` : "No language model is used: the built-in answerer quotes the book.";
    const fixed = `This is set in the environment (${now.variables.join(", ")}), which takes precedence over this page. Change it where the service is started.`;
    const button = (/** @type {string} */ label, /** @type {() => void} */ onclick) => make("button", { type: "button", class: "plain", onclick }, label);
    const form = make(
      "form",
      { "aria-label": "Choose the language model" },
      make("label", { class: "field" }, "Address of the server", this.address),
      make("label", { class: "field" }, "Model", this.model),
      make("label", { class: "field" }, "Key", this.key),
      make("datalist", { id: "servers" }, ...SERVERS.map(([value, name]) => make("option", { value }, name))),
      make(
        "div",
        { class: "row" },
        isFixed && !now.model ? null : (this.tester = button("Test it", () => void this.test(isFixed))),
        isFixed ? null : make("button", { type: "submit", class: "strong" }, "Use this model"),
        isFixed || !now.model ? null : button("Use no model", () => void this.useNone()),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.use();
    });
    this.form = form;
    this.show(
      make("p", {}, writes),
      make("p", { class: "small" }, isFixed ? fixed : "Any server that speaks OpenAI’s protocol. The key is kept on the server, in a file that only its user may read, and is never shown again."),
      form,
      this.told,
      this.checks,
    );
  }

  get choice() {
    const key = this.key?.value ?? "";
    return { address: this.address?.value.trim(), model: this.model?.value.trim(), ...(key ? { key } : {}) };
  }

  /** @param {boolean} isFixed Whether only the one in use can be tested. */
  async test(isFixed) {
    if (!isFixed && !this.form?.reportValidity()) return;
    fill(this.checks);
    if (this.tester) this.tester.disabled = true;
    this.told.textContent = "…";
    await tell(this.told, async () => {
      this.told.textContent = "Testing. A model that is being loaded takes a minute or two …";
      const response = await this.service.send("POST", "/admin/model/test", isFixed ? undefined : this.choice);
      /** @type {{ ok: boolean, checks: { name: string, ok: boolean, message: string, action: string }[] }} */
      const found = await response.json();
      fill(this.checks, ...found.checks.map(finding));
      return found.ok ? "The model works." : "The model can’t be used with these settings.";
    });
    if (this.tester) this.tester.disabled = false;
  }

  async use() {
    await this.change(async () => {
      const now = await (await this.service.send("PUT", "/admin/model", this.choice)).json();
      this.render(now);
      return `${now.model} writes from the next question on.`;
    });
  }

  async useNone() {
    if (!(await this.question.ask("Use no language model?", "The built-in answerer quotes the book instead. The address and the key are deleted.", "Use no model"))) return;
    await this.change(async () => {
      this.render(await (await this.service.send("DELETE", "/admin/model")).json());
      return "The book is quoted from the next question on.";
    });
  }

  /** @param {() => Promise<string>} work */
  async change(work) {
    if (await tell(this.told, work)) this.changed();
  }
}

/** @param {{ name: string, ok: boolean, message: string, action: string }} check */
function finding({ name, ok, message, action }) {
  const found = !ok ? "failed" : action ? "note" : "ok";
  const said = { failed: "Failed: ", note: "Note: ", ok: "" }[found];
  return make(
    "li",
    { "data-found": found },
    make("p", {}, make("strong", {}, `${said}${name.replace(/^model: /, "")}`), `: ${message}`),
    action ? make("p", { class: "small" }, action) : null,
  );
}
