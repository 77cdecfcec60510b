/**
 * What a browser remembers for one service. Where the browser keeps nothing (private windows,
 * blocked storage), it is remembered until the page is left.
 */
export class Store {
  /** @param {string} host Services on other hosts have their own memory. */
  constructor(host) {
    this.prefix = `bythebook:${host}:`;
    this.kept = usable("localStorage");
    this.tab = usable("sessionStorage");
  }

  /**
   * @template T
   * @param {string} name
   * @param {T} otherwise
   * @returns {T}
   */
  read(name, otherwise) {
    return parsed(this.kept.getItem(this.prefix + name), otherwise);
  }

  /** @param {string} name @param {unknown} value */
  write(name, value) {
    put(this.kept, this.prefix + name, value);
  }

  /**
   * Of this tab only: it is gone when the tab is closed.
   * @template T
   * @param {string} name
   * @param {T} otherwise
   * @returns {T}
   */
  readTab(name, otherwise) {
    return parsed(this.tab.getItem(this.prefix + name), otherwise);
  }

  /** @param {string} name @param {unknown} value */
  writeTab(name, value) {
    put(this.tab, this.prefix + name, value);
  }
}

/** @param {"localStorage" | "sessionStorage"} name @returns {Pick<Storage, "getItem" | "setItem" | "removeItem">} */
function usable(name) {
  try {
    const storage = window[name];
    storage.setItem("bythebook:probe", "1");
    storage.removeItem("bythebook:probe");
    return storage;
  } catch {
    return inMemory();
  }
}

function inMemory() {
  /** @type {Map<string, string>} */
  const values = new Map();
  return {
    getItem: (/** @type {string} */ name) => values.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) => void values.set(name, value),
    removeItem: (/** @type {string} */ name) => void values.delete(name),
  };
}

/**
 * @param {Pick<Storage, "setItem" | "removeItem">} storage
 * @param {string} name
 * @param {unknown} value
 */
function put(storage, name, value) {
  if (value === null || value === undefined) {
    storage.removeItem(name);
    return;
  }
  try {
    storage.setItem(name, JSON.stringify(value));
  } catch (problem) {
    // Full: the page goes on without remembering.
    console.warn("bythebook could not remember", name, problem);
  }
}

/**
 * @template T
 * @param {string | null} text
 * @param {T} otherwise
 * @returns {T}
 */
function parsed(text, otherwise) {
  if (text === null) return otherwise;
  try {
    return JSON.parse(text);
  } catch {
    // Written by somebody else under our name.
    return otherwise;
  }
}
