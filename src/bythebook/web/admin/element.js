import { Announcer } from "../chat/announcer.js";
import { make } from "../chat/dom.js";
import { themeButton } from "../chat/frame.js";
import { KeyDialog } from "../chat/key.js";
import { Problem } from "../chat/problem.js";
import { Service } from "../chat/service.js";
import { Store } from "../chat/store.js";
import { Theme } from "../chat/theme.js";
import base from "../styles/base.js";
import dialog from "../styles/dialog.js";
import { palette } from "../styles/palette.js";
import { sheetsOf } from "../styles/sheets.js";
import { Books } from "./books.js";
import { Gaps } from "./gaps.js";
import { Health } from "./health.js";
import { Jobs } from "./jobs.js";
import { Keys } from "./keys.js";
import { Model } from "./model.js";
import { Question } from "./question.js";
import { Questions } from "./questions.js";
import style from "./style.js";
import { Usage } from "./usage.js";

/** `<bythebook-admin>`: books, jobs, the language model, keys, how much is asked, what the book lacks, and each question. */
class BythebookAdmin extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = sheetsOf([palette(":host"), base, dialog, style]);
    const store = new Store(location.host);
    const theme = new Theme(this, store, null);
    const keys = new KeyDialog(store, "admin-key");
    const service = new Service(location.origin, keys.remembered);
    service.askForKey = (problem) => keys.ask(problem);
    const announcer = new Announcer();
    /** @param {string} words */
    const say = (words) => announcer.say(words);

    const jobs = new Jobs(service, say, () => {
      void books.load();
      sites.booksChanged();
    });
    const question = new Question();
    const ask = (/** @type {string} */ bookId) => askAbout(bookId, store, service.key);
    const books = new Books(service, { started: (job) => jobs.add(job), question, ask });
    const useKey = (/** @type {string} */ key) => {
      service.key = key;
      store.writeTab("admin-key", key);
      other.hidden = false;
    };
    const sites = new Keys(service, { say, question, useKey });
    const model = new Model(service, { question, changed: () => void health.load() });
    const health = new Health(service);
    const parts = [health, books, jobs, model, sites, new Usage(service), new Gaps(service), new Questions(service)];
    const load = async () => {
      await Promise.all(parts.map((part) => part.load()));
      other.hidden = !service.key;
    };
    const otherKey = async () => {
      const key = await keys.ask(new Problem("key", "This key is not accepted."));
      if (key) service.key = key;
      await load();
    };
    // Without keys there is no other one.
    const other = make("button", { type: "button", class: "quiet", hidden: true, onclick: otherKey }, "Other key");
    root.append(
      make(
        "header",
        { class: "top" },
        make("h1", {}, "bythebook"),
        make("span", { class: "space" }),
        make("a", { href: "/" }, "Chat"),
        make("a", { href: "/docs" }, "HTTP API"),
        other,
        themeButton(theme),
      ),
      make("main", {}, ...parts.map((part) => part.element)),
      announcer.element,
      keys.element,
      question.element,
    );
    // A file that is dropped beside its place must not take the page's.
    for (const kind of ["dragover", "drop"]) this.addEventListener(kind, (event) => event.preventDefault());
    this.addEventListener("bythebook:theme", () => pageAs(theme));
    pageAs(theme);
    void load();
  }
}

/**
 * Go to the chat with this book. Who is let in here is let in there.
 * @param {string} bookId
 * @param {Store} store
 * @param {string | null} key
 */
function askAbout(bookId, store, key) {
  store.write("book", bookId);
  store.writeTab("session", null);
  if (key && !store.read("key", null)) store.writeTab("key", key);
  location.assign("/");
}

/** @param {Theme} theme */
function pageAs(theme) {
  document.documentElement.dataset.theme = theme.shown;
}

customElements.define("bythebook-admin", BythebookAdmin);
