import { make } from "./dom.js";

/**
 * The passages that an answer cites, by number.
 * @param {import("./types.js").Citation[]} citations
 * @param {(citation: import("./types.js").Citation, chip: HTMLElement) => void} open
 */
export function sources(citations, open) {
  const entries = citations.map((cited) => {
    const button = make(
      "button",
      { type: "button", class: "source", onclick: () => open(cited, button) },
      make("span", { class: "number" }, String(cited.number)),
      make("span", { class: "place" }, place(cited)),
    );
    return make("li", {}, button);
  });
  return citations.length ? make("ol", { class: "sources", "aria-label": "Sources" }, ...entries) : null;
}

/**
 * What a refusal offers instead: what was searched for, and the sections that come nearest.
 * @param {import("./types.js").Answer} answer
 * @param {(near: import("./types.js").NearSection, chip: HTMLElement) => void} open
 */
export function nearestSections(answer, open) {
  const nearest = answer.nearest ?? [];
  const entries = nearest.map((near) => {
    const button = make(
      "button",
      { type: "button", class: "source", onclick: () => open(near, button) },
      make("span", { class: "place" }, near.section || near.title),
      make("span", { class: "path" }, above(near)),
    );
    return make("li", {}, button);
  });
  return make(
    "div",
    { class: "nearest" },
    // The refusal itself may have said so.
    answer.searched && !answer.response.includes(answer.searched) ? make("p", {}, `Searched for “${answer.searched}”.`) : null,
    nearest.length ? make("p", {}, "The closest sections are:") : null,
    nearest.length ? make("ul", { class: "sources" }, ...entries) : null,
  );
}

/** @param {import("./types.js").Citation} cited */
function place(cited) {
  const parts = [cited.section, cited.chapter].filter((part, at, all) => part && all.indexOf(part) === at);
  const page = cited.page_number ? [`page ${cited.page_number}`] : [];
  return [...parts, ...page].join(" · ");
}

/** @param {import("./types.js").NearSection} near */
function above(near) {
  const own = near.section || near.title;
  return (near.path ?? [near.title]).filter((part) => part && part !== own).join(" › ");
}

/**
 * An answer to take elsewhere: Markdown with a list of its sources, by the numbers of its markers.
 * @param {import("./types.js").Answer} answer
 * @param {string} bookTitle
 */
export function withSources(answer, bookTitle) {
  const entries = answer.citations.map((cited) => {
    const [title, ...above] = [cited.section, cited.chapter].filter((part, at, all) => part && all.indexOf(part) === at).map((part) => plain(part ?? ""));
    const address = /^https?:\/\//.test(cited.source_url) ? `[${title}](<${cited.source_url}>)` : title;
    const page = cited.page_number ? [`page ${cited.page_number}`] : [];
    const book = bookTitle ? ` *${plain(bookTitle)}*.` : "";
    return `${cited.number}. ${[address, ...above, ...page].join(", ")}.${book}`;
  });
  return [answer.response, ...(entries.length ? ["", "## Sources", "", ...entries] : []), ""].join("\n");
}

/** A title means nothing but its letters in Markdown. @param {string} title */
function plain(title) {
  return title.replace(/[\\`*_[\]<>]/g, "\\$&");
}
