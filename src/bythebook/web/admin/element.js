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
import { Questions } from "./questions.js";
import style from "./style.js";
import { Usage } from "./usage.js";

/** `<bythebook-admin>`: books, jobs, how much is asked, what the book lacks, and each question. */
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

    const jobs = new Jobs(service, say, () => void books.load());
    const books = new Books(service, say, (job) => jobs.add(job));
    const parts = [new Health(service), books, jobs, new Usage(service), new Gaps(service), new Questions(service)];
    const load = () => Promise.all(parts.map((part) => part.load()));
    const otherKey = async () => {
      const key = await keys.ask(new Problem("key", "Another key is wanted."));
      if (key) service.key = key;
      await load();
    };
    root.append(
      make(
        "header",
        { class: "top" },
        make("h1", {}, "bythebook"),
        make("span", { class: "space" }),
        make("a", { href: "/" }, "Chat"),
        make("a", { href: "/docs" }, "HTTP API"),
        make("button", { type: "button", class: "quiet", onclick: otherKey }, "Other key"),
        themeButton(theme),
      ),
      make("main", {}, ...parts.map((part) => part.element)),
      announcer.element,
      keys.element,
    );
    this.addEventListener("bythebook:theme", () => pageAs(theme));
    pageAs(theme);
    void load();
  }
}

/** @param {Theme} theme */
function pageAs(theme) {
  document.documentElement.dataset.theme = theme.shown;
}

customElements.define("bythebook-admin", BythebookAdmin);
