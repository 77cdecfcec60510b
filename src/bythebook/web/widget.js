/**
 * bythebook on any page:
 *
 *   <script src="https://ask.example.org/widget.js" data-book="…" data-key="btbp_…" async></script>
 *
 * This file only puts a button there (or keeps a place); the chat itself is loaded when it is first
 * opened. The only name it adds to the page is `window.bythebook`. See docs/guides/widget.md.
 */
(() => {
  "use strict";

  const NARROW = "(max-width: 30em)";
  // There a page keeps enough room beside the panel, and moves aside.
  const WIDE = "(min-width: 64em)";
  const STYLE = `
    :host { all: initial; --accent: var(--bythebook-accent, #17595e); --on-accent: var(--bythebook-accent-text, #fff);
      --back: var(--bythebook-background, #fdfcf9); --ink: var(--bythebook-text, #24211c); --line: var(--bythebook-border, #e4ded1); }
    :host([data-theme=dark]) { --accent: var(--bythebook-accent, #84c6c0); --on-accent: var(--bythebook-accent-text, #10211f);
      --back: var(--bythebook-background, #191815); --ink: var(--bythebook-text, #ebe6db); --line: var(--bythebook-border, #3a372f); }
    .place { position: fixed; z-index: var(--bythebook-z-index, 2147483000); right: var(--bythebook-offset, 20px); bottom: var(--bythebook-offset, 20px);
      font: 500 medium/1.4 var(--bythebook-font, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif); color: var(--ink); }
    button { font: inherit; cursor: pointer; border: 0; }
    button:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px; }
    .launcher { display: flex; align-items: center; gap: .6em; padding: .75em 1.2em .75em 1em; border-radius: 2em; background: var(--accent); color: var(--on-accent);
      box-shadow: 0 2px 6px rgb(0 0 0 / .15), 0 8px 24px rgb(0 0 0 / .18); }
    .launcher[hidden] { display: none; }
    svg { width: 1.4em; height: 1.4em; fill: none; stroke: currentColor; stroke-width: 1.7; stroke-linejoin: round; }
    dialog { position: fixed; inset: auto var(--bythebook-offset, 20px) var(--bythebook-offset, 20px) auto; margin: 0; padding: 0; box-sizing: border-box; color: inherit;
      width: min(var(--bythebook-width, 27em), 100vw - 2 * var(--bythebook-offset, 20px)); max-width: none; max-height: none;
      height: min(var(--bythebook-height, 42em), 100dvh - 2 * var(--bythebook-offset, 20px)); border: 1px solid var(--line); border-radius: 16px; overflow: hidden;
      background: var(--back); box-shadow: 0 4px 12px rgb(0 0 0 / .12), 0 16px 56px rgb(0 0 0 / .28); }
    dialog::backdrop { background: none; }
    :host([data-mode=panel]) dialog { inset: 0 0 0 auto; height: 100dvh; width: min(var(--bythebook-width, 27em), 100vw); border-width: 0 0 0 1px; border-radius: 0; box-shadow: -4px 0 24px rgb(0 0 0 / .1); }
    kbd { font: inherit; font-size: .8em; opacity: .85; padding: .05em .45em; border: 1px solid; border-radius: .4em; }
    @media (hover: none) { kbd { display: none; } }
    bythebook-chat { display: block; height: 100%; }
    .note { display: grid; place-content: center; justify-items: center; gap: 1em; height: 100%; padding: 1em; text-align: center; }
    .note p { margin: 0; }
    .note button { padding: .5em 1em; border-radius: 8px; background: var(--accent); color: var(--on-accent); }
    @media ${NARROW} { dialog, :host([data-mode=panel]) dialog { inset: 0; width: 100vw; height: 100dvh; border: 0; border-radius: 0; } }
    @media print { .place { display: none; } }
    @media (prefers-reduced-motion: no-preference) { dialog[open] { animation: rise .18s ease-out; } @keyframes rise { from { opacity: 0; transform: translateY(12px); } }
      :host([data-mode=panel]) dialog[open] { animation-name: come; } @keyframes come { from { transform: translateX(40px); opacity: 0; } } }
  `;
  const BOOK = "M12 6c-2-1.600-4.600-2-8-2v14c3.400 0 6 .4 8 2 2-1.600 4.600-2 8-2V4c-3.400 0-6 .4-8 2v14";

  const page = /** @type {any} */ (window);
  const script = /** @type {HTMLScriptElement | null} */ (
    document.currentScript ?? document.querySelector('script[src*="/widget.js"][data-book], script[src*="/widget.js"][data-key]')
  );
  // A page that includes it twice has it once.
  if (!script || page.bythebook) return;

  const options = script.dataset;
  const home = new URL(".", script.src).href;
  const title = options.title || "Ask the book";
  const isInline = options.mode === "inline";
  const isPanel = options.mode === "panel";
  const isApple = /Mac|iPhone|iPad/.test(navigator.platform);
  const hasShortcut = isSaid(options.shortcut, isPanel) && !isInline;
  const knowsPage = isSaid(options.context, isPanel);
  const followsPage = options.theme !== "light" && options.theme !== "dark";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const host = document.createElement(isInline ? "div" : "bythebook-widget");

  /** @type {Promise<any> | null} The chat's element, once it is wanted. */
  let loading = null;
  let attempt = 0;
  /** @type {HTMLElement | null} */
  let chat = null;
  /** @type {{ place: () => Element, isOpen: () => boolean, opened: () => void, closed: () => void }} */
  let shape;

  /** @param {string | undefined} option @param {boolean} otherwise */
  function isSaid(option, otherwise) {
    return option ? option !== "off" : otherwise;
  }

  function load() {
    loading ??= import(`${home}web/chat/element.js${attempt ? `?again=${attempt}` : ""}`).then(makeChat).catch((problem) => {
      loading = null;
      attempt += 1;
      shape.place().replaceChildren(failureNote());
      tell("error", { kind: "offline", status: 0, message: "The chat could not be loaded." });
      throw problem;
    });
    return loading;
  }

  function makeChat() {
    chat = document.createElement("bythebook-chat");
    const attributes = { endpoint: home, book: options.book, key: options.key, heading: options.title, theme: options.theme };
    for (const [name, value] of Object.entries(attributes)) if (value) chat.setAttribute(name, value);
    if (followsPage) chat.setAttribute("scheme", pageScheme());
    chat.toggleAttribute(isInline ? "framed" : "closable", true);
    chat.toggleAttribute("on-page", knowsPage);
    shape.place().replaceChildren(chat);
    return chat;
  }

  /** @param {keyof HTMLElementTagNameMap} tag @param {string} [text] */
  function make(tag, text = "") {
    const element = document.createElement(tag);
    element.textContent = text;
    return element;
  }

  /** @param {string} text */
  function makeNote(text) {
    const note = make("div");
    note.className = "note";
    note.append(make("p", text));
    return note;
  }

  function failureNote() {
    const note = makeNote("The chat can’t be loaded. Check the connection.");
    const again = make("button", "Try again");
    again.addEventListener("click", () => void open());
    note.append(again);
    return note;
  }

  /** @param {string} name @param {object} [detail] */
  function tell(name, detail = {}) {
    host.dispatchEvent(new CustomEvent(`bythebook:${name}`, { bubbles: true, composed: true, detail }));
  }

  /** Show the chat, and load it the first time. @returns {Promise<any>} */
  async function open() {
    if (knowsPage) noteSelection();
    shape.opened();
    if (!loading) shape.place().replaceChildren(makeNote("Loading …"));
    try {
      const loaded = await load();
      if (selected) loaded.select(selected);
      selected = "";
      loaded.focusQuestion();
      return loaded;
    } catch (problem) {
      console.error("bythebook:", problem);
      return null;
    }
  }

  const close = () => shape.closed();

  /**
   * Whether the panel is open in this tab: a page of the book that is opened from it stands beside it.
   * @param {boolean} [now]
   */
  function staysOpen(now) {
    const name = `bythebook:${new URL(home).host}:panel`;
    try {
      if (now === true) sessionStorage.setItem(name, "open");
      if (now === false) sessionStorage.removeItem(name);
      return sessionStorage.getItem(name) !== null;
    } catch {
      // A browser that keeps nothing opens it anew.
      return false;
    }
  }

  /** Text selected on the page, last; it is kept while the reader goes from the page to the chat. */
  let selected = "";
  let isInside = false;

  function noteSelection() {
    const { activeElement } = document;
    if (isInside || activeElement === host) return;
    const isTyped = activeElement?.matches("input, textarea");
    const text = isTyped ? "" : String(getSelection() ?? "").trim();
    // A click elsewhere ends a selection, but not what was to be asked about it.
    if (!text && shape.isOpen()) return;
    selected = text;
    if (shape.isOpen()) /** @type {any} */ (chat)?.select?.(selected);
  }

  /** Ctrl+I, or ⌘I: what is open goes, but where it sets text in italics. @param {KeyboardEvent} event */
  function onShortcut(event) {
    const isMeant = event.key.toLowerCase() === "i" && (isApple ? event.metaKey : event.ctrlKey) && !event.altKey && !event.shiftKey;
    if (!isMeant || event.defaultPrevented) return;
    const origin = event.composedPath()[0];
    const isWriting = origin instanceof HTMLElement && (origin.isContentEditable || origin.matches("input, textarea, select"));
    if (isWriting && !event.composedPath().includes(host)) return;
    event.preventDefault();
    if (shape.isOpen()) close();
    else void open();
  }

  function floating() {
    const root = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
    const place = make("div");
    const launcher = make("button", "");
    const dialog = /** @type {HTMLDialogElement} */ (make("dialog"));
    place.className = "place";
    launcher.className = "launcher";
    launcher.setAttribute("type", "button");
    launcher.setAttribute("aria-haspopup", "dialog");
    launcher.append(drawing(), title);
    if (hasShortcut) {
      const keys = make("kbd", isApple ? "⌘I" : "Ctrl I");
      keys.setAttribute("aria-hidden", "true");
      launcher.setAttribute("aria-keyshortcuts", isApple ? "Meta+I" : "Control+I");
      launcher.append(keys);
    }
    launcher.addEventListener("click", () => void open());
    dialog.setAttribute("aria-label", title);
    // Escape belongs to the chat first, which asks to be closed when it has nothing else to close.
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", left);
    dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape") close();
    });
    host.addEventListener("bythebook:dismiss", close);
    place.append(launcher, dialog);
    root.append(place);
    document.body.append(host);

    /** @type {HTMLElement | null} What had the keyboard before it was opened. */
    let before = null;
    const wide = matchMedia(WIDE);
    wide.addEventListener("change", makeRoom);

    /** The page moves aside, as far as it can: what is fixed to the window stays. */
    function makeRoom() {
      const isBeside = isPanel && dialog.open && wide.matches;
      document.documentElement.style.marginInlineEnd = isBeside ? `${dialog.offsetWidth}px` : "";
    }
    function left() {
      launcher.hidden = false;
      if (isPanel) staysOpen(false);
      makeRoom();
      (before?.isConnected ? before : launcher).focus();
      tell("close");
    }
    function opened() {
      if (dialog.open) return;
      const { activeElement } = document;
      before = activeElement instanceof HTMLElement && activeElement !== document.body && activeElement !== host ? activeElement : null;
      // On a phone it takes the whole screen, and what is below is out of reach.
      if (matchMedia(NARROW).matches) dialog.showModal();
      else dialog.show();
      launcher.hidden = true;
      if (isPanel) staysOpen(true);
      makeRoom();
      tell("open");
    }
    return { place: () => dialog, isOpen: () => dialog.open, opened, closed: () => dialog.close() };
  }

  function inline() {
    const target = options.target ? document.querySelector(options.target) : null;
    if (options.target && !target) console.error(`bythebook: there is no element ${options.target} on this page.`);
    if (target) target.append(host);
    else if (script?.closest("body")) script.after(host);
    else document.body.append(host);
    host.style.height = "var(--bythebook-height, 36em)";
    const near = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      near.disconnect();
      load().then(() => tell("open"), (problem) => console.error("bythebook:", problem));
    }, { rootMargin: "300px" });
    near.observe(host);
    return { place: () => host, isOpen: () => true, opened: () => host.scrollIntoView({ block: "nearest" }), closed: () => undefined };
  }

  function drawing() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const lines = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("viewBox", "0 0 24 24");
    svg.setAttribute("aria-hidden", "true");
    lines.setAttribute("d", BOOK);
    svg.append(lines);
    return svg;
  }

  /** Whether the page is light or dark now: as its style says, else as the system wants it. */
  function pageScheme() {
    const said = getComputedStyle(document.body).colorScheme;
    return said === "dark" || said === "light" ? said : dark.matches ? "dark" : "light";
  }

  /** Light and dark change with the page, which has switches of its own, unless somebody chose. */
  function dress() {
    let chosen = followsPage ? "auto" : options.theme;
    const show = () => {
      if (followsPage) chat?.setAttribute("scheme", pageScheme());
      host.dataset.theme = chosen === "auto" ? pageScheme() : chosen;
    };
    host.addEventListener("bythebook:theme", (event) => {
      const { detail } = /** @type {CustomEvent} */ (event);
      chosen = detail.chosen;
      host.dataset.theme = detail.theme;
    });
    const watching = new MutationObserver(show);
    for (const element of [document.documentElement, document.body]) watching.observe(element, { attributes: true });
    dark.addEventListener("change", show);
    show();
  }

  /** @type {{ name: string, listener: Function, heard: EventListener }[]} */
  let listeners = [];
  page.bythebook = Object.freeze({
    open: () => void ready.then(open),
    close: () => void ready.then(close),
    ask: (/** @type {string} */ question) => void ready.then(open).then((loaded) => loaded?.ask(String(question))),
    /** @param {string} name @param {(detail: object) => void} listener */
    on(name, listener) {
      const heard = (/** @type {Event} */ event) => listener(/** @type {CustomEvent} */ (event).detail);
      listeners.push({ name, listener, heard });
      host.addEventListener(`bythebook:${name}`, heard);
    },
    /** @param {string} name @param {(detail: object) => void} listener */
    off(name, listener) {
      const isMeant = (/** @type {{ name: string, listener: Function }} */ one) => one.name === name && one.listener === listener;
      for (const { heard } of listeners.filter(isMeant)) host.removeEventListener(`bythebook:${name}`, heard);
      listeners = listeners.filter((one) => !isMeant(one));
    },
  });

  const ready = new Promise((resolve) => {
    if (document.body && document.readyState !== "loading") resolve(undefined);
    else document.addEventListener("DOMContentLoaded", () => resolve(undefined));
  }).then(() => {
    if (isPanel) host.dataset.mode = "panel";
    shape = isInline ? inline() : floating();
    if (knowsPage) {
      document.addEventListener("pointerdown", (event) => (isInside = event.composedPath().includes(host)), { capture: true });
      document.addEventListener("selectionchange", noteSelection);
    }
    if (hasShortcut) for (const target of [document, host]) target.addEventListener("keydown", (event) => onShortcut(/** @type {KeyboardEvent} */ (event)));
    // What is typed in the chat is not one of the page's shortcuts.
    for (const kind of ["keydown", "keypress", "keyup"]) host.addEventListener(kind, (event) => event.stopPropagation());
    dress();
    // The keyboard stays with the page, which has just been opened.
    if (isPanel && matchMedia(WIDE).matches && staysOpen()) {
      shape.opened();
      load().catch((problem) => console.error("bythebook:", problem));
    }
  });
})();
